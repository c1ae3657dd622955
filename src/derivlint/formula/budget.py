"""Resource limits for the symbolic execution of user-written C++.

A body of 150 characters can cause a billion iterations, numbers of a million digits, and deeply nested lists. Each
execution spends from one :class:`Budget`; once it is exhausted, the value is unknown.
"""

from __future__ import annotations

from typing import Any

#: The maximum number of items of a list, including nested ones, and of characters of a string.
MAX_ITEMS = 1000
#: The maximum nesting of lists.
MAX_LISTS = 16
#: Numbers from here on are not sizes: no int64_t holds them.
MAX_WHOLE = 2**63
#: The maximum total nesting of expressions, statements and calls: each takes at most five Python frames, so half of the
#: recursion limit is left to the caller.
MAX_NESTED = 100


class BudgetError(Exception):
    """The execution exceeds the budget."""


class Budget:
    """The remaining steps and nesting of one execution.

    Attributes:
        steps: the number of expressions and statements left.
        nested: the current nesting depth.
    """

    __slots__ = ("nested", "steps")

    def __init__(self, steps: int, nested: int = 0) -> None:
        self.steps = steps
        self.nested = nested

    def spend(self, steps: int = 1) -> None:
        """Spend steps.

        Raises:
            BudgetError: none are left.
        """
        self.steps -= steps
        if self.steps < 0:
            raise BudgetError

    def enter(self, levels: int = 1) -> None:
        """Spend one step and enter nested constructs; the caller subtracts the levels on leaving.

        Raises:
            BudgetError: the nesting is too deep, or no steps are left.
        """
        self.spend()
        if self.nested + levels > MAX_NESTED:
            raise BudgetError
        self.nested += levels


def is_bounded(value: Any) -> bool:
    """Whether the numbers, strings and nested items of a value are small enough to compute with."""
    items = 0
    stack = [(value, 0)]
    while stack:
        item, level = stack.pop()
        if isinstance(item, tuple):
            items += len(item)
            if items > MAX_ITEMS or level > MAX_LISTS:
                return False
            stack += [(part, level + 1) for part in item]
        elif isinstance(item, int):
            if not -MAX_WHOLE <= item < MAX_WHOLE:
                return False
        elif isinstance(item, str) and len(item) > MAX_ITEMS:
            return False
    return True
