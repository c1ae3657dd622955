"""Arguments of the operator that formulas do not pass to its backward function.

A backward function has parameters with the names of the operator's arguments. If a literal is passed for one, or its
default is used, the formula is right only for one value of the argument. The same holds for calls of the operator
itself on a tangent, calls of the forward operator in a double backward, and functions of the gradient that take a
literal for a dimension or index that the formula does not mention.

Tensors that are changed before they are passed on are as suspicious: ``key + 1`` for ``key``.

The parameter may have another name: an abbreviation, such as ``eps`` for ``epsilon``, or any name if it is for the only
number that the formula does not mention: ``p`` of ``norm_backward`` for ``ord`` of ``linalg_vector_norm``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Set

from msgspec import Struct

from derivlint.analysis.calls.argument_order import ARITHMETIC, IS_RESULT, SAME_VALUE
from derivlint.analysis.formula_analyses import FormulaAnalyses
from derivlint.analysis.interpretation.callee import CallArgument, CallFacts, only_operand, role_of
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.analysis.interpretation.operators import LIKE_FIRST, MAY_RETURN_ARGUMENT, VIEWS
from derivlint.analysis.scalar_evaluation.compare import compared
from derivlint.analysis.scalar_evaluation.reference import reference_of
from derivlint.analysis.small_tensors.compare import is_confirmed
from derivlint.analysis.typed import TypedFormula
from derivlint.cpp.cpp_type import BOOL, DOUBLE, SCALAR, template_type
from derivlint.cpp.declarations.declaration import Parameter
from derivlint.formula import (
    Binary,
    Call,
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
from derivlint.model.generated.forward import PRIMAL
from derivlint.model.resolve import EntryFunction
from derivlint.operators import Book
from derivlint.operators.shapes.sizes import is_broadcasting

#: Functions that return the values of their argument, or only look at its sizes.
PRESERVING = SAME_VALUE | VIEWS | MAY_RETURN_ARGUMENT | LIKE_FIRST | Book.by_hand("moves-elements")
PRESERVING |= Book.by_hand("conjugates")
#: Factors without effect.
ONE = ("1", "1.", "1.0")
#: Parts of the names of functions for gradients and tangents.
BACKWARD = "backward"
JVP = "_jvp"
LITERALS = ("true", "false", "nullopt")
#: The minimum length of an abbreviated argument name, such as "eps".
SHORTEST = 3
#: The types of numbers other than integers.
NUMBERS = frozenset({DOUBLE, SCALAR, *(template_type("optional", [number]) for number in (DOUBLE, SCALAR))})


class DroppedArgument(Struct, frozen=True):
    """An argument that is not passed to a backward function.

    Attributes:
        formula: the formula.
        call: the call.
        name: the name of the argument.
        parameter: the name of the parameter.
        literal: the literal passed instead, or None for the default.
        is_altered: whether it is passed another value of the argument, ``!flag``, which is wrong for all values.
    """

    formula: TypedFormula
    call: CallFacts
    name: str
    parameter: str
    literal: Expr | None
    is_altered: bool = False


def dropped_arguments(interpretation: Interpretation) -> Iterator[DroppedArgument]:
    """The non-tensor arguments of the operator that calls in a formula omit."""
    formula = interpretation.formula
    function = formula.written.entry.function
    if function is None:
        return
    if not formula.is_backward:
        yield from _dropped_types(interpretation, function)
    arguments = {binding.name for binding in function.arguments}.difference(function.tensor_arguments)
    numbers = function.canonical.arguments_of("Scalar", "float")
    unmentioned = arguments - formula.variables
    indices = unmentioned & function.canonical.arguments_of("int", "SymInt")
    base = function.canonical.name.base
    inverse = base.removesuffix("_" + BACKWARD)
    for call in interpretation.calls:
        if call.function is None:
            continue
        # a method is neither a backward function nor the operator itself
        function_name = "" if call.is_method else call.name.rpartition("::")[2]
        is_derivative = (BACKWARD if formula.is_backward else JVP) in function_name
        is_inverse = formula.is_backward and function_name == inverse != base
        has_seed = interpretation.facts[call.node].degree.has_seed
        is_itself = function_name == base and has_seed
        passed = {argument.parameter.name: argument.node for argument in call.arguments if argument.parameter}
        if not (is_derivative or is_inverse or is_itself):
            for name in sorted(indices & passed.keys()) if has_seed else ():
                if isinstance(unparenthesized(passed[name]), (Number, Unary)) and _is_literal(passed[name]):
                    yield DroppedArgument(formula, call, name, name, passed[name])
            continue
        parameters = call.function.parameters
        # another operator's backward function has numbers of its own: "threshold_backward(grad, result, 0)"
        is_own = function_name.partition(f"_{BACKWARD}")[0].removesuffix(JVP) in base
        renamed = arguments.difference(parameter.name for parameter in parameters)
        for parameter in parameters:
            name = parameter.name
            node = passed.get(name)
            if name not in arguments and is_derivative and node is not None:
                name = _renamed(parameter, renamed, unmentioned & numbers if is_own else frozenset()) or name
            if name not in arguments:
                continue
            if is_itself and not is_derivative and _may_be_constant(formula, name, node, numbers):
                continue
            if node is not None and _is_implied(formula, name, node):
                continue
            # "!forward" is right if the adjoint is the inverse, and backward functions of other projects may take
            # inverted flags: npu_confusion_transpose_backward
            may_alter = not function.canonical.in_cpp_api or (is_itself and formula.is_backward)
            is_altered = node is not None and not may_alter and _is_altered(node, name)
            if node is None or _is_literal(node) or is_altered:
                yield DroppedArgument(formula, call, name, parameter.name, node, is_altered)


class AlteredTensor(Struct, frozen=True):
    """A tensor that is changed before it is passed to a backward function.

    Attributes:
        formula: the formula.
        call: the call.
        argument: the changed tensor.
        parameter: the name of its parameter.
        variable: the argument or output of the operator.
    """

    formula: TypedFormula
    call: CallFacts
    argument: CallArgument
    parameter: str
    variable: str


def altered_tensors(analyses: FormulaAnalyses, interpretation: Interpretation) -> Iterator[AlteredTensor]:
    """The arguments and outputs that are passed with a sign, a number or the like to functions for gradients."""
    formula = interpretation.formula
    function = formula.written.entry.function
    if function is None or formula.written.auto is not None:
        return
    tensors = {name if formula.is_backward else name + PRIMAL for name in function.tensor_arguments}
    tensors |= {output.name for output in function.outputs}
    for call in interpretation.calls:
        if call.function is None or call.is_method or not (BACKWARD in call.name or JVP in call.name):
            continue
        canonical = function.canonical
        is_own = canonical.in_cpp_api or call.name.strip("_").startswith(canonical.name.base.strip("_"))
        for argument in call.arguments:
            if argument.parameter is None:
                continue
            variable = None if role_of(argument.parameter).is_seed else _altered(formula, argument.node)
            if variable not in tensors:
                continue
            # "sigmoid_backward(grad, x.sigmoid())" of an operator of one's own is passed what it takes
            is_meant = is_own or argument.parameter.name == variable.removesuffix(PRIMAL)
            if is_meant and not _is_right(analyses, formula, call):
                yield AlteredTensor(formula, call, argument, argument.parameter.name, variable)


def _is_right(analyses: FormulaAnalyses, formula: TypedFormula, call: CallFacts) -> bool:
    """Whether values prove a formula right: ``hardshrink_backward(grad, self.abs(), lambd)``."""
    differentiability = analyses.model.canonical_differentiability(formula.written.body)
    reference = reference_of(differentiability.function) if differentiability is not None else None
    if differentiability is None or is_confirmed(differentiability, formula):
        return differentiability is not None
    if reference is None or not is_broadcasting(call.name):
        return False
    checks = compared(analyses, (formula,), differentiability, reference)
    return any(check.compared and not check.witnesses and not check.doubts for check in checks)


def _altered(formula: TypedFormula, node: Expr) -> str | None:
    """The variable of which an expression is an elementwise function with other values: ``-x``, ``2 * x``."""
    node, operand = unparenthesized(node), None
    # "input_bias.defined()"
    if formula.type_of(node).unreferenced is BOOL:
        return None
    call = formula.call(node) if isinstance(node, Call) else None
    if isinstance(node, Call) and call is not None:
        operand = only_operand(node) if is_broadcasting(call.name) and call.name not in PRESERVING else None
    elif isinstance(node, Unary) and node.op == "-":
        operand = node.operand
    elif isinstance(node, Binary) and node.op in ARITHMETIC:
        for number, side in ((node.left, node.right), (node.right, node.left)):
            is_neutral = isinstance(number, Number) and (number.is_zero if node.op in "+-" else number.text in ONE)
            operand = side if isinstance(number, Number) and not is_neutral else operand
    inner = unparenthesized(operand) if operand is not None else None
    return inner.simple if isinstance(inner, Name) else None


def _renamed(parameter: Parameter, renamed: Set[str], numbers: Set[str]) -> str | None:
    """The argument that a parameter with another name is for."""
    short = [name for name in renamed if name.startswith(parameter.name) or parameter.name.startswith(name)]
    if len(short) == 1 and min(len(short[0]), len(parameter.name)) >= SHORTEST:
        return short[0]
    is_number = parameter.type.unreferenced in NUMBERS
    return next(iter(numbers)) if is_number and len(numbers) == 1 and numbers <= renamed else None


def _is_implied(formula: TypedFormula, name: str, node: Expr) -> bool:
    """Whether a literal is the value of a flag in a branch on it: ``training ? f(true) : g(false)``."""
    for part in formula.nodes:
        if isinstance(part, Conditional) and isinstance(condition := unparenthesized(part.condition), Name):
            branch = {"true": part.then, "false": part.otherwise}.get(formula.source_of(node))
            if condition.simple == name and branch is not None and branch.start <= node.start < branch.end:
                return True
    return False


def _may_be_constant(formula: TypedFormula, name: str, node: Expr | None, numbers: Collection[str]) -> bool:
    """Whether a constant is plausible for an argument of an operator called on a gradient or tangent."""
    if node is None or name.endswith(IS_RESULT):
        return True
    # "accumulate ? grad : at::_unsafe_index_put(grad, indices, zeros_like(values), false)"
    conditions = (part.condition for part in formula.nodes if isinstance(part, Conditional))
    if any(isinstance(part, Name) and part.simple == name for condition in conditions for part in walk(condition)):
        return True
    # the tangent of a constant is 0: constant_pad_nd(self_t, pad, 0)
    node = unparenthesized(node)
    return name in numbers and isinstance(node, Number) and not node.text.strip("0.")


def _dropped_types(interpretation: Interpretation, function: EntryFunction) -> Iterator[DroppedArgument]:
    """The dtypes that a forward formula does not pass to the operator, so that only outputs are cast.

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
                yield DroppedArgument(formula, call, parameter.name, parameter.name, None)


def _is_literal(node: Expr) -> bool:
    while isinstance(node, (Parenthesized, Unary)):
        node = node.inner if isinstance(node, Parenthesized) else node.operand
    if isinstance(node, Name):
        return node.parts[-1].identifier in LITERALS
    return isinstance(node, (Number, String))


def _is_altered(node: Expr, name: str) -> bool:
    """Whether an expression is an argument, negated or combined with literals: ``!flag``, ``2 * eps``."""
    node = unparenthesized(node)
    if not isinstance(node, (Unary, Binary)):
        return False
    parts = list(walk(node))
    names = [part.simple for part in parts if isinstance(part, Name)]
    return names == [name] and all(isinstance(part, (Unary, Binary, Parenthesized, Number, Name)) for part in parts)
