"""Tensors in formulas that may have an integral dtype, and fractions that are truncated to integers.

Tensors with a gradient or tangent and values computed from them are floating-point. Other arguments may be integral if
the operator promotes types, as elementwise operators do.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from msgspec import Struct

from derivlint.analysis.typed import TypedFormula
from derivlint.cpp.cpp_type import INT, INT64, SYM_INT, template_type
from derivlint.cpp.expressions.inference import number_value
from derivlint.formula import Binary, Call, Expr, Index, Name, Number, Parenthesized, Unary, parse_formula
from derivlint.model.generated.evaluation import Evaluation, Mode
from derivlint.model.generated.typing import FormulaProblem
from derivlint.operators.shapes.sizes import is_broadcasting

#: The namespace of PyTorch's own operators.
ATEN = "aten"
#: Operators that return integers for integers.
_ARITHMETIC = ("+", "-", "*")
#: Types of parameters for which C++ truncates floating-point numbers.
_INTEGERS = frozenset({INT, INT64, SYM_INT}).union(
    template_type(head, [type]) for head in ("optional", "ArrayRef", "OptionalArrayRef") for type in (INT64, SYM_INT)
)


class TruncatedNumber(Struct, frozen=True):
    """A number in a formula that loses its fractional part.

    Attributes:
        node: the number.
        value: its value.
        parameter: its parameter; empty for an index.
        callee: the called function; empty for an index.
    """

    node: Expr
    value: float
    parameter: str = ""
    callee: str = ""


def truncated_numbers(formula: TypedFormula) -> Iterator[TruncatedNumber]:
    """The fractions in a formula that are indices, or arguments of integral types."""
    for node in formula.nodes:
        if isinstance(node, Index):
            for index in node.args:
                if (value := _fraction(index)) is not None:
                    yield TruncatedNumber(index, value)
        call = formula.call(node) if isinstance(node, Call) else None
        for argument in call.arguments if call is not None else ():
            parameter = argument.parameter
            if parameter is not None and parameter.type.unreferenced in _INTEGERS:
                value = _fraction(argument.node)
                if value is not None and call is not None:
                    yield TruncatedNumber(argument.node, value, parameter.name, call.spelling)


def _fraction(node: Expr) -> float | None:
    """The value of a number literal with a fractional part; None for other expressions."""
    if isinstance(node, Unary) and node.op == "-":
        value = _fraction(node.operand)
        return None if value is None else -value
    constant = number_value(node.text).constant if isinstance(node, Number) else None
    return constant if isinstance(constant, float) and isfinite(constant) and not constant.is_integer() else None


def has_integral_exponent(problem: FormulaProblem) -> bool | None:
    """Whether a power of an integer may have an integral exponent, or None if unknown."""
    evaluation, place = problem.evaluation, (problem.problem.start, problem.problem.end)
    nodes = parse_formula(evaluation.text).nodes
    powers = (node for node in nodes if isinstance(node, Call) and len(node.args) == 2)
    exponent = next((node.args[1] for node in powers if (node.args[0].start, node.args[0].end) == place), None)
    leaves = [None] if exponent is None else list(_leaves(exponent))
    if None in leaves:
        return None
    if not _may_be_integral(evaluation, {leaf for leaf in leaves if leaf is not None}):
        return False
    name = evaluation.function.name
    return True if evaluation.function.namespace == ATEN and is_broadcasting(name.base) else None


def _leaves(node: Expr) -> Iterator[str | None]:
    """The variables from which integer arithmetic computes an expression; None for anything else."""
    if isinstance(node, Parenthesized):
        yield from _leaves(node.inner)
    elif isinstance(node, Unary) and node.op in _ARITHMETIC:
        yield from _leaves(node.operand)
    elif isinstance(node, Binary) and node.op in _ARITHMETIC:
        yield from _leaves(node.left)
        yield from _leaves(node.right)
    elif isinstance(node, Name):
        yield node.simple
    elif not (isinstance(node, Number) and isinstance(number_value(node.text).constant, int)):
        yield None


def _may_be_integral(evaluation: Evaluation, variables: set[str]) -> bool:
    """Whether variables may all be integral: they are arguments, and another one has a gradient or tangent."""
    tensors = {
        argument.name for argument in evaluation.function.schema.arguments.flat_non_out if argument.type.is_tensor_like
    }
    if evaluation.mode is Mode.BACKWARD:
        return variables <= tensors - {name.text for name in evaluation.written.names}
    arguments = {evaluation.primals.get(variable, "") for variable in variables}
    info = evaluation.written.body.info
    inputs = set() if info is None else {binding.name for binding in info.args_with_derivatives}
    return arguments <= tensors and not inputs <= arguments
