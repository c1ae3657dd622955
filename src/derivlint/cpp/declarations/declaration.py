"""C++ declarations in canonical types: functions, variables and classes, and their JSON.

Declarations have only the parts that matter to a call: the types of parameters and result, and which parameters have
defaults. Bodies, default values, operators and non-public members are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from derivlint.cpp.cpp_type import CppType, cpp_type

#: A deduced result type.
AUTO = cpp_type("auto")
#: The type of a spelling that cannot be parsed.
UNREADABLE = cpp_type("?")


class Parameter(Struct, frozen=True):
    """A parameter of a function; ``name`` is empty for an unnamed one."""

    type: CppType
    name: str
    has_default: bool = False

    def __str__(self) -> str:
        text = f"{self.type} {self.name}" if self.name else self.type.text
        return f"{text} = ..." if self.has_default else text


class Function(Struct, frozen=True, cache_hash=True):
    """A function, method or constructor.

    Attributes:
        name: its name without namespace or class.
        result: the canonical return type; ``auto`` if it is deduced, the class for a constructor.
        parameters: its parameters, without the object of a method.
        template: the names of its template parameters, which its types may mention.
        is_static: whether it is a static method.
        variadic: whether any number of further arguments may follow.
        deprecated: the message of its deprecation, possibly empty; None if it is not deprecated.
        operators: the namespace of the operator that it calls, empty for PyTorch's.
    """

    name: str
    result: CppType
    parameters: tuple[Parameter, ...]
    template: tuple[str, ...] = ()
    is_static: bool = False
    variadic: bool = False
    deprecated: str | None = None
    operators: str = ""

    @property
    def required(self) -> int:
        """The number of parameters without default."""
        for count, parameter in enumerate(self.parameters):
            if parameter.has_default:
                return count
        return len(self.parameters)

    @property
    def signature(self) -> str:
        """The declaration for messages: ``Tensor norm_jvp(Tensor grad, optional<Scalar> p_ = ...)``."""
        parameters = [str(parameter) for parameter in self.parameters]
        if self.variadic:
            parameters.append("...")
        return f"{self.result} {self.name}({', '.join(parameters)})"


class ClassDeclaration(Struct, frozen=True):
    """The public members of a class.

    Attributes:
        name: its canonical name, without template arguments.
        template: the names of its template parameters, which the types of its members may mention.
        methods: the overloads of each method.
        fields: the types of its data members, static ones and enumerators included.
        constructors: its constructors.
        bases: its public base classes. The base ``?`` stands for unreadable members.
    """

    name: str
    template: tuple[str, ...] = ()
    methods: Mapping[str, tuple[Function, ...]] = field(default_factory=dict)
    fields: Mapping[str, CppType] = field(default_factory=dict)
    constructors: tuple[Function, ...] = ()
    bases: tuple[CppType, ...] = ()

    def __hash__(self) -> int:
        return hash((self.name, self.template, self.bases))

    def merged(self, other: ClassDeclaration) -> ClassDeclaration:
        """Merge another declaration of the same class into this one."""
        return ClassDeclaration(
            self.name,
            self.template or other.template,
            _merged_overloads(self.methods, other.methods),
            {**self.fields, **other.fields},
            without_repetitions((*self.constructors, *other.constructors)),
            tuple(dict.fromkeys((*self.bases, *other.bases))),
        )


class Declarations(Struct, frozen=True):
    """The declarations of one or more headers.

    A namespace is identified by its path, ``at::Reduction``, or ``""`` for the global one. A class counts as the
    namespace of its static members, an enumeration as that of its enumerators.

    Attributes:
        functions: the overloads of each function of each namespace.
        variables: the types of the variables, constants and enumerators of each namespace.
        classes: the classes by canonical name.
        opaque: the names of each namespace whose declarations are unreadable.
        aliases: the types of aliases, by namespace.
        using: the names that each namespace imports: ``at::sum`` by a using-declaration, ``at::`` by a using-directive.
    """

    functions: Mapping[str, Mapping[str, tuple[Function, ...]]] = field(default_factory=dict)
    variables: Mapping[str, Mapping[str, CppType]] = field(default_factory=dict)
    classes: Mapping[str, ClassDeclaration] = field(default_factory=dict)
    opaque: Mapping[str, frozenset[str]] = field(default_factory=dict)
    aliases: Mapping[str, Mapping[str, CppType]] = field(default_factory=dict)
    using: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((tuple(self.functions), tuple(self.classes)))

    def merged(self, *more: Declarations) -> Declarations:
        """Merge declarations; the last declaration of a variable or alias counts."""
        functions: dict[str, dict[str, tuple[Function, ...]]] = {}
        variables: dict[str, dict[str, CppType]] = {}
        classes: dict[str, ClassDeclaration] = {}
        opaque: dict[str, frozenset[str]] = {}
        aliases: dict[str, dict[str, CppType]] = {}
        using: dict[str, tuple[str, ...]] = {}
        for declarations in (self, *more):
            for namespace, overloads in declarations.functions.items():
                functions[namespace] = _merged_overloads(functions.get(namespace, {}), overloads)
            for namespace, types in declarations.variables.items():
                variables.setdefault(namespace, {}).update(types)
            for name, declaration in declarations.classes.items():
                merged_class = classes.get(name)
                classes[name] = declaration if merged_class is None else merged_class.merged(declaration)
            for namespace, names in declarations.opaque.items():
                opaque[namespace] = opaque.get(namespace, frozenset()) | names
            for namespace, types in declarations.aliases.items():
                aliases.setdefault(namespace, {}).update(types)
            for namespace, taken in declarations.using.items():
                using[namespace] = tuple(dict.fromkeys((*using.get(namespace, ()), *taken)))
        return Declarations(functions, variables, classes, opaque, aliases, using)

    def to_json(self) -> dict[str, Any]:
        """Encode the declarations as sorted JSON; :func:`declarations_from_json` decodes them."""
        return {
            "functions": _sorted(self.functions, _overloads_to_json),
            "variables": _sorted(self.variables, _sorted_types),
            "classes": _sorted(self.classes, _class_to_json),
            "opaque": _sorted(self.opaque, sorted),
            "aliases": _sorted(self.aliases, _sorted_types),
            "using": _sorted(self.using, list),
        }


def declarations_from_json(content: Mapping[str, Any]) -> Declarations:
    """Decode declarations encoded by ``Declarations.to_json``; missing parts are empty.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: the content has another form.
    """
    reader = _DeclarationReader()
    return Declarations(
        {namespace: reader.overloads(names) for namespace, names in content.get("functions", {}).items()},
        {namespace: _types(types) for namespace, types in content.get("variables", {}).items()},
        {name: reader.class_declaration(name, value) for name, value in content.get("classes", {}).items()},
        {namespace: frozenset(names) for namespace, names in content.get("opaque", {}).items()},
        {namespace: _types(types) for namespace, types in content.get("aliases", {}).items()},
        {namespace: tuple(names) for namespace, names in content.get("using", {}).items()},
    )


# ---- overloads


def unknown_function(name: str) -> Function:
    """A function of which only the name is known: ``auto name(...)``."""
    return Function(name, AUTO, (), variadic=True)


def without_repetitions(functions: Iterable[Function]) -> tuple[Function, ...]:
    """Merge overloads that calls cannot distinguish.

    A declaration and its definition are one function, with the defaults of both. Methods that differ only in ``const``
    count as one; the one that returns a reference gives the result.
    """
    unique: dict[tuple[object, ...], Function] = {}
    for function in functions:
        key = (len(function.template), function.variadic, *(parameter.type for parameter in function.parameters))
        previous = unique.get(key)
        unique[key] = function if previous is None or previous == function else _united(previous, function)
    return tuple(unique.values())


def _united(first: Function, second: Function) -> Function:
    result = first.result
    if result is AUTO or second.result.referred is result:
        result = second.result
    parameters = tuple(
        Parameter(mine.type, mine.name or theirs.name, mine.has_default or theirs.has_default)
        for mine, theirs in zip(first.parameters, second.parameters, strict=True)
    )
    deprecated = first.deprecated if first.deprecated is not None else second.deprecated
    static = first.is_static or second.is_static
    return Function(first.name, result, parameters, first.template, static, first.variadic, deprecated)


def _merged_overloads(
    first: Mapping[str, tuple[Function, ...]], second: Mapping[str, tuple[Function, ...]]
) -> dict[str, tuple[Function, ...]]:
    merged = dict(first)
    for name, functions in second.items():
        previous = merged.get(name)
        merged[name] = functions if previous is None else without_repetitions((*previous, *functions))
    return merged


# ---- JSON  A function is [result, ["Tensor self", "int64_t dim="], {"template": ["T"]}]; the last part is optional.


def _sorted(mapping: Mapping[str, Any], convert: Any) -> dict[str, Any]:
    return {name: convert(mapping[name]) for name in sorted(mapping)}


def _sorted_types(types: Mapping[str, CppType]) -> dict[str, str]:
    return {name: types[name].text for name in sorted(types)}


def _types(texts: Mapping[str, str]) -> dict[str, CppType]:
    return {name: cpp_type(text) for name, text in texts.items()}


def _overloads_to_json(names: Mapping[str, tuple[Function, ...]]) -> dict[str, Any]:
    return {name: [_function_to_json(function) for function in names[name]] for name in sorted(names)}


def _function_to_json(function: Function) -> list[Any]:
    parameters = [
        f"{parameter.type} {parameter.name}{'=' if parameter.has_default else ''}" for parameter in function.parameters
    ]
    more: dict[str, Any] = {}
    if function.template:
        more["template"] = list(function.template)
    if function.is_static:
        more["static"] = True
    if function.variadic:
        more["variadic"] = True
    if function.deprecated is not None:
        more["deprecated"] = function.deprecated
    result = function.result.text
    return [result, parameters, more] if more else [result, parameters]


def _class_to_json(declaration: ClassDeclaration) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "template": list(declaration.template),
        "methods": _overloads_to_json(declaration.methods),
        "fields": _sorted_types(declaration.fields),
        "constructors": [_function_to_json(function) for function in declaration.constructors],
        "bases": [base.text for base in declaration.bases],
    }
    return {name: value for name, value in parts.items() if value}


class _Types(dict[str, CppType]):
    def __missing__(self, text: str) -> CppType:
        type = self[text] = cpp_type(text)
        return type


class _DeclarationReader:
    """Decodes functions from JSON; equal parameters share one object."""

    def __init__(self) -> None:
        self._parameters: dict[str, Parameter] = {}
        self._types: dict[str, CppType] = _Types()

    def overloads(self, names: Mapping[str, Any]) -> dict[str, tuple[Function, ...]]:
        function = self._function
        return {name: tuple([function(name, item) for item in items]) for name, items in names.items()}

    def class_declaration(self, name: str, value: Mapping[str, Any]) -> ClassDeclaration:
        return ClassDeclaration(
            name,
            tuple(value.get("template", ())),
            self.overloads(value.get("methods", {})),
            _types(value.get("fields", {})),
            tuple([self._function(name.rpartition("::")[2], item) for item in value.get("constructors", ())]),
            tuple(map(cpp_type, value.get("bases", ()))),
        )

    def _function(self, name: str, item: Any) -> Function:
        cached = self._parameters
        parameters = tuple([cached.get(text) or self._parameter(text) for text in item[1]])
        result = self._types[item[0]]
        if len(item) == 2:
            return Function(name, result, parameters)
        more = item[2]
        return Function(
            name,
            result,
            parameters,
            tuple(more.get("template", ())),
            more.get("static", False),
            more.get("variadic", False),
            more.get("deprecated"),
        )

    def _parameter(self, text: str) -> Parameter:
        type, _, name = text.rpartition(" ")
        parameter = self._parameters[text] = Parameter(cpp_type(type), name.removesuffix("="), name.endswith("="))
        return parameter
