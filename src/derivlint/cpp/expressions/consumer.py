"""The use of a formula's value in generated code, and the types that it accepts.

Follows the templates of gen_autograd_functions.py and gen_variable_type.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from derivlint.cpp.cpp_type import BRACES, TEMPORARY, TENSOR, UNKNOWN, VOID, CppType, Value, template_type
from derivlint.cpp.expressions.conversion import IMPOSSIBLE
from derivlint.cpp.expressions.operators import common_type
from derivlint.cpp.problem import TypeProblemKind
from derivlint.source.records import Choice

if TYPE_CHECKING:
    from derivlint.cpp.expressions.inference import Inference
    from derivlint.formula import Expr

#: The types that ``copy_range`` accepts; follows its overloads in FunctionsManual.h.
GRADIENT_TYPES = (TENSOR, template_type("ArrayRef", [TENSOR]))


class Use(Choice):
    """The kinds of uses."""

    #: ``auto grad_result = any_grad_defined ? (F) : Tensor();``
    GRADIENT = "gradient"
    #: ``auto grad_result = F;``, for lists of tensors and unimplemented formulas
    BARE_GRADIENT = "bare gradient"
    #: ``grad_result.emplace_back(F);``, one for each tensor of a foreach function
    ELEMENT_GRADIENT = "element gradient"
    #: ``std::get<i>(grad_result)`` for each argument of the key
    GRADIENTS = "gradients"
    #: ``x = F;``
    ASSIGNED = "assigned"


class Consumer(Struct, frozen=True):
    """The consumer of an expression's value.

    Attributes:
        use: the kind of use.
        count: for ``GRADIENTS``, the number of arguments in the key.
        type: for ``ASSIGNED``, the type of the assigned variable.
    """

    use: Use
    count: int = 1
    type: CppType = UNKNOWN


def check_result(typer: Inference, node: Expr, value: Value, consumer: Consumer) -> None:
    """Report a value that its consumer rejects."""
    expected = _refused(typer, value, consumer)
    if expected is not None:
        typer.report(TypeProblemKind.RESULT, node, actual=(value.type,), expected=expected)


def _refused(typer: Inference, value: Value, consumer: Consumer) -> tuple[CppType, ...] | None:
    """The types that the consumer accepts, or None if it accepts the value."""
    if value.is_unknown:
        return None
    use = consumer.use
    conversions = typer.conversions
    if use is Use.ASSIGNED:
        return None if conversions.rank(value, consumer.type) != IMPOSSIBLE else (consumer.type,)
    if value.type is BRACES and use is Use.BARE_GRADIENT and value.items:
        # "auto" deduces an initializer list, which copy_range accepts if its elements are tensors
        value = Value(template_type("ArrayRef", [value.items[0].type]))
    if value.type in (BRACES, VOID):
        return (TENSOR,) if use is not Use.GRADIENTS else _tuple_of(consumer.count)
    if not conversions.knows(value.type):
        return None
    if use is Use.GRADIENTS:
        head, elements = value.type.head, value.type.arguments
        size = value.type.size
        if size is not None:
            # surplus elements do not matter
            elements = (elements[0],) * min(size, consumer.count)
        fits = head in ("tuple", "pair", "array") and len(elements) >= consumer.count
        fits = fits and all(_is_gradient(typer, Value(element)) for element in elements[: consumer.count])
        return None if fits else _tuple_of(consumer.count)
    if use is Use.ELEMENT_GRADIENT:
        relations = conversions.relations
        fits = relations.explicit(value.type, TENSOR) if relations.knows(value.type) else False
        return None if fits or value.type is TENSOR else (TENSOR,)
    if use is Use.GRADIENT:
        common = common_type(typer, value, Value(TENSOR, TEMPORARY))
        if common is None:
            return (TENSOR,)
        value = Value(common)
    return None if value.type is UNKNOWN or _is_gradient(typer, value) else GRADIENT_TYPES


def _is_gradient(typer: Inference, value: Value) -> bool:
    return any(typer.conversions.rank(value, type) != IMPOSSIBLE for type in GRADIENT_TYPES)


def _tuple_of(count: int) -> tuple[CppType, ...]:
    return (template_type("tuple", [TENSOR] * count),)
