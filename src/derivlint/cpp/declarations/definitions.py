"""The function definitions of a C++ source file, with their bodies as statements.

Only functions at file scope and in namespaces are read. Preprocessor directives are ignored, so all branches of ``#if``
are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from derivlint.formula.nodes import Block, LambdaParam
from derivlint.formula.parsing.lambdas import partners, read_params
from derivlint.formula.parsing.statements import parse_body
from derivlint.formula.parsing.tokens import tokens
from derivlint.formula.vocabulary import TRIVIA, Token

#: Also matches comments and literals, so that a "#" in them is not taken for a directive.
_DIRECTIVE = re.compile(
    r'//[^\n]*|/\*[\s\S]*?\*/|"(?:[^"\\\n]|\\.)*"|(?P<directive>^[ \t]*#(?:[^\n\\]|\\[^\n]|\\\n)*)', re.MULTILINE
)
_NOT_BLANK = re.compile(r"[^\n]")
#: Words that may appear between parameters and body.
_BEFORE_BODY = frozenset({"const", "noexcept", "override"})


class FunctionDefinition(Struct, frozen=True):
    """A function with its body.

    Attributes:
        name: its name, without namespaces.
        start: the offset of its return type.
        end: the offset after the closing brace.
        name_start: the offset of its name.
        name_end: the offset after its name.
        params: the parameters.
        defaults: the number of parameters with a default value.
        body: the statements.
    """

    name: str
    start: int
    end: int
    name_start: int
    name_end: int
    params: tuple[LambdaParam, ...]
    defaults: int
    body: Block


def function_definitions(text: str) -> Iterator[FunctionDefinition]:
    """The functions that a source file defines, in order; never raises."""
    items = [token for token in tokens(_without_directives(text)) if token.type not in TRIVIA]
    partner = partners(items)
    begin = index = 0
    while index < len(items):
        kind = items[index].type
        if kind in ("SEMICOLON", "RBRACE"):
            begin = index + 1
        elif kind == "LBRACE":
            head = items[begin:index]
            is_linkage = len(head) == 2 and head[0].text == "extern" and head[1].type == "STRING"
            if not is_linkage and not any(token.text == "namespace" for token in head):
                closing = partner.get(index, len(items) - 1)
                definition = _definition(items, partner, begin, index, closing)
                if definition is not None:
                    yield definition
                index = closing
            begin = index + 1
        elif kind in ("LPAR", "LSQB"):
            index = partner.get(index, index)
        index += 1


def _without_directives(text: str) -> str:
    """Blank out preprocessor directives; offsets stay the same."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match["directive"] is None else _NOT_BLANK.sub(" ", match[0])

    return _DIRECTIVE.sub(blank, text) if "#" in text else text


def _definition(
    items: list[Token], partner: dict[int, int], begin: int, opening: int, closing: int
) -> FunctionDefinition | None:
    """The function whose body is between these braces, or None if they enclose something else."""
    end = opening
    while end > begin and items[end - 1].text in _BEFORE_BODY:
        end -= 1
    if end - begin < 3 or items[end - 1].type != "RPAR":
        return None
    first = next((index for index in range(begin, end) if partner.get(index) == end - 1), None)
    if first is None or first - begin < 2 or items[first - 1].type != "IDENT":
        return None
    name = items[first - 1]
    listed = items[first + 1 : end - 1]
    params = read_params(listed)
    return FunctionDefinition(
        name.text,
        items[begin].start,
        items[closing].end,
        name.start,
        name.end,
        params,
        sum(token.text == "=" for token in listed),
        parse_body(items[opening + 1 : closing], items[opening].start, items[closing].end),
    )
