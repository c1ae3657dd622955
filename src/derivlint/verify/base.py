"""The formulas of an earlier version of the file, for comparison.

A formula of both versions is one function, which is compiled and run once. Changed formulas of the earlier version are
compiled with the checked ones, and run on the same inputs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from derivlint.emit.emission import Helpers
from derivlint.model import Model
from derivlint.verify.code.functions import LINES, FormulaFunction, FunctionSpec, collect

#: The first line number for formulas of the base in compiler messages, beyond the lines of any file; each has
#: ``LINES`` lines.
_BEYOND = 10_000_000


class Base(Struct, frozen=True):
    """An earlier version of a file.

    Attributes:
        model: the file.
        label: its name in messages, such as ``HEAD``.
        helpers: its FunctionsManual, or None for that of the installed PyTorch.
    """

    model: Model
    label: str
    helpers: Helpers | None = None


class BaseFunctions(Struct, frozen=True):
    """The formulas of a base, as functions.

    Attributes:
        functions: the functions that the checked file does not have, and that need to be compiled.
        operators: all functions of each operator, by its name; shared ones keep their numbers.
    """

    functions: tuple[FormulaFunction, ...] = ()
    operators: dict[str, tuple[FunctionSpec, ...]] = field(default_factory=dict)


def functions_of_base(functions: Sequence[FormulaFunction], base: Base, helpers: Helpers | None) -> BaseFunctions:
    """The functions of a base for the operators of the checked functions.

    Args:
        functions: the checked functions.
        base: the base.
        helpers: the FunctionsManual of the checked functions; with another one, the base shares no function.
    """
    by_operator: dict[str, list[FormulaFunction]] = {}
    for function in functions:
        by_operator.setdefault(function.spec.operator, []).append(function)
    own: list[FormulaFunction] = []
    operators: dict[str, list[FunctionSpec]] = {}
    for earlier in collect(base.model, by_operator.keys()).functions:
        candidates = by_operator[earlier.spec.operator] if helpers == base.helpers else ()
        same = next((candidate for candidate in candidates if _is_same(earlier, candidate)), None)
        if same is None:
            number = len(functions) + len(own)
            same = replace(earlier, spec=replace(earlier.spec, number=number, line=_BEYOND + LINES * number))
            own.append(same)
        operators.setdefault(earlier.spec.operator, []).append(same.spec)
    return BaseFunctions(tuple(own), {name: tuple(items) for name, items in operators.items()})


def corresponds(one: FunctionSpec, another: FunctionSpec) -> bool:
    """Whether two functions of an operator compute some of the same gradients or tangents."""
    return one.kind == another.kind and not set(one.targets).isdisjoint(another.targets)


def is_unchanged(functions: Collection[FunctionSpec], base: Collection[FunctionSpec]) -> bool:
    """Whether an operator has exactly the same functions as in the base."""
    return {function.number for function in functions} == {function.number for function in base}


def _is_same(one: FormulaFunction, another: FormulaFunction) -> bool:
    """Whether the code of two functions is the same."""
    return (
        replace(one.spec, number=0, line=0) == replace(another.spec, number=0, line=0)
        and one.evaluation.text == another.evaluation.text
        and one.evaluation.variables == another.evaluation.variables
    )
