"""Collect declarations by namespace and class, and resolve type names in them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial

from msgspec import Struct, field

from derivlint.cpp.canonical import MAX_LENGTH, canonical_type
from derivlint.cpp.cpp_type import CppType, cpp_type, template_type
from derivlint.cpp.declarations.declaration import (
    AUTO,
    UNREADABLE,
    ClassDeclaration,
    Declarations,
    Function,
    Parameter,
    unknown_function,
    without_repetitions,
)

#: The maximum length of a chain of aliases.
_MAX_DEPTH = 20
_NAME = re.compile(r"(?<![\w:])[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*(?![\w:])(<?)")


class DeclaredOverload(Struct):
    """A function, with the properties that distinguish overloads."""

    function: Function
    is_constrained: bool = False


class ClassScope(Struct):
    """A class whose body is being read.

    Attributes:
        path: its full name.
        name: its canonical name.
        template: the names of its template parameters.
        inherited: the names imported by using-declarations, with their class.
        is_known: whether all of its members are readable.
    """

    path: str
    name: str
    template: tuple[str, ...]
    bases: tuple[CppType, ...] = ()
    methods: dict[str, list[DeclaredOverload]] = field(default_factory=dict)
    constructors: list[DeclaredOverload] = field(default_factory=list)
    fields: dict[str, CppType] = field(default_factory=dict)
    inherited: list[tuple[CppType, str]] = field(default_factory=list)
    is_known: bool = True

    @property
    def simple_name(self) -> str:
        """The name of its constructors."""
        return self.path.rpartition("::")[2]

    @property
    def own_type(self) -> CppType:
        """The type that the class's name denotes in its body."""
        return template_type(self.name, map(cpp_type, self.template)) if self.template else cpp_type(self.name)


def joined(scope: str, name: str) -> str:
    """The path of a name in a scope."""
    return f"{scope}::{name}" if scope else name


