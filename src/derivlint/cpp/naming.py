"""Types of uncalled names, and checks of template arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from derivlint.cpp.cpp_type import FUNCTION, LVALUE, UNKNOWN, UNKNOWN_VALUE, Value
from derivlint.cpp.expressions.conversion import TEMPLATES
from derivlint.cpp.library import BUILT_IN
from derivlint.cpp.lookup import (
    NOT_FOUND,
    Entity,
    EntityKind,
    in_namespace,
    look_up,
    qualified_entity,
    resolve_namespace,
)
from derivlint.cpp.problem import TypeProblemKind
from derivlint.formula import Name, Number, TypeName
from derivlint.formula.vocabulary import words

if TYPE_CHECKING:
    from derivlint.cpp.expressions.typer import Typer

#: The keywords of built-in types, words that may precede a type, and constants among template arguments.
TYPE_WORDS = BUILT_IN | words(
    "const volatile static constexpr thread_local typename struct class auto signed mutable noexcept true false"
)
#: Casts with the syntax of a template call.
NAMED_CASTS = frozenset({"static_cast", "const_cast", "reinterpret_cast", "dynamic_cast"})
#: The templates whose arguments are types, except for the length of an array.
_OF_TYPES = TEMPLATES | NAMED_CASTS
#: The namespaces that formulas use.
NAMESPACES = ("at", "c10", "std", "torch")


def named_value(typer: Typer, node: Name) -> Value:
    """The value of a name other than a variable: a constant, or an entity that is not an expression."""
    entity = entity_of(typer, node)
    if entity.kind is EntityKind.VARIABLE:
        return Value(entity.type or UNKNOWN, LVALUE)
    if entity.kind is EntityKind.FUNCTION:
        if len(entity.functions.functions) == 1 and not entity.functions.functions[0].template:
            return Value(FUNCTION)
        return typer.report(TypeProblemKind.NOT_CALLED, node, name=node.spelling)
    if entity.kind is EntityKind.TYPE:
        return typer.report(TypeProblemKind.NOT_CALLED, node, name=node.spelling, expected=(entity.type or UNKNOWN,))
    if entity.kind is EntityKind.NOTHING:
        return undeclared(typer, node, entity, TypeProblemKind.UNDECLARED_NAME)
    return UNKNOWN_VALUE


def entity_of(typer: Typer, node: Name) -> Entity:
    """Resolve a name that is neither a variable of the scope nor a keyword."""
    if node.simple is not None:
        return look_up(typer.library, typer.scope, node.simple)
    library = typer.library
    key = (typer.scope.levels, node.spelling)
    entity: Entity | None = library.entities.get(key)
    if entity is None:
        entity = library.entities[key] = qualified_entity(library, typer.scope, node)
    return entity


def undeclared(typer: Typer, node: Name, entity: Entity, kind: TypeProblemKind) -> Value:
    """Report an undeclared name, unless an unknown header may declare it."""
    part = node.parts[-1]
    place = (part.start, part.start + len(part.identifier))
    if entity.missing is not None:
        segment = node.parts[entity.missing]
        place = (segment.start, segment.start + len(segment.identifier))
    if entity.functions.exists:
        return typer.report(TypeProblemKind.NOT_A_TYPE, place, name=node.parts[entity.missing or 0].identifier)
    is_type = kind is TypeProblemKind.NOT_A_TYPE
    if not typer.scope.is_complete and not _is_slip(typer, node, entity, is_type=is_type):
        return UNKNOWN_VALUE
    if node.simple is None:
        name = node.parts[entity.missing if entity.missing is not None else -1].identifier
        own = None if node.leading_colons else typer.library.operators_namespace(entity.owner)
        candidates = typer.library.function_names(own or entity.owner) if entity.owner else NAMESPACES
        if is_type and entity.owner:
            candidates = _types_in(typer, entity.owner)
        alternative = name if look_up(typer.library, typer.scope, name).functions.exists else None
        if node.leading_colons and len(node.parts) > 1 and typer.library.operators_namespace(name) is not None:
            # the functions for operators are in a namespace of the generated code
            alternative = name
        owner = entity.owner or ("::" if node.leading_colons and len(node.parts) == 1 else "")
        facts = {"name": name, "owner": owner, "visible_names": candidates, "alternative": alternative}
        return typer.report(TypeProblemKind.NOT_IN_NAMESPACE, place, **facts)
    if is_type:
        return typer.report(kind, place, name=node.simple, visible_names=visible_types(typer))
    candidates = typer.library.visible_variables(typer.scope.levels)
    return typer.report(kind, place, name=node.simple, visible_names=(*typer.scope.variables, *candidates))


def visible_types(typer: Typer) -> tuple[str, ...]:
    """The types that a formula can name without qualification, for suggestions."""
    names = typer.library.type_names
    return tuple(name for name in names if name in BUILT_IN or _is_type(look_up(typer.library, typer.scope, name)))


def _types_in(typer: Typer, namespace: str) -> tuple[str, ...]:
    names = typer.library.type_names
    return tuple(name for name in names if _is_type(in_namespace(typer.library, namespace, name)))


def _is_type(entity: Entity) -> bool:
    return entity.kind is EntityKind.TYPE


def _is_slip(typer: Typer, node: Name, entity: Entity, *, is_type: bool) -> bool:
    """Whether an undeclared name is certainly a typo of a declared one."""
    part = node.parts[entity.missing if entity.missing is not None else -1]
    if is_type and typer.library.resembles_type(part.identifier):
        return True
    if entity.owner == "torch" and _is_type(in_namespace(typer.library, "at", part.identifier)):
        # torch/types.h, which projects include, makes the types of "at" visible there
        return False
    if len(node.parts) == 1 and typer.library.names.has("std", part.identifier):
        # "tuple<Tensor>()" without its namespace
        return True
    if node.simple is not None:
        return is_variable_of_generated_code(node.simple) or typer.library.resembles_variable(node.simple)
    if entity.owner and typer.library.has_headers:
        owner = resolve_namespace(typer.library, typer.scope, entity.owner, leading=node.leading_colons)
        is_own = owner is not None and typer.library.operators_namespace(entity.owner) == owner
        if owner is not None and not is_own and typer.library.knows_all_of(owner):
            return True
    if not entity.owner:
        return typer.library.resembles_namespace(part.identifier)
    return (
        typer.library.resembles_function(part.identifier)
        or look_up(typer.library, typer.scope, part.identifier).functions.exists
    )


def is_variable_of_generated_code(name: str) -> bool:
    """Whether a name is declared only in PyTorch's generator."""
    return name.endswith(("_t_raw", "_t", "_p"))


