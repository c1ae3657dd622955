"""The schema parser for ``grammar/schema.lark``: arbitrary blanks, and errors with spans."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, cast

from derivlint.grammar import grammar_text
from derivlint.schema.syntax.arguments import Annotation, Argument, Arguments, Return
from derivlint.schema.syntax.function_schema import FunctionSchema
from derivlint.schema.syntax.names import WITHOUT_RETURNS, OperatorName, SchemaError, quoted
from derivlint.schema.syntax.types import KNOWN_BASE_TYPES, MAX_SUFFIXES, BaseType, Type, parse_type, suffixed
from derivlint.source import Span

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

    Node = Tree[Token]


SHAPE = "the form of a schema is name.overload(Type argument=default, *, Type keyword) -> ReturnType"

#: The names of the terminals in messages, in the order in which they are listed.
_SHOWN = {
    "OPERATOR": "an operator name",
    "TYPE": "a type",
    "NAME": "a name",
    "STAR": '"*"',
    "NUMBER": "a number",
    "STRING": "a string",
    "WORD": "a word",
    "WRITE": '"!"',
    "VBAR": '"|"',
    "EQUAL": '"="',
    "COMMA": '","',
    "LPAR": '"("',
    "LSQB": '"["',
    "QMARK": '"?"',
    "__ANON_0": '"->"',
    "RSQB": '"]"',
    "RPAR": '")"',
    "$END": "the end",
}

_FOUND = re.compile(r"[A-Za-z_]\w*|[0-9][\w.]*|->|::|.", re.DOTALL | re.ASCII)
_BRACKETS = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[][()]""", re.DOTALL)


def explain(text: str, position: int, expected: set[str]) -> SchemaError:
    """Explain why a text fails at ``position``, where the terminals ``expected`` were possible."""
    before = text[:position].rstrip()
    match = _FOUND.match(text, position)
    if match is None or not text[position:].strip():
        return _at_end(text, len(text.rstrip()), expected)
    token = match.group()
    start, end = match.span()
    if "OPERATOR" in expected:
        return SchemaError(f"expected an operator name, found {quoted(token)}", start, end, SHAPE)
    if "LPAR" in expected and "(" not in before:
        if token == "::":
            space = before + "::"
            return SchemaError(
                f"{quoted(space)} is a namespace, which a schema does not have",
                0,
                len(space),
                f"remove {quoted(space)}",
            )
        return SchemaError(f'expected "(" after the operator name, found {quoted(token)}', start, end, SHAPE)
    if token == "(" and "QMARK" in expected:
        hint = 'write "Tensor(a!)?" or "Tensor(a!)[]"'
        return SchemaError('an alias annotation comes before any "?" or "[]" of the type', start, end, hint)
    if "TYPE" not in expected and "NAME" in expected:
        if before.endswith(("(", "|", "->")):
            return SchemaError(f"expected an alias set, one lower-case letter, found {quoted(token)}", start, end)
        if "->" not in before:
            if token in (")", ",", "=", "*"):
                return _half_argument(before)
            expected = {"NAME"}
    if "TYPE" in expected and token in (")", ",") and before.endswith((",", "(")):
        part = "a return" if "->" in before else "an argument"
        return SchemaError(f'expected {part} after "{before[-1]}", found {quoted(token)}', start, end)
    if token in ('"', "'"):
        return SchemaError("the string is never closed", start, end)
    # Parser states do not record the kind of open bracket, so the other kind's closing one is also expected.
    opened = _unclosed(before)
    if opened is None and "->" in before and "RPAR" in expected:
        expected = {"$END"}
    elif opened is not None:
        expected = expected - {"RPAR" if before[opened] == "[" else "RSQB"}
    where = " in the alias annotation" if "VBAR" in expected else ""
    return SchemaError(f"expected {_any_of(expected)}{where}, found {quoted(token)}", start, end)


def _half_argument(before: str) -> SchemaError:
    """Explain ``abs(self)``: the only word is taken for a type, and the name is missing."""
    # "Tensor(a!)" counts as one word
    end = before.rfind("(") if before.endswith(")") else len(before)
    start = max(before.rfind(mark, 0, end) for mark in " \t\r\n(,") + 1
    shown = before[start:]
    is_type = shown in KNOWN_BASE_TYPES or re.fullmatch(r"[a-z_]\w*", shown) is None
    hint = f'write "{shown} self"' if is_type else f'write "Tensor {shown}"'
    return SchemaError(f"argument {quoted(shown)} needs a type and a name", start, len(before), hint)


def _at_end(text: str, end: int, expected: set[str]) -> SchemaError:
    if not text.strip():
        return SchemaError("the schema is empty", 0, len(text), SHAPE)
    opened = _unclosed(text)
    if opened is not None:
        return SchemaError(f'"{text[opened]}" is never closed', opened, opened + 1, SHAPE)
    if "__ANON_0" in expected or text.rstrip().endswith("->"):
        return SchemaError(WITHOUT_RETURNS, end, end, 'end it with "-> Tensor", or with "-> ()" for none')
    return SchemaError(f"expected {_any_of(expected)} at the end", end, end, SHAPE)


def _unclosed(text: str) -> int | None:
    """The index of the last unclosed bracket, or None."""
    stack = []
    for match in _BRACKETS.finditer(text):
        if match.group() in ("(", "["):
            stack.append(match.start())
        elif match.group() in (")", "]") and stack:
            stack.pop()
    return stack[-1] if stack else None


