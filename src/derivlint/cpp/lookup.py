"""Unqualified and qualified name lookup; follows [basic.lookup] of the C++ standard."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct

from derivlint.cpp.cpp_type import CppType
from derivlint.cpp.library import NOTHING, FoundCallee, Library

if TYPE_CHECKING:
    from derivlint.cpp.scope import Scope
    from derivlint.formula import Name


#: The maximum nesting of namespaces.
MAX_NESTING = 20


class EntityKind(Enum):
    """The kinds of entities that names refer to."""

    FUNCTION = "function"
    VARIABLE = "variable"
    TYPE = "type"
    #: exists, but its declaration is unknown
    UNKNOWN = "unknown"
    #: denotes different entities in namespaces of one lookup level
    AMBIGUOUS = "ambiguous"
    NOTHING = "nothing"


class Entity(Struct, frozen=True):
    """The entity that a name refers to.

    Attributes:
        kind: the kind of entity.
        functions: the overloads of a function.
        type: the type of the variable or constant, or the named type.
        owner: the namespace or class that was searched, as written.
        missing: the index of the missing segment of a qualified name, None for the last; of a function with a segment
            after it if there are functions.
    """

    kind: EntityKind
    functions: FoundCallee = NOTHING
    type: CppType | None = None
    owner: str = ""
    missing: int | None = None


#: Types that are keywords.
KEYWORD_TYPES = frozenset({"bool", "char", "double", "float", "int", "long", "short", "unsigned", "void"})

#: The types that the generated Functions.cpp imports into the global namespace.
GLOBAL_TYPES = frozenset({"Tensor", "Scalar", "IntArrayRef", "TensorList"})

NOT_FOUND = Entity(EntityKind.NOTHING)
EXISTS = Entity(EntityKind.UNKNOWN)


def look_up(library: Library, scope: Scope, name: str) -> Entity:
    """Look up an unqualified name, except among the variables of the scope."""
    key = (scope.levels, name)
    entity = library.entities.get(key)
    if entity is None:
        entity = library.entities[key] = _look_up(library, scope, name)
    return entity


def _look_up(library: Library, scope: Scope, name: str) -> Entity:
    if name in KEYWORD_TYPES:
        return Entity(EntityKind.TYPE, type=library.type_named(name))
    for level in scope.levels:
        entity = _in_namespaces(library, library.seen_as(level), name)
        if entity.kind is not EntityKind.NOTHING:
            return entity
    # helpers and constants of other projects are in namespaces that their generated files import
    helpers = library.helpers_elsewhere(name)
    if helpers.exists:
        return Entity(EntityKind.FUNCTION, helpers)
    type = library.constant_elsewhere(name)
    return NOT_FOUND if type is None else Entity(EntityKind.VARIABLE, type=type)


def _in_namespaces(library: Library, namespaces: tuple[str, ...], name: str) -> Entity:
    """Look up a name in the namespaces of one lookup level."""
    functions: list[FoundCallee] = []
    exists = False
    named: CppType | None = None
    for namespace in namespaces:
        if not namespace and name in GLOBAL_TYPES:
            return Entity(EntityKind.TYPE, type=library.type_named(name))
        overload_set = library.functions(namespace, name)
        if overload_set.exists:
            functions.append(overload_set)
            continue
        type = library.variable(namespace, name)
        if type is not None:
            return Entity(EntityKind.VARIABLE, type=type)
        if library.names.has(namespace, name):
            type = library.type_named(f"{namespace}::{name}" if namespace else name)
            if type is not None:
                if len(namespaces) == 1:
                    return Entity(EntityKind.TYPE, type=type)
                named = type
            exists = True
    if functions and named is not None:
        return Entity(EntityKind.AMBIGUOUS)
    if functions:
        overloads = tuple(dict.fromkeys(function for overload_set in functions for function in overload_set.functions))
        complete = not exists and all(overload_set.complete for overload_set in functions)
        return Entity(EntityKind.FUNCTION, FoundCallee(overloads, complete))
    if named is not None:
        return Entity(EntityKind.TYPE, type=named)
    return EXISTS if exists else NOT_FOUND


def qualified_entity(library: Library, scope: Scope, node: Name) -> Entity:
    """Look up a qualified name, or an unqualified one with template arguments."""
    parts = node.parts
    type = library.type_named(node.spelling)
    if len(parts) == 1:
        return _template_named(library, scope, node, type)
    path = "::".join(part.identifier for part in parts[:-1])
    name = parts[-1].identifier
    owner = resolve_namespace(library, scope, path, leading=node.leading_colons)
    if owner is None:
        return _unknown_namespace(library, scope, node)
    entity = in_namespace(library, owner, name)
    if entity.kind is EntityKind.NOTHING:
        return Entity(EntityKind.NOTHING, owner=path) if library.knows_all_of(owner) else EXISTS
    if entity.kind in (EntityKind.UNKNOWN, EntityKind.TYPE) and type is not None:
        return Entity(EntityKind.TYPE, type=type)
    return entity


def _template_named(library: Library, scope: Scope, node: Name, type: CppType | None) -> Entity:
    name = node.parts[0].identifier
    if node.leading_colons:
        # the using-directives of the file are in the global namespace
        return _in_namespaces(library, scope.levels[-1], name)
    entity = look_up(library, scope, name)
    if entity.kind in (EntityKind.UNKNOWN, EntityKind.TYPE) and type is not None:
        return Entity(EntityKind.TYPE, type=type)
    return entity


def in_namespace(library: Library, namespace: str, name: str) -> Entity:
    """Look up a name in a namespace and the namespaces that it includes."""
    entity = _in_namespaces(library, (namespace,), name)
    if entity.kind is EntityKind.NOTHING:
        for included in library.included.get(namespace, ()):
            entity = _in_namespaces(library, (included,), name)
            if entity.kind is not EntityKind.NOTHING:
                break
    return entity


def resolve_namespace(library: Library, scope: Scope, path: str, *, leading: bool) -> str | None:
    """Resolve a namespace relative to the scope of the expression, or return None."""
    if leading:
        return path if library.is_namespace(path) else None
    if (operators := library.operators_namespace(path)) is not None:
        return operators
    for level in scope.levels:
        for namespace in level:
            full = f"{namespace}::{path}" if namespace else path
            if library.is_namespace(full):
                return full
    if library.is_namespace(path):
        return path
    outer, _, rest = path.partition("::")
    # "at" includes "c10"; a class is found by its name
    included = [f"{namespace}::{rest}" for namespace in library.included.get(outer, ()) if rest]
    visible = any(library.names.has(namespace, path) for level in scope.levels for namespace in level)
    # those of headers are visible as their functions are
    classes = library.namespaces_of_class(path, of_headers=not visible)
    return next((full for full in (*included, *classes) if library.is_namespace(full)), None)


def _unknown_namespace(library: Library, scope: Scope, node: Name) -> Entity:
    """The entity for an unresolved path, which may contain a class with unchecked static members."""
    for count in range(min(len(node.parts) - 1, MAX_NESTING), 0, -1):
        prefix = "::".join(part.identifier for part in node.parts[:count])
        if library.is_type_path(prefix):
            return EXISTS
        if resolve_namespace(library, scope, prefix, leading=node.leading_colons) is not None:
            name = node.parts[count].identifier
            functions = in_namespace(library, prefix, name).functions
            if functions.exists and library.type_named(f"{prefix}::{name}") is None:
                return Entity(EntityKind.NOTHING, functions, missing=count)
            if library.names.has(prefix, name):
                return EXISTS
            return Entity(EntityKind.NOTHING, owner=prefix, missing=count)
    return Entity(EntityKind.NOTHING, owner="", missing=0)
