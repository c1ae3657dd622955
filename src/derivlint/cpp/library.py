"""All functions, methods, types and constants that formulas can name.

Operators come from their schemas, helpers from headers, other C++ from bundled stub files. A name without a readable
declaration is unknown: it accepts any arguments.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from derivlint.cpp.canonical import OTHER_NAMES, canonical_type
from derivlint.cpp.cpp_type import TENSOR, CppType, substitute
from derivlint.cpp.declarations.declaration import (
    AUTO,
    Declarations,
    Function,
    Parameter,
    declarations_from_json,
)
from derivlint.cpp.expressions.conversion import ARITHMETIC, TEMPLATES, Conversions
from derivlint.cpp.known_names import KnownNames, load_names
from derivlint.cpp.operator_signatures import OperatorSignatures
from derivlint.cpp.relations import Relations, load_relations
from derivlint.schema import NativeFunctions
from derivlint.source.lazy import Bounded, cached_property

#: The minimum length of names to suggest; shorter ones have too many neighbours.
SHORTEST = 4
#: The maximum length of names to suggest; longer ones have too many shortened forms. PyTorch's longest have 60.
LONGEST = 200
_DATA = Path(__file__).parent / "data"


class Neighbours:
    """An index of known names that finds names one typo away.

    Names are indexed by their forms with one letter removed: two words one typo apart share such a form.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)

    @cached_property
    def _by_form(self) -> dict[str, list[str]]:
        """The names by shortened form; computed for the first unknown name, since most files have none."""
        forms: dict[str, list[str]] = {}
        for name in sorted(self.names):
            if SHORTEST <= len(name) <= LONGEST:
                for form in {name, *_shortened(name)}:
                    forms.setdefault(form, []).append(name)
        return forms

    def nearest(self, name: str) -> str | None:
        """The known name one typo away from an unknown one, or None."""
        if name in self.names or not SHORTEST <= len(name) <= LONGEST:
            return None
        for form in (name, *_shortened(name)):
            for candidate in self._by_form.get(form, ()):
                if is_one_slip(name, candidate):
                    return candidate
        return None


def _shortened(name: str) -> list[str]:
    return [name[:index] + name[index + 1 :] for index in range(len(name))]


def is_one_slip(a: str, b: str) -> bool:
    """Whether two words differ by one inserted, dropped or replaced letter, or by swapped adjacent letters."""
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    rest, other_rest = a[start:], b[start:]
    if len(rest) == len(other_rest):
        return rest[1:] == other_rest[1:] or (rest[:2] == other_rest[:2][::-1] and rest[2:] == other_rest[2:])
    return rest[1:] == other_rest if len(rest) == len(other_rest) + 1 else rest == other_rest[1:]


GENERATED = "torch::autograd::generated"
HELPERS = f"{GENERATED}::details"
ATEN = "at"
#: The namespaces that each namespace includes, by using-directives or using-declarations.
INCLUDED = {
    "at": ("c10",),
    GENERATED: ("torch::autograd",),
    "torch::autograd": ("torch",),
}


class FoundCallee(NamedTuple):
    """The overload set of a callee.

    Attributes:
        functions: the overloads.
        complete: whether these are all overloads; otherwise any arguments are accepted.
    """

    functions: tuple[Function, ...]
    complete: bool = True

    @property
    def exists(self) -> bool:
        """Whether an entity with the name exists."""
        return bool(self.functions) or not self.complete


NOTHING = FoundCallee(())
SOMETHING = FoundCallee((), False)


def instantiated(function: Function, bindings: dict[str, CppType]) -> Function:
    """Replace the template parameters in a function's types."""
    return Function(
        function.name,
        substitute(function.result, bindings),
        tuple(Parameter(substitute(p.type, bindings), p.name, p.has_default) for p in function.parameters),
        template=tuple(name for name in function.template if name not in bindings),
        is_static=function.is_static,
        variadic=function.variadic,
        deprecated=function.deprecated,
    )


def opaque(function: Function) -> bool:
    """Whether only the name of a function is known."""
    return function.variadic and function.result is AUTO


def without_doubles(functions: Iterable[Function]) -> tuple[Function, ...]:
    """Remove redeclared overloads, whose parameter names may differ."""
    by_types: dict[tuple[object, ...], Function] = {}
    for function in functions:
        key = (function.variadic, *(parameter.type for parameter in function.parameters))
        by_types.setdefault(key, function)
    return tuple(by_types.values())


