"""Gradients and tangents that are cast to a type which the formula names."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from derivlint.analysis.interpretation.callee import CallFacts
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.formula import Expr, Name
from derivlint.operators import Book
from derivlint.operators.constants import SCALAR_TYPES, scalar_type_named

#: The types of floating point with fewer digits than double precision.
FEWER_DIGITS = tuple(SCALAR_TYPES[name] for name in ("kHalf", "kBFloat16", "kFloat"))


class FixedType(Struct, frozen=True):
    """A cast to a type of few digits, whatever type the argument or output has.

    Attributes:
        call: the cast.
        type: the type, as it is written.
    """

    call: CallFacts
    type: Name


def fixed_types(interpretation: Interpretation) -> Iterator[FixedType]:
    """The casts of what a formula is linear in; none where the operator takes no other type, or it is cast back."""
    formula = interpretation.formula
    function = formula.written.entry.function
    if function is None or str(function.canonical.name) in Book.by_hand("single-precision"):
        return
    for call in interpretation.calls:
        node = _fixed(call)
        if node is not None and _has_seeds(interpretation, call) and not _is_cast_back(interpretation, call):
            yield FixedType(call, node)


def _fixed(call: CallFacts) -> Name | None:
    """The type that a method is given."""
    names = [each.node for each in call.arguments[1:] if isinstance(each.node, Name)] if call.is_method else []
    return next((name for name in names if scalar_type_named(name) in FEWER_DIGITS), None)


def _has_seeds(interpretation: Interpretation, call: CallFacts) -> bool:
    fact = interpretation.facts.get(call.arguments[0].node)
    return fact is not None and bool(fact.seeds)


def _is_cast_back(interpretation: Interpretation, call: CallFacts) -> bool:
    """Whether a method around a cast is given the type of a tensor."""
    around = (each for each in interpretation.calls if each.is_method and each.node is not call.node)
    return any(_contains(each.arguments[0].node, call.node) and _takes_type(interpretation, each) for each in around)


def _takes_type(interpretation: Interpretation, call: CallFacts) -> bool:
    if any(isinstance(each.node, Name) and each.node.simple in interpretation.formula.names for each in call.arguments):
        # it may take over the type of the tensor whose gradient this is
        return True
    types = [interpretation.formula.type_of(each.node) for each in call.arguments[1:]]
    return _fixed(call) is None and any("ScalarType" in str(type) or "TensorOptions" in str(type) for type in types)


def _contains(node: Expr, part: Expr) -> bool:
    return node.start <= part.start and part.end <= node.end
