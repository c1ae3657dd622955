"""The numbers that formulas compare values with, on both sides of which they are compared with the operator.

``at::where(self >= 0.5, grad, 0)`` is right for ``relu`` at most points, and wrong between 0 and 0.5.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.scalar_evaluation.signature import EvaluationSignature, Values
from derivlint.formula import Binary, Call, Expr, Member, Name, Node, Number, Unary, walk
from derivlint.operators import Book

_COMPARED = frozenset({"<", "<=", ">", ">=", "==", "!="})
_COMPARING = Book.by_hand("compares") | Book.by_hand("has-bounds")
#: The distance from a bound, relative to it; the same from zero.
_DISTANCE = 0.05
#: The maximum number of bounds of a formula.
_MOST = 8


def bounds_in(tree: Node) -> frozenset[float]:
    """The numbers in the comparisons of a formula."""
    return frozenset(number for node in walk(tree) for number in _bounds(node))


def called_name(node: Call) -> tuple[str, bool]:
    """The unqualified name of the callee, and whether it is a method."""
    if isinstance(node.callee, Member):
        return node.callee.name, True
    if isinstance(node.callee, Name):
        return node.callee.parts[-1].identifier, False
    return "", False


def _bounds(node: Node) -> Iterator[float]:
    operands: tuple[Expr, ...] = ()
    if isinstance(node, Binary) and node.op in _COMPARED:
        operands = (node.left, node.right)
    elif isinstance(node, Call) and called_name(node)[0] in _COMPARING:
        operands = node.args
    for operand in operands:
        sign = -1 if isinstance(operand, Unary) and operand.op == "-" else 1
        number = operand.operand if isinstance(operand, Unary) else operand
        if isinstance(number, Number):
            try:
                yield sign * float(number.text.rstrip("fFlLuU"))
            except ValueError:
                # hexadecimal
                continue


def around_bounds(
    bounds: frozenset[float], arguments: Values, signature: EvaluationSignature
) -> Iterator[tuple[Values, bool]]:
    """The arguments with one tensor at a bound or beside it, and whether it is at the bound."""
    for bound in sorted(bounds)[:_MOST]:
        distance = _DISTANCE * (abs(bound) or 1.0)
        for name in signature.inputs:
            if type(arguments.get(name)) is float:
                for value in (bound, bound - distance, bound + distance):
                    yield {**arguments, name: value}, value == bound
