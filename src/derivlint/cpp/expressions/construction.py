"""Construction of objects: ``T{...}``, ``T(...)`` and ``(T) x``, checked against the constructors of ``T``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from derivlint.cpp.cpp_type import BRACES, LVALUE, TEMPORARY, UNKNOWN_VALUE, CppType, Value
from derivlint.cpp.expressions.conversion import ARITHMETIC, IMPOSSIBLE, element_of
from derivlint.cpp.expressions.overloads import ResolutionOutcome, resolve
from derivlint.cpp.library import opaque
from derivlint.cpp.lookup import EntityKind
from derivlint.cpp.naming import check_type, entity_of
from derivlint.cpp.problem import TypeProblemKind

if TYPE_CHECKING:
    from derivlint.cpp.expressions.typer import Typer
    from derivlint.formula import Cast, Construct, Expr


def construct_value(typer: Typer, node: Construct) -> Value:
    """The value of ``T{...}``."""
    braces = typer.of(node.braces)
    if not check_type(typer, (node.type,)):
        return UNKNOWN_VALUE
    entity = entity_of(typer, node.type)
    if entity.kind is EntityKind.TYPE and entity.type is not None:
        if typer.conversions.rank(braces, entity.type) == IMPOSSIBLE and not _has_constructor(
            typer, entity.type, braces.items or ()
        ):
            facts: dict[str, Any] = {
                "name": entity.type.text,
                "actual": tuple(item.type for item in braces.items or ()),
            }
            return typer.report(TypeProblemKind.CONSTRUCTION, node, **facts)
        return Value(entity.type)
    return UNKNOWN_VALUE


def cast_value(typer: Typer, node: Cast) -> Value:
    """The value of ``(T) x``."""
    value = typer.operand(node.operand)
    type = typer.library.type_named(node.type.spelling)
    if not check_type(typer, node.type.names) or type is None:
        return UNKNOWN_VALUE
    return construct(typer, node, type, [value])


def construct(typer: Typer, node: Expr, type: CppType, arguments: Sequence[Value]) -> Value:
    """The value of ``T(...)``, checked if the constructors of ``T`` are known."""
    referred = type.unreferenced
    made = Value(referred, LVALUE if type.referred is not None else TEMPORARY)
    if not arguments or any(argument.is_unknown for argument in arguments):
        return made
    if len(arguments) == 1:
        if _converts_explicitly(typer, arguments[0], referred):
            return made
        return typer.report(TypeProblemKind.CONSTRUCTION, node, name=referred.text, actual=(arguments[0].type,))
    if not _has_constructor(typer, referred, arguments):
        facts: dict[str, Any] = {"name": referred.text, "actual": tuple(argument.type for argument in arguments)}
        return typer.report(TypeProblemKind.CONSTRUCTION, node, **facts)
    return made


def _converts_explicitly(typer: Typer, value: Value, type: CppType) -> bool:
    conversions = typer.conversions
    if conversions.rank(value, type) != IMPOSSIBLE:
        return True
    relations = conversions.relations
    if value.type is not BRACES and relations.knows(value.type) and relations.knows(type):
        if relations.explicit(value.type, type):
            return True
        return value.constant is not None and relations.explicit(value.type, type)
    if not conversions.knows(type) or (value.type is not BRACES and not conversions.knows(value.type)):
        return True
    if value.type is BRACES and element_of(type) is not None:
        return False
    return _has_constructor(typer, type, [value])


def _has_constructor(typer: Typer, type: CppType, arguments: Sequence[Value]) -> bool:
    """Whether a constructor may accept these arguments; True if constructors are unknown."""
    conversions = typer.conversions
    head, elements = type.head, type.arguments
    if type in ARITHMETIC:
        return False
    if head in ("tuple", "pair"):
        return len(arguments) == len(elements) and all(
            conversions.rank(argument, element) != IMPOSSIBLE
            for argument, element in zip(arguments, elements, strict=True)
        )
    members = typer.library.members(type)
    if members is None or not members.constructors or any(map(opaque, members.constructors)):
        return True
    return resolve(conversions, members.constructors, arguments).outcome in (
        ResolutionOutcome.CHOSEN,
        ResolutionOutcome.UNSURE,
        ResolutionOutcome.AMBIGUOUS,
    )