class Collector:
    """Collects declarations, and resolves type names when all are collected."""

    def __init__(self) -> None:
        self.classes: dict[str, ClassScope] = {}
        self._functions: dict[str, dict[str, list[DeclaredOverload]]] = {}
        self._variables: dict[str, dict[str, CppType]] = {}
        self._opaque: dict[str, set[str]] = {}
        self._aliases: dict[str, dict[str, CppType]] = {}
        self._using: dict[str, dict[str, None]] = {}
        self._types: dict[str, CppType] = {}
        self._resolved: dict[tuple[str, tuple[str, ...], CppType], CppType] = {}

    # ---- collecting

    def add_function(self, namespace: str, declared: DeclaredOverload) -> None:
        """Add a function of a namespace or a static method of a class."""
        self._functions.setdefault(namespace, {}).setdefault(declared.function.name, []).append(declared)

    def add_variable(self, namespace: str, name: str, type: CppType) -> None:
        """Add a variable, a constant or an enumerator."""
        self._variables.setdefault(namespace, {})[name] = UNREADABLE if type.unreferenced is AUTO else type

    def add_opaque(self, namespace: str, name: str) -> None:
        """Add a name with an unreadable declaration."""
        self._opaque.setdefault(namespace, set()).add(name)

    def add_using(self, namespace: str, name: str) -> None:
        """Add a using-declaration, or a using-directive, which ends with ``::``."""
        self._using.setdefault(namespace, {})[name] = None
        if not name.endswith("::"):
            type = canonical_type(name)
            if type is not None:
                self.name_type(joined(namespace, name.rpartition("::")[2]), type)

    def add_alias(self, namespace: str, name: str, type: CppType | None) -> None:
        """Add a type alias; None for an unknown type."""
        path = joined(namespace, name)
        self._aliases.setdefault(namespace, {})[name] = type or UNREADABLE
        self.name_type(path, type or UNREADABLE)

    def add_class(self, path: str, template: tuple[str, ...] = ()) -> ClassScope:
        """Add a class; repeated declarations of it share one scope."""
        name = self.add_type(path).text
        class_scope = self.classes.get(name)
        if class_scope is None:
            class_scope = self.classes[name] = ClassScope(path, name, template)
            if template:
                self.name_type(joined(path, class_scope.simple_name), class_scope.own_type)
        return class_scope

    def add_type(self, path: str) -> CppType:
        """Add a class or an enumeration by its path."""
        name = canonical_type(path) or cpp_type(path)
        if name.text != path.rpartition("::")[2]:
            self.name_type(path, name)
        return name

    def name_type(self, path: str, type: CppType) -> None:
        """Record the type that a path denotes."""
        self._types[path] = type

    # ---- names of types

    def resolve(self, type: CppType, scope: str, template: tuple[str, ...], depth: int = 0) -> CppType:
        """Replace the names in a type by the types that they denote in a scope."""
        if not self._types or type is UNREADABLE:
            return type
        key = (scope, template, type)
        resolved = self._resolved.get(key)
        if resolved is None:
            # a cyclic alias stays as it is
            self._resolved[key] = type
            text = _NAME.sub(partial(self._replaced, scope, template, depth), type.text)
            is_readable = UNREADABLE.text not in text and len(text) <= MAX_LENGTH
            resolved = self._resolved[key] = cpp_type(text) if is_readable else UNREADABLE
        return resolved

    def _replaced(self, scope: str, template: tuple[str, ...], depth: int, match: re.Match[str]) -> str:
        text = match[0]
        if match[1]:
            # only the namespace of a template name is resolved
            name = self._replaced_name(scope, template, depth, text[:-1])
            return text if "<" in name or name == UNREADABLE.text else f"{name}<"
        return self._replaced_name(scope, template, depth, text)

    def _replaced_name(self, scope: str, template: tuple[str, ...], depth: int, text: str) -> str:
        if text in template:
            return text
        at = scope
        while True:
            path = joined(at, text)
            type = self._types.get(path)
            if type is not None:
                break
            if not at:
                return text
            at = at.rpartition("::")[0]
        if type.text == text or depth >= _MAX_DEPTH:
            return type.text
        # resolve the spelling in the scope of the alias
        return self.resolve(type, path.rpartition("::")[0], template, depth + 1).text

    # ---- results

    def declarations(self) -> Declarations:
        """All collected declarations."""
        functions: dict[str, dict[str, tuple[Function, ...]]] = {}
        for namespace, names in self._functions.items():
            for name, declared in names.items():
                overloads = self._overloads(declared, namespace, ())
                if overloads is None:
                    self.add_opaque(namespace, name)
                else:
                    functions.setdefault(namespace, {})[name] = overloads
        variables = {
            namespace: {name: self.resolve(type, namespace, ()) for name, type in types.items()}
            for namespace, types in self._variables.items()
        }
        aliases = {
            namespace: {name: self.resolve(type, namespace, ()) for name, type in types.items()}
            for namespace, types in self._aliases.items()
        }
        classes = {name: self._class(scope) for name, scope in self.classes.items()}
        opaque = {namespace: frozenset(names) for namespace, names in self._opaque.items()}
        using = {namespace: tuple(names) for namespace, names in self._using.items()}
        return Declarations(functions, variables, classes, opaque, aliases, using)

    def _overloads(
        self, declared: list[DeclaredOverload], scope: str, template: tuple[str, ...]
    ) -> tuple[Function, ...] | None:
        """The overloads of a name, or None if constraints select among them."""
        if sum(item.is_constrained for item in declared) > 1:
            return None
        return without_repetitions([self._function(item.function, scope, template) for item in declared])

    def _function(self, function: Function, scope: str, template: tuple[str, ...]) -> Function:
        if not self._types:
            return function
        template = (*template, *function.template)
        return Function(
            function.name,
            self.resolve(function.result, scope, template),
            tuple(
                Parameter(self.resolve(item.type, scope, template), item.name, item.has_default)
                for item in function.parameters
            ),
            function.template,
            function.is_static,
            function.variadic,
            function.deprecated,
        )

    def _class(self, scope: ClassScope) -> ClassDeclaration:
        methods: dict[str, tuple[Function, ...]] = {}
        for name, declared in scope.methods.items():
            overloads = self._overloads(declared, scope.path, scope.template)
            methods[name] = overloads if overloads is not None else (unknown_function(name),)
        constructors = self._overloads(scope.constructors, scope.path, scope.template)
        if constructors is None:
            constructors = (Function(scope.simple_name, scope.own_type, (), variadic=True),)
        for base, name in scope.inherited:
            if name == base.text.rpartition("::")[2]:
                # inherited constructors
                constructors = (Function(scope.simple_name, scope.own_type, (), variadic=True),)
            elif name in methods or base not in scope.bases:
                methods[name] = without_repetitions((*methods.get(name, ()), *self._inherited(base, name)))
        bases = [self.resolve(base, scope.path, scope.template) for base in scope.bases]
        return ClassDeclaration(
            scope.name,
            scope.template,
            methods,
            {name: self.resolve(type, scope.path, scope.template) for name, type in scope.fields.items()},
            constructors,
            tuple(dict.fromkeys(bases if scope.is_known else [*bases, UNREADABLE])),
        )

    def _inherited(self, base: CppType, name: str) -> Iterable[Function]:
        """The methods that a using-declaration adds to the class; unknown ones for an unknown base."""
        scope = self.classes.get((canonical_type(base.text) or base).text)
        if scope is None or name not in scope.methods:
            return (unknown_function(name),)
        overloads = self._overloads(scope.methods[name], scope.path, scope.template)
        return overloads if overloads is not None else (unknown_function(name),)
