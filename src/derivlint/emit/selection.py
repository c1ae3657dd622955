"""Which functions, and which entries, the names of operators on a command line mean."""

from __future__ import annotations

from collections.abc import Collection

from derivlint.model import Entry, Model
from derivlint.schema import NativeFunction


def is_selected(function: NativeFunction, operators: Collection[str] | None) -> bool:
    """Whether a name means a function.

    Args:
        function: the function.
        operators: base names (``mul``: all overloads, in-place and out functions), names without overload (``mul_``)
            or full names (``mul.Tensor``); None for all.
    """
    if operators is None:
        return True
    name = function.name
    return any(each in operators for each in (str(name), name.name_without_overload, name.base))


def entries_of(model: Model, operators: Collection[str] | None) -> tuple[Entry, ...]:
    """The entries that the code of the operators is made from."""
    return tuple(
        entry
        for entry in model.entries
        if any(is_selected(match.function, operators) for match in model.functions_of(entry))
    )