def _any_of(expected: set[str]) -> str:
    names = [shown for terminal, shown in _SHOWN.items() if terminal in expected]
    if not names:
        return "something else"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


_SIZE = re.compile(r"[0-9]{1,18}")
_DEFAULT_PARTS = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s"']+""", re.DOTALL)


@cache
def _lark() -> Lark:
    from lark import Lark

    return Lark(grammar_text("schema"), parser="lalr", propagate_positions=True, maybe_placeholders=True)


def parse_with_grammar(text: str) -> FunctionSchema:
    """Parse a schema.

    Raises:
        SchemaError: the text is not a schema.
    """
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    try:
        tree = _lark().parse(text)
    except UnexpectedCharacters as error:
        raise explain(text, error.pos_in_stream or 0, set(error.allowed or ())) from None
    except UnexpectedToken as error:
        position = len(text) if error.token.type == "$END" else _start(error.token)
        raise explain(text, position, set(error.expected)) from None
    operator, parameters, returns = tree.children
    name = cast("Token", operator)
    arguments = Arguments() if parameters is None else _arguments(cast("Node", parameters), text)
    items = tuple(_return(cast("Node", item), text) for item in cast("Node", returns).children if item is not None)
    return FunctionSchema(OperatorName.parse(str(name)), arguments, items, text, Span(_start(name), _end(name)))


def _start(token: Token) -> int:
    return token.start_pos or 0


def _end(token: Token) -> int:
    return token.end_pos or 0


def _arguments(tree: Node, text: str) -> Arguments:
    positional: list[Argument] = []
    kwarg_only: list[Argument] = []
    out: list[Argument] = []
    current = positional
    star: Token | None = None
    for child in tree.children:
        if isinstance(child, str):
            if star is not None:
                hint = "all arguments after the first are keyword-only"
                raise SchemaError('"*" occurs twice', _start(child), _end(child), hint)
            star = child
            current = kwarg_only
            continue
        argument = _argument(child, text)
        if argument.is_write and current is kwarg_only:
            # a keyword-only argument with a write annotation is an out argument
            current = out
        elif current is out and not argument.is_write:
            span = argument.name_span or Span(0, 0)
            raise SchemaError(f"argument {quoted(argument.name)} follows the out arguments, which come last", *span)
        current.append(argument)
    if star is not None and not kwarg_only and not out:
        raise SchemaError('no argument follows "*"', _start(star), _end(star))
    return Arguments.group(positional, kwarg_only, out)


def _argument(tree: Node, text: str) -> Argument:
    type_tree, name, default = cast("tuple[Node, Token, Node | None]", tree.children)
    type_, annotation = _type(type_tree, text)
    meta = type_tree.meta
    marks = (meta.start_pos, meta.end_pos, _start(name), _end(name))
    if default is None:
        return Argument(str(name), type_, None, annotation, (*marks, -1, -1))
    start, end = default.meta.start_pos, default.meta.end_pos
    # drop blanks in a default list: PyTorch splits arguments at ", ", so they are not canonical
    written = "".join(_DEFAULT_PARTS.findall(text, start, end))
    return Argument(str(name), type_, written, annotation, (*marks, start, end))


def _return(tree: Node, text: str) -> Return:
    type_tree, name = cast("tuple[Node, Token | None]", tree.children)
    type_, annotation = _type(type_tree, text)
    place = (-1, -1) if name is None else (_start(name), _end(name))
    marks = (type_tree.meta.start_pos, type_tree.meta.end_pos, *place, -1, -1)
    return Return(None if name is None else str(name), type_, annotation, marks)


def _type(tree: Node, text: str) -> tuple[Type, Annotation | None]:
    base, *rest = tree.children
    suffixes, type_ = "", parse_type(str(base)).base
    annotation = None
    count = 0
    for part in cast("list[Node]", rest):
        if part.data == "annotation":
            before, write, after = cast("tuple[Node, Token | None, Node | None]", part.children)
            annotation = Annotation(_alias_set(before), write is not None, () if after is None else _alias_set(after))
            continue
        if part.data == "generic":
            if base in KNOWN_BASE_TYPES:
                start = part.meta.start_pos + 1
                raise explain(text, start, {"NUMBER", "RSQB"})
            type_ = BaseType(f"{base}{''.join(text[part.meta.start_pos : part.meta.end_pos].split())}")
            continue
        count += 1
        if count > MAX_SUFFIXES:
            span = (part.meta.start_pos, part.meta.end_pos)
            raise SchemaError(f'a type has at most {MAX_SUFFIXES} of "?" and "[]"', *span)
        suffixes += _suffix(part)
    return suffixed(type_, suffixes), annotation


def _suffix(tree: Node) -> str:
    if not tree.children:
        return "?"
    size = cast("Token | None", tree.children[0])
    if size is None:
        return "[]"
    if _SIZE.fullmatch(size) is None:
        raise SchemaError(f"{quoted(size)} is not a list size, which is a whole number", _start(size), _end(size))
    return f"[{int(size)}]"


def _alias_set(tree: Node) -> tuple[str, ...]:
    tokens = cast("list[Token]", tree.children)
    for token in tokens:
        if token != "*" and not (len(token) == 1 and token.islower()):
            message = f"{quoted(token)} is not an alias set, which is one lower-case letter"
            raise SchemaError(message, _start(token), _end(token))
    return tuple(str(token) for token in tokens)
