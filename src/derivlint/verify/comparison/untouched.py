"""Writes of formulas to their inputs: noticed after each evaluation, and undone.

What a formula is given belongs to others as well: to the formulas that are evaluated next, to their earlier versions,
and to differences of the operator. A write would make those wrong, and not the formula that writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from derivlint.verify.inputs.layouts import is_plain, numbers


class WriteError(RuntimeError):
    """A formula wrote to some of its inputs, which have their numbers again."""


class _Input(Struct, frozen=True, eq=False):
    """A tensor before an evaluation: by what name a formula has it, its version, and a copy of it."""

    name: str
    tensor: Any
    version: int
    copy: Any

    @property
    def is_untouched(self) -> bool:
        """Whether its version, its size and all numbers are as before."""
        if self.tensor._version != self.version:
            return False
        if not is_plain(self.copy):
            return all(map(_is_same, numbers(self.tensor), numbers(self.copy)))
        return _is_same(self.tensor, self.copy)


class InputGuard:
    """Copies of the inputs of one evaluation, with which writes to them are noticed and undone.

    Args:
        inputs: names and tensors; lists of tensors have one name.
    """

    def __init__(self, inputs: Iterable[tuple[str, Any]]) -> None:
        import torch

        with torch.no_grad():
            self._inputs = [
                _Input(name, tensor, tensor._version, tensor.clone())
                for name, value in inputs
                for tensor in (value if isinstance(value, list) else [value])
                if isinstance(tensor, torch.Tensor) and not tensor._is_zerotensor()
            ]

    def require_untouched(self) -> None:
        """Undo the writes to inputs.

        Raises:
            WriteError: there are any.
        """
        import torch

        with torch.no_grad():
            touched = [input_ for input_ in self._inputs if not input_.is_untouched]
            for changed_input in touched:
                changed_input.tensor.data = changed_input.copy
        if touched:
            names = " and ".join(dict.fromkeys(f'"{changed_input.name}"' for changed_input in touched))
            raise WriteError(f"evaluating it changes {names} in place")


def _is_same(one: Any, another: Any) -> bool:
    """Whether two tensors have the same numbers, NaN at the same places."""
    import torch

    if one.shape != another.shape:
        return False
    return torch.equal(one, another) or bool(((one == another) | ((one != one) & (another != another))).all())
