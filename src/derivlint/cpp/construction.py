"""Objects that are made on the spot, ``T{...}``, ``T(...)`` and ``(T) x``, checked against what makes a ``T``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from derivlint.cpp.conversion import ARITHMETIC, IMPOSSIBLE, element_of, template_of
from derivlint.cpp.declaration import Function
from derivlint.cpp.library import opaque
from derivlint.cpp.lookup import Kind
from derivlint.cpp.naming import check_template_arguments, meaning_of, undeclared
from derivlint.cpp.overloads import Outcome, resolve
from derivlint.cpp.problem import TypeProblemKind
from derivlint.cpp.value import BRACES, LVALUE, TEMPORARY, UNKNOWN_VALUE, Value

if TYPE_CHECKING:
    from derivlint.cpp.inference import Inference
    from derivlint.formula import Cast, Construct, Expr


def construct_value(typer: Inference, node: Construct) -> Value:
    """The value of ``T{...}``."""
    braces = typer.value_of(node.braces)
    meaning = meaning_of(typer, node.type)
    if meaning.kind is Kind.TYPE and meaning.type is not None:
        if typer.conversions.rank(braces, meaning.type) == IMPOSSIBLE and not _has_constructor(
            typer, meaning.type, braces.items or ()
        ):
            facts = {"name": meaning.type, "given": tuple(item.type for item in braces.items or ())}
            return typer.report(TypeProblemKind.CONSTRUCTION, node, **facts)
        return Value(meaning.type)
    if not check_template_arguments(typer, node.type):
        return UNKNOWN_VALUE
    if meaning.kind is Kind.NOTHING:
        return undeclared(typer, node.type, meaning, TypeProblemKind.NOT_A_TYPE)
    if meaning.kind in (Kind.FUNCTION, Kind.VARIABLE):
        return typer.report(TypeProblemKind.NOT_A_TYPE, node.type, name=node.type.spelling)
    return UNKNOWN_VALUE


def cast_value(typer: Inference, node: Cast) -> Value:
    """The value of ``(T) x``."""
    value = typer.operand(node.operand)
    type = typer.library.type_named(node.type.spelling)
    if type is None:
        return UNKNOWN_VALUE
    return construct(typer, node, type, [value])


def construct(typer: Inference, node: Expr, type: str, arguments: Sequence[Value]) -> Value:
    """The value of ``T(...)``, checked as far as the constructors of ``T`` are known."""
    referred = type.rstrip("&")
    made = Value(referred, LVALUE if type.endswith("&") else TEMPORARY)
    if not arguments or any(argument.is_unknown for argument in arguments):
        return made
    if len(arguments) == 1:
        if _converts_explicitly(typer, arguments[0], referred):
            return made
        return typer.report(TypeProblemKind.CONSTRUCTION, node, name=referred, given=(arguments[0].type,))
    if not _has_constructor(typer, referred, arguments):
        facts = {"name": referred, "given": tuple(argument.type for argument in arguments)}
        return typer.report(TypeProblemKind.CONSTRUCTION, node, **facts)
    return made


def _converts_explicitly(typer: Inference, value: Value, type: str) -> bool:
    conversions = typer.conversions
    if conversions.rank(value, type) != IMPOSSIBLE:
        return True
    relations = conversions.relations
    if value.type != BRACES and relations.knows(value.type) and relations.knows(type):
        if relations.explicit(value.type, type):
            return True
        return value.constant is not None and relations.explicit(value.type, type)
    if not conversions.knows(type) or (value.type != BRACES and not conversions.knows(value.type)):
        return True
    if value.type == BRACES and element_of(type) is not None:
        return False
    return _has_constructor(typer, type, [value])


def _has_constructor(typer: Inference, type: str, arguments: Sequence[Value]) -> bool:
    """Whether a constructor may take these arguments; True where the constructors are not known."""
    conversions = typer.conversions
    head, elements = template_of(type)
    if type in ARITHMETIC:
        return False
    if head in ("tuple", "pair"):
        return len(arguments) == len(elements) and all(
            conversions.rank(argument, element) != IMPOSSIBLE
            for argument, element in zip(arguments, elements, strict=True)
        )
    members = typer.library.members(type)
    if members is None or not members.constructors:
        return True
    return _takes_any(typer, members.constructors, arguments)


def _takes_any(typer: Inference, constructors: Sequence[Function], arguments: Sequence[Value]) -> bool:
    if any(map(opaque, constructors)):
        return True
    return resolve(typer.conversions, constructors, arguments).outcome in (
        Outcome.CHOSEN,
        Outcome.UNSURE,
        Outcome.AMBIGUOUS,
    )
