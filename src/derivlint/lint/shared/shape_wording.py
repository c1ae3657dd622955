"""Findings about tensor sizes, and their formatting."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from derivlint.analysis.shapes.cases import AXES, KEEPDIM
from derivlint.analysis.shapes.compare import ShapeProblem, WrongShape, wrong_shapes_of
from derivlint.analysis.typed import TypedFormula
from derivlint.lint.diagnostic import Finding
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model
from derivlint.operators.shapes.size_values import Sizes, Value


def value(item: Value) -> str:
    """Format sizes as ``[2, 3]``, lists as ``{1, 2}``, flags by their C++ names, numbers with three digits."""
    if type(item) is Sizes:
        return repr(item)
    if type(item) is tuple:
        return f"{{{', '.join(map(value, item))}}}"
    if isinstance(item, bool):
        return str(item).lower()
    if isinstance(item, float):
        return f"{item:.3g}"
    if isinstance(item, str):
        return f'"{item}"'
    return "nullopt" if item is None else str(item)


def given(formula: TypedFormula, about: str, arguments: Iterable[tuple[str, Value]], also: Collection[str] = ()) -> str:
    """The arguments to show: those in the formula, and those that control reduced dimensions.

    Args:
        formula: the formula.
        about: a name that the message already has, or empty.
        arguments: names with values; sizes for tensors.
        also: further names to show.
    """
    variables = formula.variables
    shown = [
        f"{name}{'.sizes()' if type(item) is Sizes else ''} = {value(item)}"
        for name, item in arguments
        if name != about and (name in AXES or name == KEEPDIM or name in also or _mentions(variables, name))
    ]
    return f" at {', '.join(shown)}" if shown else ""


def _mentions(variables: Iterable[str], name: str) -> bool:
    """Whether a variable is an argument or a saved property of it."""
    return any(variable == name or variable.startswith(f"{name}_") for variable in variables)


#: The name of a formula's value, and the required sizes.
_REQUIRED = {
    ShapeProblem.GRADIENT: (
        "gradient",
        "autograd raises an error unless a gradient can be summed to the sizes of its input",
    ),
    ShapeProblem.TANGENT: ("tangent", "a tangent has the sizes of its output"),
}


def size_findings(entry: Entry, model: Model, problem: ShapeProblem) -> Iterator[Finding]:
    """Findings about formulas whose gradients or tangents have wrong sizes."""
    kind, help_text = _REQUIRED[problem]
    for wrong in wrong_shapes_of(model, entry, problem):
        formula, name = wrong.formula, quoted(wrong.name)
        at = given(formula, wrong.name, wrong.at)
        yield Finding(
            formula.span_of(formula.tree),
            f"the {kind} of {name} has sizes {wrong.actual}, but {name} has {wrong.expected}{at}",
            help=_cure(wrong) or help_text,
            at=formula.written,
        )


def _cure(wrong: WrongShape) -> str | None:
    """The help for a missing dimension, or None for other differences."""
    axis = _lost(wrong.actual, wrong.expected)
    if axis is None:
        return None
    named = next((name for name, item in wrong.at if name in AXES and _names(item, axis, len(wrong.expected))), "")
    which = f"{axis}, {quoted(named)}," if named else str(axis)
    return f"dimension {which} is missing: put it back with unsqueeze, or keep it where it is reduced"


def _lost(sizes: Sequence[int], expected: Sequence[int]) -> int | None:
    """The single missing dimension, or None."""
    axes = range(len(expected))
    return next((at for at in axes if tuple(sizes) == (*expected[:at], *expected[at + 1 :])), None)


def _names(item: Value, axis: int, rank: int) -> bool:
    dims = item if type(item) is tuple else (item,)
    return any(type(dim) is int and dim % rank == axis for dim in dims)
