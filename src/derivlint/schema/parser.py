"""Text to schema.

Canonical text, which is what every released file holds, is read by one regular expression per argument; any other
text goes to the grammar, which allows free blanks and says what is wrong. Both accept the same language on canonical
text and build the same schema.
"""

from __future__ import annotations

import re
from functools import lru_cache

from derivlint.schema.arguments import Annotation, Argument, Arguments, Return
from derivlint.schema.errors import SchemaError
from derivlint.schema.function_schema import FunctionSchema
from derivlint.schema.names import OperatorName
from derivlint.schema.types import parse_type
from derivlint.source import Span

_OPERATOR = re.compile(r"[A-Za-z_]\w*(?:\.\w+)?", re.ASCII)

_TYPE = r"([A-Za-z_]\w*(?:\.\w+)*)(?:\(([a-z](?:\|[a-z])*!?(?: -> (?:\*|[a-z](?:\|[a-z])*))?)\))?((?:\?|\[[0-9]*\])*)"
_ATOM = r"-?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[A-Za-z_]\w*(?:\.\w+)*)"
_STRING = r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""
_ARGUMENT = re.compile(
    rf"{_TYPE} ([A-Za-z_]\w*)(?:=({_ATOM}|{_STRING}|\[(?:{_ATOM}(?:,{_ATOM})*)?\]))?", re.ASCII | re.DOTALL
)
_RETURN = re.compile(rf"{_TYPE}(?: ([A-Za-z_]\w*))?", re.ASCII)


#: Longer than any schema; hostile input must not cost more than a refusal.
MAX_LENGTH = 10_000


@lru_cache(maxsize=16384)
def parse_schema(text: str) -> FunctionSchema:
    """The schema written ``text``, without a namespace.

    Raises:
        SchemaError: the text is no schema; its offsets are offsets into ``text``.
    """
    if len(text) > MAX_LENGTH:
        raise SchemaError(f"the schema has {len(text)} characters, at most {MAX_LENGTH} are read", 0, len(text))
    schema = _parse_canonical(text)
    if schema is None:
        # The grammar, and Lark itself, are only loaded when they are needed.
        from derivlint.schema.grammar_parser import parse_with_grammar

        schema = parse_with_grammar(text)
    return schema


def _parse_canonical(text: str) -> FunctionSchema | None:
    """The schema, or None when the text is not in canonical form (which does not mean that it is wrong)."""
    opening = text.find("(")
    closing = text.find(") -> ", opening + 1)
    if opening < 0 or closing < 0 or _OPERATOR.fullmatch(text, 0, opening) is None:
        return None
    arguments = _arguments(text, opening + 1, closing)
    if arguments is None:
        return None
    returns = _returns(text, closing + 5)
    if returns is None:
        return None
    schema = FunctionSchema(OperatorName.parse(text[:opening]), arguments, returns, text, Span(0, opening))
    # Canonical text is what the schema prints as; printing thousands of them again would only cost time.
    schema.__dict__["canonical"] = text
    return schema


def _arguments(text: str, start: int, end: int) -> Arguments | None:
    positional: list[Argument] = []
    kwarg_only: list[Argument] = []
    out: list[Argument] = []
    current = positional
    if start < end:
        offset = start
        for part in text[start:end].split(", "):
            if part == "*":
                if current is not positional:
                    return None
                current = kwarg_only
            else:
                argument = _argument(part)
                if argument is None:
                    return None
                if argument.is_write:
                    if current is kwarg_only:
                        current = out
                elif current is out:
                    return None
                current.append(
                    Argument(
                        argument.name, argument.type, argument.default, argument.annotation, argument.marks, offset
                    )
                )
            offset += len(part) + 2
        if current is kwarg_only and not kwarg_only:
            return None
    return Arguments.group(positional, kwarg_only, out)


@lru_cache(maxsize=16384)
def _argument(text: str) -> Argument | None:
    match = _ARGUMENT.fullmatch(text)
    if match is None:
        return None
    base, annotation, suffixes, name, default = match.groups()
    try:
        type_ = parse_type(base + suffixes)
    except SchemaError:
        return None
    marks = (0, match.end(3), *match.span(4), *match.span(5))
    return Argument(name, type_, default, parse_annotation(annotation) if annotation else None, marks)


def _returns(text: str, start: int) -> tuple[Return, ...] | None:
    if not text.startswith("(", start):
        single = _return(text[start:])
        return None if single is None else (_placed(single, start),)
    if not text.endswith(")"):
        return None
    inner = text[start + 1 : -1]
    if not inner:
        return ()
    parts = inner.split(", ")
    if len(parts) == 1:
        return None
    returns = []
    offset = start + 1
    for part in parts:
        item = _return(part)
        if item is None:
            return None
        returns.append(_placed(item, offset))
        offset += len(part) + 2
    return tuple(returns)


def _placed(item: Return, offset: int) -> Return:
    return Return(item.name, item.type, item.annotation, item.marks, offset)


@lru_cache(maxsize=4096)
def _return(text: str) -> Return | None:
    match = _RETURN.fullmatch(text)
    if match is None:
        return None
    base, annotation, suffixes, name = match.groups()
    try:
        type_ = parse_type(base + suffixes)
    except SchemaError:
        return None
    marks = (0, match.end(3), *match.span(4), -1, -1)
    return Return(name, type_, parse_annotation(annotation) if annotation else None, marks)


@lru_cache(maxsize=512)
def parse_annotation(text: str) -> Annotation:
    """The annotation written ``text``, which is known to be one, without its parentheses."""
    before, _, after = text.partition(" -> ")
    write = before.endswith("!")
    aliases = tuple(before.removesuffix("!").split("|"))
    return Annotation(aliases, write, tuple(after.split("|")) if after else ())
