"""Bounds of symbolic execution: what C++ that someone wrote may cost where it is followed or evaluated.

A body of 150 characters can ask for a billion rounds, numbers of a million digits, and lists of lists of lists.
All that follows such code spends from one :class:`Budget`; where it ends, the value is unknown.
"""

from __future__ import annotations

from typing import Any

#: The most items in a list, those of lists in it counted, and characters in a string.
MAX_ITEMS = 1000
#: So deep lists are nested in lists.
MAX_LISTS = 16
#: Numbers beyond it are not sizes; C++ has none but in floating point.
MAX_WHOLE = 2**63
#: So deep expressions, statements and calls are nested in all: each takes five frames at most, and half of Python's
#: limit is left to the caller.
MAX_NESTED = 100


class BudgetError(Exception):
    """Following the code takes more than the budget has."""


class Budget:
    """The remaining bounds of one execution.

    Attributes:
        steps: how many expressions and statements may still be looked at.
        nested: how deep the one is that is looked at.
    """

    __slots__ = ("nested", "steps")

    def __init__(self, steps: int, nested: int = 0) -> None:
        self.steps = steps
        self.nested = nested

    def spend(self, steps: int = 1) -> None:
        """Take some steps.

        Raises:
            BudgetError: there are none left.
        """
        self.steps -= steps
        if self.steps < 0:
            raise BudgetError

    def enter(self, levels: int = 1) -> None:
        """Take a step into what is nested; whoever has entered takes the levels off again in the end.

        Raises:
            BudgetError: it is nested too deeply, or there are no steps left.
        """
        self.spend()
        if self.nested + levels > MAX_NESTED:
            raise BudgetError
        self.nested += levels


def is_bounded(value: Any) -> bool:
    """Whether a value is small enough to be computed with: its numbers, strings, and items of lists in lists."""
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
