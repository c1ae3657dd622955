"""The callbacks of the Lark parser: one method for each alias in ``grammar/declarations.lark``."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.structs import replace

from derivlint.cpp.canonical import canonical_type
from derivlint.cpp.cpp_type import VOID
from derivlint.cpp.declarations.declaration import UNREADABLE, Parameter
from derivlint.cpp.declarations.declaration_syntax import (
    MACRO_LIKE,
    NO_TEMPLATE,
    QUALIFIED,
    SPECIAL,
    TEMPLATE_ID,
    Alias,
    ClassHead,
    Enumeration,
    Forward,
    FunctionSyntax,
    Ignored,
    NamespaceHead,
    Parameters,
    Syntax,
    Template,
    Using,
    Variables,
)
from derivlint.formula.vocabulary import Token

_NAMES = frozenset({"IDENT", QUALIFIED, TEMPLATE_ID, SPECIAL})
_TYPE_WORDS = frozenset({"IDENT", QUALIFIED, TEMPLATE_ID, "BUILTIN"})

Words = list[Token]
#: A parameter, whether it is a pack, and the type of the next parameter if the comma between them is missing.
_Parameter = tuple[Parameter | None, bool, Token | None]


class Named(NamedTuple):
    """A type with a declared name.

    Attributes:
        type: the type as spelled, or empty.
        name: the declared name.
        specifiers: "static", "virtual", ...
        is_pack: whether an ellipsis follows the type.
    """

    type: str
    name: Token | None
    specifiers: frozenset[str]
    is_pack: bool


class DeclarationBuilder:
    """The parser's callbacks; each computes the value of a rule from the values of its symbols."""

    # ---- lists

    def list_start(self, children: list[Any]) -> list[Any]:  # noqa: D102
        return children[:1]

    def list_more(self, children: list[Any]) -> list[Any]:  # noqa: D102
        items: list[Any] = children[0]
        items.append(children[1])
        return items

    def list_next(self, children: list[Any]) -> list[Any]:  # noqa: D102
        items: list[Any] = children[0]
        items.append(children[2])
        return items

    def nothing(self, children: list[Any]) -> None:  # noqa: D102
        return None

    def no_bounds(self, children: list[Any]) -> bool:  # noqa: D102
        return False

    def has_bounds(self, children: list[Any]) -> bool:  # noqa: D102
        return True

    # ---- names

    def name(self, children: list[Token]) -> Token:  # noqa: D102
        return children[0]

    def name_global(self, children: list[Token]) -> Token:  # noqa: D102
        root, word = children
        kind = SPECIAL if word.type == SPECIAL else QUALIFIED
        return Token(kind, f"::{word.text}", root.start, word.end)

    def name_arguments(self, children: list[Token]) -> Token:  # noqa: D102
        name, arguments = children
        return Token(TEMPLATE_ID, name.text + arguments.text, name.start, arguments.end)

    def name_more(self, children: list[Token]) -> Token:  # noqa: D102
        name, _, word = children
        kind = SPECIAL if word.type == SPECIAL else QUALIFIED
        return Token(kind, f"{name.text}::{word.text}", name.start, word.end)

    # ---- parameters

    def no_parameters(self, children: list[Any]) -> Parameters:  # noqa: D102
        return _NO_PARAMETERS

    def parameters(self, children: list[Any]) -> Parameters:  # noqa: D102
        parameters: list[Parameter] = []
        is_variadic = False
        joined: Token | None = None
        for parameter, is_pack, second in children[1]:
            is_variadic = is_variadic or is_pack
            joined = joined or second
            if parameter is not None:
                parameters.append(parameter)
        return Parameters(tuple(parameters), is_variadic, joined)

    def parameter(self, children: list[Any]) -> _Parameter:  # noqa: D102
        words, has_bounds, default = children
        named = parameter_of(words)
        second = _second_parameter(words)
        if not named.type or (named.is_pack and (named.name is None or words[-1].type != "ELLIPSIS")):
            # a lone ellipsis, or "Args&&... args"; in "const char* format ..." a parameter precedes it
            return None, named.is_pack, second
        if has_bounds:
            named = named._replace(type=f"{named.type}*")
        type = canonical_type(named.type) or UNREADABLE
        if type is VOID and named.name is None:
            return None, False, second
        name = named.name.text if named.name is not None else ""
        return Parameter(type, name, default is not None), named.is_pack, second

    def parameter_intricate(self, children: list[Any]) -> _Parameter:  # noqa: D102
        return Parameter(UNREADABLE, "", children[-1] is not None), False, None

    # ---- templates

    def template_empty(self, children: list[Any]) -> Template:  # noqa: D102
        return NO_TEMPLATE

    def template(self, children: list[Any]) -> Template:  # noqa: D102
        parts: list[Template] = children[2]
        return Template(
            tuple(name for part in parts for name in part.names), any(part.is_constrained for part in parts)
        )

    def template_parameter(self, children: list[Any]) -> Template:  # noqa: D102
        words, default = children
        named = parameter_of(words)
        constrained = default is not None and "enable_if" in default.text
        first = words[0]
        if first.type in ("TYPENAME", "CLASS"):
            # "typename T", "class", "typename... Ts", and "typename std::enable_if<...>::type = 0"
            last = words[-1]
            if last.type == "IDENT":
                return Template((last.text,), constrained)
            return Template((), constrained or last.type in (QUALIFIED, TEMPLATE_ID, "POINTER"))
        if named.name is None:
            return Template((), True)
        is_concept = any(word.type in _NAMES for word in words[:-1]) and named.type not in _SIZES
        return Template((named.name.text,), constrained or is_concept)

    def template_template(self, children: list[Any]) -> Template:  # noqa: D102
        last = children[1][-1]
        return Template((last.text,) if last.type == "IDENT" else (), False)

    def templated(self, children: list[Any]) -> Syntax:  # noqa: D102
        templates: list[Template] = children[0]
        syntax: Syntax = children[1]
        names = tuple(name for template in templates for name in template.names)
        return replace(syntax, template=Template(names, any(template.is_constrained for template in templates)))

    # ---- entities

    def start(self, children: list[Any]) -> Syntax:  # noqa: D102
        syntax: Syntax = children[0]
        return syntax

    def entity(self, children: list[Any]) -> Syntax:  # noqa: D102
        (words, has_bounds), *rest = children[0]
        if _is_forward(words):
            return Forward(None, words[-1])
        named = declared(words)
        if named.name is None or not named.type:
            return Ignored()
        types = [_array(named.type, has_bounds)]
        names = [named.name]
        base = named.type.rstrip("*& ")
        for words, has_bounds in rest:
            if words[-1].type == "IDENT":
                types.append(_array(base + "".join(word.text for word in words if word.type == "POINTER"), has_bounds))
                names.append(words[-1])
        return Variables(None, tuple(types), tuple(names), named.specifiers)

    def variable_start(self, children: list[Any]) -> list[tuple[Words, bool]]:  # noqa: D102
        return [(children[0], children[1])]

    def variable_next(self, children: list[Any]) -> list[tuple[Words, bool]]:  # noqa: D102
        variables: list[tuple[Words, bool]] = children[0]
        variables.append((children[2], children[3]))
        return variables

    def function(self, children: list[Any]) -> Syntax:  # noqa: D102
        return _function(children[0], children[1])

    def function_assigned(self, children: list[Any]) -> Syntax:  # noqa: D102
        return _function(children[0], children[1], is_deleted=children[3].type == "DELETE")

    def function_trailing(self, children: list[Any]) -> Syntax:  # noqa: D102
        is_deleted = len(children) > 5 and children[5].type == "DELETE"
        syntax = _function(children[0], children[1], is_deleted=is_deleted)
        result = " ".join(word.text for word in children[4] if word.type not in ("SPECIFIER", "TYPENAME"))
        return replace(syntax, result=result if syntax.result else "", is_trailing=True)

    def pointer(self, children: list[Any]) -> Syntax:  # noqa: D102
        inner = children[1].items
        named = declared(children[0])
        if len(inner) != 1 or (not named.type and named.name is None):
            return Ignored()
        # "void (*f)(int)": the apparent parameter is the declarator
        name = inner[0].name
        return (
            Variables(None, (UNREADABLE.text,), (Token("IDENT", name, 0, 0),), named.specifiers) if name else Ignored()
        )

    def head(self, children: list[Any]) -> tuple[Words, list[Words]]:  # noqa: D102
        return children[0], children[2] if len(children) > 1 else []

    def class_head(self, children: list[Any]) -> Syntax:  # noqa: D102
        words, bases = children[0]
        key = next((word.text for word in words if word.type == "CLASS"), "")
        name = words[-1] if words[-1].type in _NAMES else None
        public = (_base(base, key) for base in bases)
        return ClassHead(None, name, key, tuple(base for base in public if base is not None))

    def enumeration(self, children: list[Any]) -> Syntax:  # noqa: D102
        words, _ = children[0]
        name = words[-1] if words[-1].type in _NAMES else None
        enumerators = children[2] if isinstance(children[2], list) else []
        is_scoped = any(word.type == "CLASS" for word in words)
        return Enumeration(None, name, is_scoped, tuple(word.text for word in enumerators))

    def namespace(self, children: list[Any]) -> Syntax:  # noqa: D102
        name = children[1]
        return NamespaceHead(None, name.text if name is not None else "")

    def namespace_inline(self, children: list[Any]) -> Syntax:  # noqa: D102
        # the names in an inline namespace belong to the enclosing one too
        return NamespaceHead()

    def linkage(self, children: list[Any]) -> Syntax:  # noqa: D102
        return NamespaceHead()

    def using_directive(self, children: list[Any]) -> Syntax:  # noqa: D102
        return Using(None, (children[2].text.removeprefix("::") + "::",))

    def using_declaration(self, children: list[Any]) -> Syntax:  # noqa: D102
        return Using(None, tuple(name.text.removeprefix("::") for name in children[1] if name.type == QUALIFIED))

    def alias(self, children: list[Any]) -> Syntax:  # noqa: D102
        words = [word for word in children[3] if word.type not in ("TYPENAME", "SPECIFIER")]
        return Alias(None, children[1], " ".join(word.text for word in words))

    def alias_intricate(self, children: list[Any]) -> Syntax:  # noqa: D102
        return Alias(None, children[1])

    def typedef(self, children: list[Any]) -> Syntax:  # noqa: D102
        named = declared(children[1])
        return Alias(None, named.name, named.type) if named.name is not None else Ignored()

    def typedef_intricate(self, children: list[Any]) -> Syntax:  # noqa: D102
        named = declared(children[1])
        return Alias(None, named.name) if named.name is not None else Ignored()

    def typedef_pointer(self, children: list[Any]) -> Syntax:  # noqa: D102
        inner = children[2].items
        name = inner[0].name if len(inner) == 1 else ""
        return Alias(None, Token("IDENT", name, 0, 0)) if name else Ignored()

    def ignored(self, children: list[Any]) -> Syntax:  # noqa: D102
        return Ignored()


