"""Parse schemas.

Canonical text, as in every released file, is parsed with one regular expression per argument; other text with the
grammar, which allows arbitrary blanks and reports errors. On canonical text both give the same schema.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias, cast

from derivlint.schema.syntax.arguments import Annotation, Argument, Arguments, Return
from derivlint.schema.syntax.function_schema import FunctionSchema
from derivlint.schema.syntax.names import OperatorName, SchemaError
from derivlint.schema.syntax.types import parse_type
from derivlint.source import Span

_OPERATOR = re.compile(r"[A-Za-z_]\w*(?:\.\w+)?", re.ASCII)

_NAME = r"[A-Za-z_]\w*(?:(?:\.|::)\w+)*"
_TYPE = rf"({_NAME})(?:\(([a-z](?:\|[a-z])*!?(?: -> (?:\*|[a-z](?:\|[a-z])*))?)\))?((?:\?|\[[0-9]*\])*)"
_ATOM = rf"-?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|{_NAME})"
_STRING = r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""
_ARGUMENT = re.compile(
    rf"{_TYPE} ([A-Za-z_]\w*)(?:=({_ATOM}|{_STRING}|\[(?:{_ATOM}(?:,{_ATOM})*)?\]))?", re.ASCII | re.DOTALL
)
_RETURN = re.compile(rf"{_TYPE}(?: ([A-Za-z_]\w*))?", re.ASCII)


#: The maximum length of a schema, which bounds the cost of hostile input.
MAX_LENGTH = 10_000


def is_canonical(text: str) -> bool:
    """Whether the text is certainly a canonical schema; cheaper than parsing."""
    return len(text) <= MAX_LENGTH and _split(text) is not None


@lru_cache(maxsize=16384)
def parse_schema(text: str) -> FunctionSchema:
    """Parse a schema without namespace.

    Raises:
        SchemaError: the text is not a schema.
    """
    if len(text) > MAX_LENGTH:
        raise SchemaError(f"the schema has {len(text)} characters, at most {MAX_LENGTH} are read", 0, len(text))
    schema = _parse_canonical(text)
    if schema is None:
        # Lark is imported only if needed
        from derivlint.schema.syntax.grammar_parser import parse_with_grammar

        schema = parse_with_grammar(text)
    return schema


#: The parts of a canonical schema, shared between schemas: the offset of the opening parenthesis, the arguments as
#: written (including the ``*``), those before the ``*`` and after it, the number of the latter that are written to
#: (always the last), and the returns with their offsets.
_Parts: TypeAlias = tuple[int, list[str], list[Argument], list[Argument], int, list[tuple[Return, int]]]


def _parse_canonical(text: str) -> FunctionSchema | None:
    """Parse canonical text, or return None for other text, which may be a valid schema."""
    parts = _split(text)
    if parts is None:
        return None
    opening, written, positional, keyword, out, returns = parts
    placed = []
    offset = opening + 1
    for item, part in zip(positional, written, strict=False):
        placed.append(Argument(item.name, item.type, item.default, item.annotation, item.marks, offset, item.bare))
        offset += len(part) + 2
    placed_keyword = []
    if keyword:
        offset += 3
        for item, part in zip(keyword, written[len(positional) + 1 :], strict=True):
            placed_keyword.append(
                Argument(item.name, item.type, item.default, item.annotation, item.marks, offset, item.bare)
            )
            offset += len(part) + 2
    first_out = len(keyword) - out
    arguments = Arguments.group(placed, placed_keyword[:first_out], placed_keyword[first_out:])
    returned = tuple([Return(item.name, item.type, item.annotation, item.marks, offset) for item, offset in returns])
    schema = FunctionSchema(OperatorName.parse(text[:opening]), arguments, returned, text, Span(0, opening))
    # canonical text is its own printed form, and printing thousands of schemas is slow
    schema.__dict__["canonical"] = text
    return schema


# the schemas of a file are first scanned, and most are parsed later
@lru_cache(maxsize=4096)
def _split(text: str) -> _Parts | None:
    """The parts of canonical text, or None for other text."""
    opening = text.find("(")
    closing = text.find(") -> ", opening + 1)
    if opening < 0 or closing < 0 or _OPERATOR.fullmatch(text, 0, opening) is None:
        return None
    inner = text[opening + 1 : closing]
    written = inner.split(", ") if inner else []
    positional: list[Argument | None] = []
    keyword: list[Argument | None] = []
    out = 0
    if "*" in written:
        star = written.index("*")
        positional.extend(map(_argument, written[:star]))
        keyword.extend(map(_argument, written[star + 1 :]))
        if not keyword:
            return None
    else:
        positional.extend(map(_argument, written))
    # None marks a part that is not an argument
    if not all(positional) or not all(keyword):
        return None
    if keyword and "!" in inner:
        writes = [item is not None and item.is_write for item in keyword]
        out = writes.count(True)
        if not all(writes[len(writes) - out :]):
            return None
    start = closing + 5
    if text.startswith("(", start):
        returns = _returns(text, start)
    else:
        single = _return(text[start:])
        returns = None if single is None else [(single, start)]
    if returns is None:
        return None
    return opening, written, cast("list[Argument]", positional), cast("list[Argument]", keyword), out, returns


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
    noted = parse_annotation(annotation) if annotation else None
    return Argument(name, type_, default, noted, marks, 0, f"{base}{suffixes} {name}")


def _returns(text: str, start: int) -> list[tuple[Return, int]] | None:
    """The returns in the parentheses at ``start``, or None for other text."""
    if not text.endswith(")"):
        return None
    inner = text[start + 1 : -1]
    if not inner:
        return []
    parts = inner.split(", ")
    if len(parts) == 1:
        return None
    returns = []
    offset = start + 1
    for part in parts:
        item = _return(part)
        if item is None:
            return None
        returns.append((item, offset))
        offset += len(part) + 2
    return returns


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
    """Parse a valid annotation without its parentheses."""
    before, _, after = text.partition(" -> ")
    write = before.endswith("!")
    aliases = tuple(before.removesuffix("!").split("|"))
    return Annotation(aliases, write, tuple(after.split("|")) if after else ())
