"""Arguments of the operator that are not passed to its backward function.

The backward function of an operator has parameters with the names of the operator's arguments. If a literal is passed
for one, or its default is used, the formula is right for one value of the argument only. So is a formula that calls the
operator itself on a tangent, or, for the gradient of a backward operator, the operator whose backward it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from derivlint.analysis.interpretation.callee import CallFacts
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.analysis.typed import TypedFormula
from derivlint.formula import (
    Binary,
    Conditional,
    Expr,
    Name,
    Number,
    Parenthesized,
    String,
    Unary,
    unparenthesized,
    walk,
)
from derivlint.model.resolve import EntryFunction

#: Parts of the names of functions for gradients and for tangents.
BACKWARD = "backward"
JVP = "_jvp"
#: How flags end that say whether a function is passed its input or its result.
IS_RESULT = "is_result"
LITERALS = ("true", "false", "nullopt")


class DroppedArgument(Struct, frozen=True):
    """An argument that is not passed to a backward function.

    Attributes:
        formula: the formula.
        call: the call.
        name: the name of the argument and of the parameter.
        literal: the literal passed instead, or None for the default.
    """

    formula: TypedFormula
    call: CallFacts
    name: str
    literal: Expr | None


def dropped_arguments(interpretation: Interpretation) -> Iterator[DroppedArgument]:
    """The non-tensor arguments of the operator that a call in one of its formulas omits."""
    formula = interpretation.formula
    function = formula.written.entry.function
    if function is None:
        return
    if not formula.is_backward:
        yield from _dropped_types(interpretation, function)
    arguments = {binding.name for binding in function.arguments}.difference(function.tensor_arguments)
    numbers = function.canonical.arguments_of("Scalar", "float")
    base = function.canonical.name.base
    inverse = base.removesuffix("_" + BACKWARD)
    for call in interpretation.calls:
        if call.function is None or call.is_method:
            continue
        is_derivative = (BACKWARD if formula.is_backward else JVP) in call.name
        is_inverse = formula.is_backward and call.name == inverse != base
        is_itself = call.name == base and interpretation.facts[call.node].degree.has_seed
        if not (is_derivative or is_inverse or is_itself):
            continue
        passed = {argument.parameter.name: argument.node for argument in call.arguments if argument.parameter}
        for parameter in call.function.parameters:
            if parameter.name not in arguments:
                continue
            node = passed.get(parameter.name)
            if is_itself and not is_derivative and _may_be_constant(formula, parameter.name, node, numbers):
                continue
            # "!forward" is right for a transform that is its own adjoint, and backward functions of other projects may
            # be declared for the inverse: npu_confusion_transpose_backward
            may_alter = not function.canonical.in_cpp_api or (is_itself and formula.is_backward)
            if node is None or _is_literal(node) or (not may_alter and _is_altered(node, parameter.name)):
                yield DroppedArgument(formula, call, parameter.name, node)


def _may_be_constant(formula: TypedFormula, name: str, node: Expr | None, numbers: Collection[str]) -> bool:
    """Whether an operator that is called on a gradient or tangent may well have a constant for an argument."""
    if node is None or name.endswith(IS_RESULT):
        return True
    # "accumulate ? grad : at::_unsafe_index_put(grad, indices, zeros_like(values), false)"
    conditions = (part.condition for part in formula.nodes if isinstance(part, Conditional))
    if any(isinstance(part, Name) and part.simple == name for condition in conditions for part in walk(condition)):
        return True
    # a tangent has no constant: constant_pad_nd(self_t, pad, 0)
    node = unparenthesized(node)
    return name in numbers and isinstance(node, Number) and not node.text.strip("0.")


def _dropped_types(interpretation: Interpretation, function: EntryFunction) -> Iterator[DroppedArgument]:
    """The dtypes that a forward formula does not pass to the operator, so that only outputs have them.

    PyTorch casts gradients to the dtype of their inputs, but does not cast tangents.
    """
    formula = interpretation.formula
    names = function.canonical.arguments_of("ScalarType")
    if not names:
        return
    for call in interpretation.calls:
        if call.name != function.canonical.name.base or call.function is None or call.node is not formula.tree:
            continue
        passed = {argument.parameter.name for argument in call.arguments if argument.parameter}
        for parameter in call.function.parameters:
            if parameter.name in names - passed and interpretation.facts[call.node].degree.has_seed:
                yield DroppedArgument(formula, call, parameter.name, None)


def _is_literal(node: Expr) -> bool:
    while isinstance(node, (Parenthesized, Unary)):
        node = node.inner if isinstance(node, Parenthesized) else node.operand
    if isinstance(node, Name):
        return node.parts[-1].identifier in LITERALS
    return isinstance(node, (Number, String))


def _is_altered(node: Expr, name: str) -> bool:
    """Whether an expression is an argument negated, or combined with literals: ``!flag``, ``2 * eps``."""
    node = unparenthesized(node)
    if not isinstance(node, (Unary, Binary)):
        return False
    parts = list(walk(node))
    names = {part.simple for part in parts if isinstance(part, Name)}
    return names == {name} and all(isinstance(part, (Unary, Binary, Parenthesized, Number, Name)) for part in parts)