_NO_PARAMETERS = Parameters((), False)
#: Types of template parameters that are not concepts.
_SIZES = frozenset({"size_t", "std::size_t", "int64_t", "uint64_t", "int32_t", "uint32_t", "uint8_t", "int8_t"})


def declared(words: Words) -> Named:
    """Split the words of a declaration; the last one is the name."""
    specifiers: list[str] = []
    rest: Words = []
    for word in words:
        if word.type == "SPECIFIER":
            specifiers.append(word.text)
        elif word.type not in ("TYPENAME", "ELLIPSIS"):
            rest.append(word)
    name = rest.pop() if rest and rest[-1].type in _NAMES else None
    return Named(_type_text(rest), name, frozenset(specifiers), False)


def parameter_of(words: Words) -> Named:
    """Split the words of a parameter into type and name: the last word is the name if a type precedes it."""
    rest = [word for word in words if word.type not in ("SPECIFIER", "TYPENAME", "ELLIPSIS")]
    name = None
    # a lone pointer before the name is that of a function pointer, "(*f)"
    has_type = any(word.type in _TYPE_WORDS for word in rest[:-1]) or (len(rest) > 1 and rest[0].type == "POINTER")
    if has_type and rest[-1].type == "IDENT":
        name = rest.pop()
    has_ellipsis = any(word.type == "ELLIPSIS" for word in words)
    return Named(_type_text(rest), name, frozenset(), len(rest) < len(words) and has_ellipsis)


