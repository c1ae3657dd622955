"""Tensors in a formula that can have an integral type.

Tensors with a gradient or tangent are floating-point, and so are values computed from them. Other arguments may be
integral if the operator promotes types, as elementwise ones do.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.expressions.inference import number_value
from derivlint.formula import Binary, Call, Expr, Name, Number, Parenthesized, Unary, parse_formula
from derivlint.model.generated.evaluation import Evaluation, Mode
from derivlint.model.generated.typing import FormulaProblem
from derivlint.operators.shapes.sizes import is_broadcasting

#: The namespace of PyTorch's own operators.
ATEN = "aten"
#: Operations that return integers for integers.
_ARITHMETIC = ("+", "-", "*")


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
    """The variables from which an expression is computed by integer arithmetic; None for anything else."""
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
