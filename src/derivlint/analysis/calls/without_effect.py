"""Parts of formulas without effect: constant conditions, minuses before conditions, values only used for sizes."""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.calls.argument_order import BACKWARD
from derivlint.analysis.interpretation.callee import callee_name, only_operand
from derivlint.analysis.interpretation.interpret import Interpretation, only_metadata
from derivlint.analysis.interpretation.operators import OperatorDegrees
from derivlint.analysis.typed import TypedFormula
from derivlint.cpp.cpp_type import BOOL
from derivlint.formula import Binary, Call, Conditional, Expr, Member, Name, Number, Unary, unparenthesized
from derivlint.formula.vocabulary import whole_number, words
from derivlint.model import DerivativeFormula
from derivlint.model.generated.forward import PRIMAL
from derivlint.operators import Book
from derivlint.operators.shapes.sizes import is_broadcasting
from derivlint.operators.special import SIZE_MEMBERS
from derivlint.schema import BaseType

#: Functions that may change strides or the dtype.
CONVERTING = Book.by_hand("moves-elements") | Book.by_hand("may-return-argument") | Book.by_hand("real-valued")
#: What methods count.
COUNTS = dict.fromkeys(words("dim ndimension"), "a number of dimensions")
COUNTS |= dict.fromkeys(words("numel sym_numel"), "a number of elements")
COUNTS |= dict.fromkeys(words("size sym_size"), "a size")
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
#: Whether a comparison of a count with a negative number is true; with zero, the first two are the same.
_OF_NEGATIVES = {"<": False, ">=": True, "<=": False, ">": True, "==": False, "!=": True}
_OF_ZERO = ("<", ">=")


def constant_comparisons(formula: DerivativeFormula) -> Iterator[tuple[Binary, bool, str]]:
    """The comparisons of counts with the same result for all tensors, with that result and the kind of count."""
    for node in formula.parsed.nodes if formula.is_expression else ():
        if not isinstance(node, Binary) or node.op not in _FLIPPED:
            continue
        for op, operand, bound in ((node.op, node.left, node.right), (_FLIPPED[node.op], node.right, node.left)):
            call, number = unparenthesized(operand), _integer(bound)
            if isinstance(call, Unary) and call.op == "-" and number is not None:
                call, number, op = unparenthesized(call.operand), -number, _FLIPPED[op]
            if number is None or not isinstance(call, Call) or not isinstance(call.callee, Member):
                continue
            count = COUNTS.get(call.callee.name)
            if count is not None and (number < 0 or (number == 0 and op in _OF_ZERO)):
                yield node, _OF_NEGATIVES[op], count


def _integer(node: Expr) -> int | None:
    node = unparenthesized(node)
    if isinstance(node, Unary) and node.op == "-":
        number = _integer(node.operand)
        return None if number is None else -number
    return whole_number(node.text) if isinstance(node, Number) else None


def always_defined(formula: TypedFormula) -> Iterator[tuple[Call, str]]:
    """The calls of ``defined`` on a required argument of an operator that computes no gradients."""
    function = formula.written.entry.function
    if function is None or BACKWARD in function.canonical.name.base:
        # gradients may be undefined
        return
    suffix = "" if formula.is_backward else PRIMAL
    arguments = function.canonical.schema.arguments.flat_all
    required = {argument.name + suffix for argument in arguments if isinstance(argument.type, BaseType)}
    for node in formula.nodes:
        tensor = only_operand(node) if isinstance(node, Call) and callee_name(node) == "defined" else None
        if isinstance(node, Call) and isinstance(tensor, Name) and tensor.simple in required:
            yield node, tensor.simple


def negated_conditions(formula: TypedFormula) -> Iterator[Unary]:
    """The minuses before conditions."""
    for node in formula.nodes:
        conditions: tuple[Expr, ...] = ()
        if isinstance(node, Conditional):
            conditions = (node.condition,)
        elif isinstance(node, Binary) and node.op in ("&&", "||"):
            conditions = (node.left, node.right)
        for condition in conditions:
            minus = unparenthesized(condition)
            if isinstance(minus, Unary) and minus.op == "-" and formula.type_of(minus.operand) is BOOL:
                yield minus


def computed_for_sizes(interpretation: Interpretation, operators: OperatorDegrees) -> Iterator[tuple[Call, Expr]]:
    """The calls of elementwise functions of one tensor of which only the sizes are used, with that tensor."""
    for call in interpretation.calls:
        # "sym_sizes()" may be called as a function, without an argument
        positions = range(len(call.arguments[:1])) if call.name in SIZE_MEMBERS else only_metadata(operators, call)
        for position in positions:
            inner = unparenthesized(call.arguments[position].node)
            facts = interpretation.formula.call(inner) if isinstance(inner, Call) else None
            if facts is None or not isinstance(inner, Call) or len(facts.arguments) != 1 or facts.is_inplace:
                continue
            if is_broadcasting(facts.name) and facts.name not in CONVERTING:
                yield inner, facts.arguments[0].node
