"""The formulas that others are compared with: those of an earlier version of the file.

A formula that both versions have is one function, which is compiled and run once. What is different is compiled beside
the formulas that are checked, and runs on the same inputs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from derivlint.emit.emission import Helpers
from derivlint.model import Model
from derivlint.verify.code.functions import LINES, FormulaFunction, FunctionSpec, collect

#: Lines beyond those of any file: they tell what the compiler says about a formula of the base from what it says about
#: the file. Each formula has so many to itself.
_BEYOND = 10_000_000


class Base(Struct, frozen=True):
    """An earlier version of a file.

    Attributes:
        model: the file.
        label: what messages call it, ``HEAD`` for example.
        helpers: the FunctionsManual that it goes with, None for that of the installed PyTorch.
    """

    model: Model
    label: str
    helpers: Helpers | None = None


class BaseFunctions(Struct, frozen=True):
    """The formulas of a base, as functions.

    Attributes:
        functions: those that have to be made, since the file that is checked has no such function.
        operators: all functions of each operator, by its name, those that both versions have under their numbers.
    """

    functions: tuple[FormulaFunction, ...] = ()
    operators: dict[str, tuple[FunctionSpec, ...]] = field(default_factory=dict)


def functions_of_base(functions: Sequence[FormulaFunction], base: Base, helpers: Helpers | None) -> BaseFunctions:
    """The functions of a base for the operators of some functions.

    Args:
        functions: the functions that are checked.
        base: the base.
        helpers: the FunctionsManual that those go with; where it is another one, no function is the same.
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
    """Whether two functions of an operator are about the same gradients or tangents, or about some of them."""
    return one.kind == another.kind and not set(one.targets).isdisjoint(another.targets)


def is_unchanged(functions: Collection[FunctionSpec], base: Collection[FunctionSpec]) -> bool:
    """Whether an operator has the very functions that it has in the base."""
    return {function.number for function in functions} == {function.number for function in base}


def _is_same(one: FormulaFunction, another: FormulaFunction) -> bool:
    """Whether the code of two functions is the same."""
    return (
        replace(one.spec, number=0, line=0) == replace(another.spec, number=0, line=0)
        and one.evaluation.text == another.evaluation.text
        and one.evaluation.variables == another.evaluation.variables
    )
