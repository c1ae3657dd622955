"""Casts of gradients and tangents to a dtype that the formula names."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from derivlint.analysis.interpretation.callee import CallFacts
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.formula import Name
from derivlint.operators import Book
from derivlint.operators.constants import SCALAR_TYPES, scalar_type_named

#: The floating-point types with less precision than double.
FEWER_DIGITS = tuple(SCALAR_TYPES[name] for name in ("kHalf", "kBFloat16", "kFloat"))


class FixedType(Struct, frozen=True):
    """A cast to a low-precision dtype, regardless of the dtype of the argument or output.

    Attributes:
        call: the cast.
        type: the type, as written.
    """

    call: CallFacts
    type: Name


def fixed_types(interpretation: Interpretation) -> Iterator[FixedType]:
    """The casts of seeds, except those that are undone, and those of operators that support no other dtype."""
    function = interpretation.formula.written.entry.function
    if function is None or str(function.canonical.name) in Book.by_hand("single-precision"):
        return
    for call in interpretation.calls:
        node = _fixed(call)
        fact = interpretation.facts.get(call.arguments[0].node) if node is not None else None
        if node is not None and fact is not None and fact.seeds and not _is_cast_back(interpretation, call):
            yield FixedType(call, node)


def _fixed(call: CallFacts) -> Name | None:
    """The dtype passed to a method."""
    arguments = (argument.node for argument in (call.arguments[1:] if call.is_method else ()))
    return next(
        (node for node in arguments if isinstance(node, Name) and scalar_type_named(node) in FEWER_DIGITS), None
    )


def _is_cast_back(interpretation: Interpretation, call: CallFacts) -> bool:
    """Whether an enclosing method casts back to the dtype of a tensor."""
    formula = interpretation.formula
    for outer in interpretation.calls:
        owner = outer.arguments[0].node if outer.is_method and outer.node is not call.node else None
        if owner is None or not (owner.start <= call.node.start and call.node.end <= owner.end):
            continue
        if any(isinstance(item.node, Name) and item.node.simple in formula.names for item in outer.arguments):
            # it may use the dtype of the tensor whose gradient this is
            return True
        types = [str(formula.type_of(argument.node)) for argument in outer.arguments[1:]]
        if _fixed(outer) is None and any("ScalarType" in type or "TensorOptions" in type for type in types):
            return True
    return False
