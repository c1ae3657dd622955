"""Assign parsed declarations to their namespace or class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from derivlint.cpp.canonical import canonical_type
from derivlint.cpp.cpp_type import INT
from derivlint.cpp.declarations.declaration import AUTO, UNREADABLE, Function, unknown_function
from derivlint.cpp.declarations.declaration_marks import Marked
from derivlint.cpp.declarations.declaration_scopes import ClassScope, Collector, DeclaredOverload, joined
from derivlint.cpp.declarations.declaration_syntax import (
    TEMPLATE_ID,
    Alias,
    ClassHead,
    Enumeration,
    Forward,
    FunctionSyntax,
    NamespaceHead,
    Syntax,
    Using,
    Variables,
)
from derivlint.formula.vocabulary import Token


class DeclarationScope(Struct):
    """A namespace or class whose body is being read.

    Attributes:
        path: its full name.
        owner: the class; None for a namespace.
        is_public: whether members declared next are public.
    """

    path: str
    owner: ClassScope | None = None
    is_public: bool = True

    @property
    def class_name(self) -> str:
        """The name of the constructors, empty in a namespace."""
        return self.owner.simple_name if self.owner is not None else ""


class Reader:
    """Passes declarations to a collector."""

    def __init__(self) -> None:
        self.collector = Collector()
        self._handlers: dict[type[Syntax], Callable[[Any, DeclarationScope, Marked], DeclarationScope | None]] = {
            Alias: self._alias,
            ClassHead: self._class_head,
            Enumeration: self._enumeration,
            Forward: self._forward,
            FunctionSyntax: self._function,
            NamespaceHead: self._namespace,
            Using: self._using,
            Variables: self._variables,
        }

    def take(self, syntax: Syntax, scope: DeclarationScope, marked: Marked) -> DeclarationScope | None:
        """Process a parsed declaration; return the scope that a head opens, or None to skip its body."""
        handler = self._handlers.get(type(syntax))
        return handler(syntax, scope, marked) if handler is not None else None

    def take_unreadable(self, scope: DeclarationScope, marked: Marked) -> str:
        """Process a declaration that the grammar rejects; return its probable name, or empty."""
        name = likely_name(marked.tokens)
        if scope.owner is None:
            if name:
                self.collector.add_opaque(scope.path, name)
        elif scope.is_public:
            if name and name != scope.class_name:
                scope.owner.methods.setdefault(name, []).append(DeclaredOverload(unknown_function(name)))
            elif name:
                unknown = Function(name, scope.owner.own_type, (), variadic=True)
                scope.owner.constructors.append(DeclaredOverload(unknown))
            else:
                scope.owner.is_known = False
        return name

    def take_macro(self, scope: DeclarationScope) -> None:
        """Process a macro call at declaration level, which may declare anything."""
        if scope.owner is not None and scope.is_public:
            scope.owner.is_known = False

    # ---- kinds of declarations

    def _namespace(self, syntax: NamespaceHead, scope: DeclarationScope, marked: Marked) -> DeclarationScope:
        return DeclarationScope(joined(scope.path, syntax.path) if syntax.path else scope.path)

    def _class_head(self, syntax: ClassHead, scope: DeclarationScope, marked: Marked) -> DeclarationScope | None:
        name = syntax.name
        if name is None:
            # the members of an anonymous union are members of the enclosing class
            self.take_macro(scope)
            return None
        if name.type == TEMPLATE_ID:
            # a specialization does not describe the template
            return None
        path = joined(scope.path, name.text.removeprefix("::"))
        if not scope.is_public:
            self.collector.add_type(path)
            return None
        owner = self.collector.add_class(path, syntax.template.names if syntax.template is not None else ())
        owner.bases = (*owner.bases, *(canonical_type(base) or UNREADABLE for base in syntax.bases))
        return DeclarationScope(path, owner, syntax.key != "class")

    def _enumeration(self, syntax: Enumeration, scope: DeclarationScope, marked: Marked) -> None:
        type = INT
        path = ""
        if syntax.name is not None:
            path = joined(scope.path, syntax.name.text.removeprefix("::"))
            type = self.collector.add_type(path)
        if not scope.is_public:
            return
        if path:
            self.collector.add_class(path)
        for name in syntax.enumerators:
            if path:
                self.collector.add_variable(path, name, type)
            if not syntax.is_scoped:
                self.collector.add_variable(scope.path, name, type)
                if scope.owner is not None:
                    scope.owner.fields[name] = type

    def _forward(self, syntax: Forward, scope: DeclarationScope, marked: Marked) -> None:
        if syntax.name is not None and syntax.name.type == "IDENT":
            self.collector.add_type(joined(scope.path, syntax.name.text))

    def _using(self, syntax: Using, scope: DeclarationScope, marked: Marked) -> None:
        for name in syntax.names:
            if scope.owner is None:
                self.collector.add_using(scope.path, name)
            elif scope.is_public:
                base, _, member = name.rpartition("::")
                scope.owner.inherited.append((canonical_type(base) or UNREADABLE, member))

    def _alias(self, syntax: Alias, scope: DeclarationScope, marked: Marked) -> None:
        name = syntax.name
        if name is None or name.type != "IDENT":
            return
        if syntax.template is not None:
            self.collector.add_opaque(scope.path, name.text)
        else:
            self.collector.add_alias(scope.path, name.text, canonical_type(syntax.type))

    def _variables(self, syntax: Variables, scope: DeclarationScope, marked: Marked) -> None:
        for name, text in zip(syntax.names, syntax.types, strict=True):
            if name.type != "IDENT" or not scope.is_public:
                continue
            if syntax.template is not None:
                # "is_tensor_v<T>", and concepts
                self.collector.add_opaque(scope.path, name.text)
                continue
            type = canonical_type(text) or UNREADABLE
            if scope.owner is not None:
                scope.owner.fields[name.text] = UNREADABLE if type.text.startswith(AUTO.text) else type
            if scope.owner is None or "static" in syntax.specifiers:
                self.collector.add_variable(scope.path, name.text, type)

    def _function(self, syntax: FunctionSyntax, scope: DeclarationScope, marked: Marked) -> None:
        name = syntax.name
        if name is None or name.type != "IDENT":
            # an operator, a destructor, a specialization, or the definition of a method that is declared elsewhere
            return
        owner = scope.owner
        is_constructor = not syntax.result
        if is_constructor and name.text != scope.class_name:
            if not syntax.is_trailing:
                self.take_macro(scope)
            return
        template = syntax.template
        if syntax.is_deleted or not scope.is_public or (template is not None and template.is_full_specialization):
            return
        declared = self._declared(syntax, name, owner if is_constructor else None, marked)
        if owner is None:
            self.collector.add_function(scope.path, declared)
        elif is_constructor:
            owner.constructors.append(declared)
        else:
            owner.methods.setdefault(name.text, []).append(declared)
            if declared.function.is_static:
                self.collector.add_function(scope.path, declared)

    def _declared(
        self, syntax: FunctionSyntax, name: Token, owner: ClassScope | None, marked: Marked
    ) -> DeclaredOverload:
        template = syntax.template
        is_constrained = template is not None and (template.is_constrained or marked.is_constrained)
        if owner is not None:
            result = owner.own_type
        elif "enable_if" in syntax.result:
            result, is_constrained = AUTO, True
        else:
            result = canonical_type(syntax.result) or AUTO
            if result.innermost is AUTO:
                result = AUTO
        function = Function(
            name.text,
            result,
            syntax.parameters,
            template.names if template is not None else (),
            "static" in syntax.specifiers and owner is None,
            syntax.is_variadic,
            marked.deprecated,
        )
        return DeclaredOverload(function, is_constrained)


def likely_name(tokens: list[Token]) -> str:
    """Guess the name in an unreadable declaration: the word before the parameters, or the last one."""
    depth = 0
    name = ""
    for index, token in enumerate(tokens):
        kind = token.type
        if kind == "LANGLE":
            depth += 1
        elif kind == "RANGLE":
            depth -= 1
        elif depth:
            continue
        elif kind == "IDENT":
            name = token.text
            if index and tokens[index - 1].type == "USING":
                return name
        elif kind in ("LPAR", "COLON", "LBRACE", "DEFAULT", "ARRAY", "COMMA", "EQUAL") and name:
            return name if kind != "LPAR" or tokens[index - 1].type == "IDENT" else ""
    return name
