"""Operators on values: arithmetic, comparison, logic, assignment, indexing and ``?:``.

Result types are looked up in a compiler-generated table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from derivlint.cpp.cpp_type import (
    BOOL,
    CHAR_POINTER,
    CONST_LVALUE,
    INT,
    LVALUE,
    NULL_OPTION,
    NULL_POINTER,
    SIZE,
    SYM_INT,
    TEMPORARY,
    TENSOR,
    UNKNOWN,
    UNKNOWN_VALUE,
    CppType,
    Value,
    pointer_to,
)
from derivlint.cpp.expressions.conversion import ARITHMETIC, IMPOSSIBLE, INTEGERS
from derivlint.cpp.problem import TypeProblemKind

if TYPE_CHECKING:
    from derivlint.cpp.expressions.typer import Typer
    from derivlint.formula import Binary, Conditional, Expr, Index, Postfix, Unary

ASSIGNMENTS = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})
#: The types whose division truncates.
WHOLE_NUMBERS = INTEGERS.keys() | {SYM_INT}
LOGICAL = frozenset({"&&", "||"})
#: The containers that return elements by reference.
REFERRING = frozenset({"vector", "array", "SmallVector", "DimVector", "SymDimVector"})


def unary_value(typer: Typer, node: Unary) -> Value:
    """The value of a prefix operator."""
    value = typer.operand(node.operand)
    op = node.op
    if value.is_unknown:
        return UNKNOWN_VALUE
    if op == "!":
        return Value(BOOL) if check_condition(typer, node.operand, value, node) else UNKNOWN_VALUE
    if op == "&":
        if value.category == TEMPORARY:
            return typer.report(TypeProblemKind.NOT_ASSIGNABLE, node, name=op, actual=(value.type,))
        return Value(pointer_to(value.type)) if value.type is not CHAR_POINTER else UNKNOWN_VALUE
    if op in ("++", "--"):
        return _step(typer, node, value)
    if op == "*" and value.type.pointee is not None:
        return Value(value.type.pointee, LVALUE)
    if value.constant is not None and op in "+-" and not isinstance(value.constant, str):
        number = -value.constant if op == "-" else value.constant
        return Value(value.type if value.type is not BOOL else INT, TEMPORARY, None, number)
    relations = typer.conversions.relations
    if not relations.knows(value.type):
        if op == "*" and value.type.head == "optional" and value.type.arguments:
            return Value(value.type.arguments[0], value.category)
        return UNKNOWN_VALUE
    result = relations.unary(op, value.type)
    if result is None:
        return typer.report(TypeProblemKind.OPERANDS, node, name=op, actual=(value.type,))
    return Value(result, value.category if op == "*" else TEMPORARY)


def postfix_value(typer: Typer, node: Postfix) -> Value:
    """The value of ``x++`` or ``x--``."""
    value = typer.operand(node.operand)
    return UNKNOWN_VALUE if value.is_unknown else _step(typer, node, value)


def _step(typer: Typer, node: Unary | Postfix, value: Value) -> Value:
    if value.type in ARITHMETIC and value.type is not BOOL:
        if value.category == LVALUE:
            return value
        return typer.report(TypeProblemKind.NOT_ASSIGNABLE, node, name=node.op, actual=(value.type,))
    if value.type.pointee is not None or not typer.conversions.knows(value.type):
        return UNKNOWN_VALUE
    return typer.report(TypeProblemKind.OPERANDS, node, name=node.op, actual=(value.type,))


def binary_value(typer: Typer, node: Binary) -> Value:
    """The value of a binary operator."""
    left = typer.operand(node.left)
    op = node.op
    right = typer.of(node.right) if op in ASSIGNMENTS else typer.operand(node.right)
    if left.is_unknown or right.is_unknown:
        return Value(BOOL) if op in LOGICAL else UNKNOWN_VALUE
    if op == ",":
        return right
    relations = typer.conversions.relations
    a, b = left.type, right.type
    place = (node.op_start, node.op_start + len(node.op))
    if op in LOGICAL:
        if relations.knows(a) and relations.knows(b) and not (relations.condition(a) and relations.condition(b)):
            typer.report(TypeProblemKind.OPERANDS, place, name=op, actual=(a, b))
            return UNKNOWN_VALUE
        return Value(BOOL)
    if op in ASSIGNMENTS:
        return _assignment(typer, node, left, right, place)
    if not relations.knows(a) or not relations.knows(b):
        return _unlisted(typer, op, left, right, place)
    result = relations.binary(op, a, b)
    if result is None:
        return typer.report(TypeProblemKind.OPERANDS, place, name=op, actual=(a, b))
    if op == "/" and a in WHOLE_NUMBERS and b in WHOLE_NUMBERS:
        literal = left.constant is not None and right.constant is not None
        typer.report(TypeProblemKind.INTEGER_DIVISION, node, name="literals" if literal else "", actual=(a, b))
    return Value(result)


def _unlisted(typer: Typer, op: str, left: Value, right: Value, place: tuple[int, int]) -> Value:
    """The value for operands that the table lacks: only comparisons of equal types are valid."""
    conversions = typer.conversions
    if not conversions.knows(left.type) or not conversions.knows(right.type):
        return UNKNOWN_VALUE
    if op in ("==", "!=", "<", ">", "<=", ">="):
        if left.type is right.type or NULL_POINTER in (left.type, right.type):
            return Value(BOOL)
        if "optional" in (left.type.head, right.type.head):
            return Value(BOOL)
    return typer.report(TypeProblemKind.OPERANDS, place, name=op, actual=(left.type, right.type))


def _assignment(typer: Typer, node: Binary, left: Value, right: Value, place: tuple[int, int]) -> Value:
    facts = {"name": node.op, "actual": (left.type, right.type)}
    plain = left.type in ARITHMETIC or left.type.pointee is not None
    if left.category == CONST_LVALUE or (plain and left.category == TEMPORARY):
        return typer.report(TypeProblemKind.NOT_ASSIGNABLE, place, **facts)
    if node.op == "=":
        if typer.conversions.rank(right, left.type) == IMPOSSIBLE:
            return typer.report(TypeProblemKind.OPERANDS, place, **facts)
        return left
    relations = typer.conversions.relations
    if not relations.knows(left.type) or not relations.knows(right.type):
        return left
    if relations.binary(node.op, left.type, right.type) is None:
        return typer.report(TypeProblemKind.OPERANDS, place, **facts)
    return left


def index_value(typer: Typer, node: Index, base: Value, index: Value) -> Value:
    """The value of ``x[i]`` for one index."""
    relations = typer.conversions.relations
    head, arguments = base.type.head, base.type.arguments
    place = (node.object.end, node.end)
    facts: dict[str, Any] = {"object": base.type, "actual": (index.type,)}
    if index.items is not None:
        # a braced index converts to a number
        fits = typer.conversions.rank(index, SIZE) != IMPOSSIBLE
        index = Value(SIZE) if fits else index
        if not fits and head in REFERRING:
            return typer.report(TypeProblemKind.NOT_INDEXABLE, place, **facts)
    if relations.knows(base.type) and relations.knows(index.type):
        result = relations.index(base.type, index.type)
        if result is None:
            return typer.report(TypeProblemKind.NOT_INDEXABLE, place, **facts)
    elif head == "array" and arguments:
        if typer.conversions.rank(index, SIZE) == IMPOSSIBLE:
            return typer.report(TypeProblemKind.NOT_INDEXABLE, place, **facts)
        result = arguments[0]
    elif (head in ("tuple", "pair", "optional") and typer.conversions.knows(base.type)) or (
        index.type.pointee is not None and (head in REFERRING or base.type is TENSOR)
    ):
        return typer.report(TypeProblemKind.NOT_INDEXABLE, place, **facts)
    else:
        return UNKNOWN_VALUE
    if isinstance(index.constant, int) and index.constant < 0 and (head in REFERRING or head == "ArrayRef"):
        typer.report(TypeProblemKind.NEGATIVE_INDEX, place, name=str(index.constant), **facts)
    if head in REFERRING and base.category != TEMPORARY:
        return Value(result, base.category)
    return Value(result, CONST_LVALUE if head == "ArrayRef" else TEMPORARY)


def check_condition(typer: Typer, node: Expr, value: Value, whole: Expr | None = None) -> bool:
    """Whether a value converts to bool in a condition; reports it if not."""
    if value.is_unknown:
        return True
    relations = typer.conversions.relations
    if value.type.pointee is not None or value.type is NULL_POINTER:
        return True
    if relations.knows(value.type):
        fits = relations.condition(value.type)
    else:
        fits = not typer.conversions.knows(value.type) or value.type.head == "optional"
    if not fits:
        name = "!" if whole is not None else "?:"
        typer.report(TypeProblemKind.CONDITION, whole or node, name=name, actual=(value.type,))
    return fits


def conditional_value(typer: Typer, node: Conditional, then: Value, otherwise: Value) -> Value:
    """The value of ``?:``, given those of its branches."""
    if then.is_unknown or otherwise.is_unknown:
        return UNKNOWN_VALUE
    result = common_type(typer, then, otherwise)
    if result is None:
        return typer.report(TypeProblemKind.BRANCHES, (node.question, node.end), actual=(then.type, otherwise.type))
    if then.type is otherwise.type and then.category == otherwise.category:
        return Value(result, then.category)
    return Value(result)


def common_type(typer: Typer, then: Value, otherwise: Value) -> CppType | None:
    """The common type of two branches, or None."""
    a, b = then.type, otherwise.type
    if a is b:
        return a
    relations = typer.conversions.relations
    for one, operand in ((then, otherwise), (otherwise, then)):
        literal = _literal(one)
        if literal is not None and relations.knows(operand.type):
            if one is then:
                return relations.literal_ternary(literal, operand.type, literal_first=True)
            return relations.literal_ternary(literal, operand.type, literal_first=False)
    if relations.knows(a) and relations.knows(b):
        return relations.ternary(a, b)
    if not typer.conversions.knows(a) or not typer.conversions.knows(b):
        return UNKNOWN
    forth = typer.conversions.rank(Value(a), b) != IMPOSSIBLE
    back = typer.conversions.rank(Value(b), a) != IMPOSSIBLE
    if forth == back:
        return None
    return b if forth else a


def _literal(value: Value) -> str | None:
    if value.type is CHAR_POINTER and value.constant is not None:
        return '"x"'
    if value.type is NULL_POINTER:
        return "nullptr"
    if value.type is NULL_OPTION:
        return "std::nullopt"
    if value.type is INT and value.constant == 0:
        return "0"
    return None