def _second_parameter(words: Words) -> Token | None:
    """The type of the parameter after a missing comma."""
    kinds = 0
    before = ""
    for word in words:
        if word.type in _TYPE_WORDS and not MACRO_LIKE.match(word.text):
            # "unsigned long" is one type
            kinds += word.type != "BUILTIN" or before != "BUILTIN"
            if kinds > 2:
                return word
        before = word.type
    return None


def _type_text(words: Words) -> str:
    """The text of a type; all names but one are dropped as macros."""
    if len(words) > 1:
        names = [word for word in words if word.type in _NAMES]
        surplus = len(names) - 1
        if any(word.type == "BUILTIN" for word in words):
            surplus += 1
        if surplus > 0:
            macros = [word for word in names if MACRO_LIKE.match(word.text)]
            dropped = (macros + [word for word in names if word not in macros])[:surplus]
            words = [word for word in words if word not in dropped]
    return " ".join([word.text for word in words])


def _array(type: str, has_bounds: bool) -> str:
    return f"{type}*" if has_bounds else type


def _is_forward(words: Words) -> bool:
    """Whether the words are a forward declaration of a class or enumeration: ``class TORCH_API Tensor``."""
    kinds = [word.type for word in words]
    return (kinds[0] in ("CLASS", "ENUM") and all(kind in ("CLASS", "ENUM", *_NAMES) for kind in kinds)) and (
        len(kinds) == 2 or all(MACRO_LIKE.match(word.text) or word.type in ("CLASS", "ENUM") for word in words[:-1])
    )


def _function(words: Words, parameters: Parameters, *, is_deleted: bool = False) -> FunctionSyntax:
    named = declared(words)
    return FunctionSyntax(
        None,
        named.type,
        named.name,
        parameters.items,
        parameters.is_variadic,
        is_deleted,
        False,
        named.specifiers,
        parameters.joined,
    )


def _base(words: Words, key: str) -> str | None:
    """The type of a base class, or None if it is not public."""
    named = declared(words)
    is_public = "public" in named.specifiers or (key != "class" and not named.specifiers & {"private", "protected"})
    return named.name.text if named.name is not None and is_public else None