def found(functions: Iterable[Function]) -> FoundCallee:
    """An overload set, incomplete if one of the functions is opaque."""
    overloads = tuple(functions)
    return FoundCallee(overloads, not any(map(opaque, overloads)))


class ClassMembers(Struct, frozen=True):
    """The members of a class and its bases.

    Attributes:
        methods: the methods by name.
        fields: the types of its data by name.
        constructors: the constructors.
        complete: whether all members are known.
    """

    methods: dict[str, FoundCallee]
    fields: dict[str, CppType]
    constructors: tuple[Function, ...]
    complete: bool = True


NO_MEMBERS = ClassMembers({}, {}, ())


class Library:
    """The declarations that formulas can name, for the operators of one PyTorch and its headers.

    Attributes:
        has_headers: whether the headers of the operators' PyTorch are known; otherwise they may declare unknown
            functions.
        included: the namespaces whose names each namespace makes visible, by ``using`` or inline.
    """

    def __init__(
        self,
        operators: OperatorSignatures,
        stubs: Declarations,
        headers: Declarations | None,
        names: KnownNames,
        relations: Relations,
    ) -> None:
        self.operators = operators
        self._headers = headers if headers is not None else Declarations()
        self.declarations = stubs if headers is None else stubs.merged(headers)
        self.names = names
        self.conversions = Conversions(relations)
        self._heads = frozenset(type.head for type in relations.types) | TEMPLATES
        self.has_headers = headers is not None
        self._operators_in = {f"{GENERATED}::{name}": functions for name, functions in operators.by_namespace.items()}
        self.included = {**INCLUDED, **{place: (place.removeprefix(f"{GENERATED}::"),) for place in self._operators_in}}
        self.entities: dict[tuple[object, str], Any] = Bounded()
        self._associated: dict[tuple[FoundCallee, str, frozenset[str]], FoundCallee] = Bounded()
        self._qualified: dict[tuple[str, str], FoundCallee] = Bounded()
        self._methods: dict[tuple[CppType, str], FoundCallee | None] = Bounded()
        self._method_names: dict[CppType, tuple[str, ...]] = Bounded()
        self._visible: dict[tuple[tuple[str, ...], ...], tuple[str, ...]] = Bounded()
        self._members: dict[CppType, ClassMembers | None] = Bounded()

    # ---- functions

    def functions(self, namespace: str, name: str) -> FoundCallee:
        """The functions with a name in a namespace, without included namespaces."""
        key = (namespace, name)
        result = self._qualified.get(key)
        if result is None:
            result = self._qualified[key] = self._functions(namespace, name)
        return result

    def _functions(self, namespace: str, name: str) -> FoundCallee:
        declared = self.declarations.functions.get(namespace, {}).get(name, ())
        if namespace == ATEN:
            declared = without_doubles((*self.operators.functions(name), *declared))
        declared = self._operators_in.get(namespace, {}).get(name) or declared
        if declared:
            return found(declared)
        if name in self.declarations.opaque.get(namespace, ()):
            return SOMETHING
        return NOTHING

    def with_associated(self, bare: FoundCallee, name: str, namespaces: frozenset[str]) -> FoundCallee:
        """Add the functions of associated namespaces to the result of unqualified lookup."""
        key = (bare, name, namespaces)
        result = self._associated.get(key)
        if result is not None:
            return result
        functions = list(bare.functions)
        complete = bare.complete
        for namespace in sorted(namespaces):
            more = self.functions(namespace, name)
            complete = complete and more.complete and (more.exists or not self.may_be_function(namespace, name))
            functions.extend(function for function in more.functions if function not in functions)
        result = self._associated[key] = FoundCallee(tuple(functions), complete)
        return result

    def may_be_function(self, namespace: str, name: str) -> bool:
        """Whether a name in a namespace has no declaration and is not a type."""
        return self.names.has(namespace, name) and self.type_named(f"{namespace}::{name}") is None

    def helpers_elsewhere(self, name: str) -> FoundCallee:
        """The functions with a name that headers declare, in any namespace."""
        namespaces = [namespace for namespace, names in self._headers.functions.items() if name in names]
        return found(function for namespace in namespaces for function in self._headers.functions[namespace][name])

    def constant_elsewhere(self, name: str) -> CppType | None:
        """The type of a variable or constant that headers declare, in any namespace but a class's."""
        namespaces = self._headers.variables.items()
        return next(
            (names[name] for path, names in namespaces if name in names and self.type_named(path) is None), None
        )

    def variable(self, namespace: str, name: str) -> CppType | None:
        """The type of a variable or constant of a namespace."""
        return self.declarations.variables.get(namespace, {}).get(name)

    def namespaces_of_class(self, name: str, *, of_headers: bool) -> tuple[str, ...]:
        """The full paths of the classes with a name, for their static members; optionally those of headers only."""
        declarations = self._headers if of_headers else self.declarations
        paths = (*declarations.functions, *declarations.variables)
        return tuple(path for path in paths if path.rpartition("::")[2] == name)

    def knows_all_of(self, namespace: str) -> bool:
        """Whether every name in a namespace is known."""
        if self.names.lists(namespace) or namespace in self._operators_in:
            return True
        return any(namespace in names for names in (self.declarations.variables, self.declarations.functions))

    def operators_namespace(self, path: str) -> str | None:
        """The namespace of emitted functions for operators outside PyTorch's namespace, or None.

        It is nested in the namespace of the nodes, and shadows one of the author's with the same name.
        """
        place = f"{GENERATED}::{path}"
        return place if place in self._operators_in else None

    def seen_as(self, level: tuple[str, ...]) -> tuple[str, ...]:
        """The namespaces of one lookup level, including operator namespaces that emitted code makes visible."""
        return (*level, *self._operators_in) if GENERATED in level else level

    def is_namespace(self, path: str) -> bool:
        """Whether a namespace or a class with a name exists."""
        return path in self._namespaces

    @cached_property
    def _namespaces(self) -> frozenset[str]:
        return self.names.namespaces | self.declarations.functions.keys() | self.declarations.variables.keys()

    @cached_property
    def _callable(self) -> Neighbours:
        helpers = self.declarations.functions.get(HELPERS, {})
        own_names = (name for functions in self._operators_in.values() for name in functions)
        return Neighbours(
            {*helpers, *own_names, *self.operators.function_names, *self.declarations.functions.get("", ())}
        )

    def resembles_function(self, name: str) -> bool:
        """Whether a name is one typo away from a function."""
        return self._callable.nearest(name) is not None

    def resembles_variable(self, name: str) -> bool:
        """Whether a name is one typo away from a constant."""
        return any(is_one_slip(name, variable) for names in self.declarations.variables.values() for variable in names)

    def visible_variables(self, levels: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
        """The constants visible to unqualified lookup, for suggestions."""
        namespaces = {namespace for level in levels for namespace in level}
        return tuple(sorted({name for owner in namespaces for name in self.declarations.variables.get(owner, ())}))

    def resembles_namespace(self, name: str) -> bool:
        """Whether a name is one typo away from a namespace, or is one elsewhere."""
        inner = {path.rpartition("::")[2] for path in self._namespaces}
        return (
            name == "aten"
            or name in inner
            or any(is_one_slip(name, namespace) for namespace in ("at", "c10", "std", "torch"))
        )

    # ---- types

    @cached_property
    def type_names(self) -> tuple[str, ...]:
        """The names of types, without their namespaces."""
        heads = {name.rpartition("::")[2] for name in (*self._heads, *self.declarations.classes, *OTHER_NAMES)}
        return tuple(sorted(name for name in BUILT_IN | heads if name.isidentifier()))

    def resembles_type(self, name: str) -> bool:
        """Whether a name is one typo away from a type, but is not one with a letter before or after it."""
        return any(
            is_one_slip(name, type) and name.lower() != type.lower() and type not in (name[1:], name[:-1])
            for type in self.type_names
            if len(type) > SHORTEST
        )

    def type_named(self, spelling: str) -> CppType | None:
        """The canonical type for a spelling, or None if it is unknown."""
        canonical = canonical_type(spelling)
        if canonical is None:
            return None
        return canonical if self.is_type(canonical) else None

    def is_type_path(self, path: str) -> bool:
        """Whether a qualified name without template arguments denotes a type."""
        namespace, _, name = path.rpartition("::")
        return self.names.has(namespace, name) and self.type_named(path) is not None

    def is_type(self, canonical: CppType) -> bool:
        """Whether a canonical name denotes a type."""
        head = canonical.innermost.head
        return head in BUILT_IN or head in self._heads or head in self.declarations.classes

    # ---- members

    def members(self, type: CppType) -> ClassMembers | None:
        """The members of a class, or None if they are unknown."""
        if type not in self._members:
            self._members[type] = self._members_of(type)
        return self._members[type]

    def _members_of(self, type: CppType) -> ClassMembers | None:
        declaration = self.declarations.classes.get(type.head)
        if declaration is None:
            return NO_MEMBERS if type in ARITHMETIC or type.pointee is not None else None
        bindings = dict(zip(declaration.template, type.arguments, strict=False))
        methods: dict[str, FoundCallee] = {}
        fields: dict[str, CppType] = {}
        complete = True
        for base in declaration.bases:
            inherited = self.members(substitute(base, bindings))
            if inherited is None:
                complete = False
            else:
                methods.update(inherited.methods)
                fields.update(inherited.fields)
                complete = complete and inherited.complete
        for name, functions in declaration.methods.items():
            methods[name] = found([instantiated(item, bindings) for item in functions] if bindings else functions)
        fields.update({name: substitute(kind, bindings) for name, kind in declaration.fields.items()})
        constructors = tuple(instantiated(constructor, bindings) for constructor in declaration.constructors)
        return ClassMembers(methods, fields, constructors, complete)

    def methods(self, type: CppType, name: str) -> FoundCallee | None:
        """The methods with a name, or None if the members are not completely known."""
        key = (type, name)
        if key not in self._methods:
            self._methods[key] = self._methods_of(type, name)
        return self._methods[key]

    def _methods_of(self, type: CppType, name: str) -> FoundCallee | None:
        members = self.members(type)
        if members is None:
            return None
        own = members.methods.get(name, NOTHING)
        if type is TENSOR:
            generated = self.operators.methods(name)
            own = FoundCallee(without_doubles((*generated, *own.functions)), own.complete) if generated else own
        return own if own.exists or members.complete else None

    def method_names(self, type: CppType) -> tuple[str, ...]:
        """The methods of a class, for suggestions."""
        method_names = self._method_names.get(type)
        if method_names is None:
            members = self.members(type)
            names = set(members.methods) if members is not None else set()
            if type is TENSOR:
                names.update(self.operators.method_names)
            method_names = self._method_names[type] = tuple(sorted(names))
        return method_names

    def visible_functions(self, levels: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
        """The functions visible to unqualified lookup, for suggestions; includes operators."""
        visible = self._visible.get(levels)
        if visible is None:
            namespaces = {"at", *(namespace for level in levels for namespace in self.seen_as(level))}
            names = {name for namespace in namespaces for name in self.function_names(namespace)}
            visible = self._visible[levels] = tuple(sorted(names))
        return visible

    def function_names(self, namespace: str) -> tuple[str, ...]:
        """The functions of a namespace, for suggestions."""
        names = set(self.declarations.functions.get(namespace, ()))
        names.update(self._operators_in.get(namespace, ()))
        if namespace == ATEN:
            names.update(self.operators.function_names)
        return tuple(sorted(names))


BUILT_IN = frozenset(
    [
        "void",
        "bool",
        "char",
        "int",
        "int64_t",
        "size_t",
        "uint8_t",
        "float",
        "double",
        "const",
        "unsigned",
        "short",
        "long",
        "uint16_t",
        "int32_t",
        "uint32_t",
        "int8_t",
        "int16_t",
        "uint64_t",
    ]
)


@lru_cache(maxsize=8)
def library_of(natives: NativeFunctions, has_headers: bool = True) -> Library:
    """Load the library for these operators: bundled stubs, and the operators' headers.

    Args:
        natives: the operators.
        has_headers: whether those headers count; helpers change from release to release.
    """
    written = natives.declarations if has_headers else None
    headers = declarations_from_json(written) if written is not None else None
    names = load_names()
    if headers is not None and natives.has_manual:
        # the bundled helpers are those of one release, which may differ from the headers
        declared = (headers.functions, headers.variables, headers.opaque, headers.aliases)
        own = {name for parts in declared for name in parts.get(HELPERS, ())}
        names = names.with_names(HELPERS, {*own, *headers.classes})
    return Library(OperatorSignatures(natives), load_stubs(), headers, names, load_relations())


def render_library(declarations: Declarations) -> bytes:
    """Render the declarations as shipped, one kind a line."""
    content: dict[str, Any] = declarations.to_json()
    lines = [f"{json.dumps(kind)}:{json.dumps(value, separators=(',', ':'))}" for kind, value in content.items()]
    return ("{" + ",\n".join(lines) + "}\n").encode("ascii")


@cache
def load_stubs() -> Declarations:
    """The declarations of the newest release."""
    path = max(_DATA.glob("library-*.json"), key=lambda path: tuple(map(int, path.stem.partition("-")[2].split("."))))
    return declarations_from_json(json.loads(path.read_bytes()))