def check_template_arguments(typer: Typer, arguments: Sequence[Number | TypeName], template: str = "") -> bool:
    """Whether the types among template arguments exist; reports the first that does not.

    Args:
        typer: the context.
        arguments: the template arguments.
        template: the name of the template.
    """
    for index, argument in enumerate(arguments):
        # of other templates the arguments may be constants
        is_type = template in _OF_TYPES and (index == 0 or template != "array")
        if isinstance(argument, TypeName) and not check_type(typer, argument.names, is_type=is_type):
            return False
    return True


def check_type(typer: Typer, names: Sequence[Name], *, is_type: bool = True) -> bool:
    """Whether the names of a type exist and none is a variable, nor a constant or function where it must be a type."""
    for name in names:
        if name.simple in TYPE_WORDS:
            continue
        is_variable = name.simple is not None and typer.variable(name.simple) is not None
        entity = NOT_FOUND if is_variable else entity_of(typer, name)
        is_value = entity.kind in (EntityKind.FUNCTION, EntityKind.VARIABLE)
        if is_variable or (is_type and is_value and typer.library.type_named(name.spelling) is None):
            typer.report(TypeProblemKind.NOT_A_TYPE, name, name=name.spelling)
            return False
        if entity.kind is EntityKind.NOTHING:
            undeclared(typer, name, entity, TypeProblemKind.NOT_A_TYPE)
            return False
        if not check_name(typer, name):
            return False
    return True


def check_name(typer: Typer, name: Name) -> bool:
    """Whether the types among the template arguments of a name exist; reports the first that does not."""
    if name.simple is not None:
        return True
    return all(check_template_arguments(typer, part.template_args or (), part.identifier) for part in name.parts)
