r"""The words of a formula as torchgen's regular expressions match them, with their roles.

torchgen searches ``(^|\W)name($|\W)``, so it matches every run of word characters: also the member ``grad`` in
``x.grad``, and ``floor`` in a string literal. The role tells them apart.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from derivlint.formula.parsing.lambdas import LambdaInfo
from derivlint.formula.vocabulary import Token

_WORD = re.compile(r"\w+")
#: Tokens that contain no words and do not affect the roles of others.
_WORDLESS = frozenset({"NUMBER", "LPAR", "RPAR", "LSQB", "RSQB", "LBRACE", "RBRACE", "COMMA", "SCOPE", "ACCESS"})
_start = attrgetter("start")


class Word(NamedTuple):
    """A run of word characters.

    Attributes:
        text: the word.
        start: the offset of its first character.
        end: the offset after its last character.
        role: ``variable`` (a simple name used as a value), ``callee`` (a simple name that is called or constructed),
            ``qualified`` (a segment of a qualified name), ``member`` (after ``.`` or ``->``), ``type`` (in template
            arguments, a cast or a declaration), ``lambda`` (a lambda's parameter or its use), ``keyword`` (``return``,
            ``and``), ``string`` or ``comment`` (inside one).
    """

    text: str
    start: int
    end: int
    role: str


def find_words(text: str, tokens: list[Token], lambdas: list[LambdaInfo]) -> tuple[Word, ...]:
    """The words of a text, given its significant tokens and its lambdas."""
    words: list[Word] = []
    count = len(tokens)
    template_depth = 0
    cast_end = -1
    position = 0
    before = kind = ""
    for index, token in enumerate(tokens):
        before, kind = kind, token.type
        # only blanks and comments lie between tokens
        if token.start > position + 1:
            _add(words, text, position, token.start, "comment")
        position = token.end
        if kind in _WORDLESS:
            continue
        if kind == "IDENT":
            after = tokens[index + 1].type if index + 1 < count else ""
            if before == "ACCESS":
                role = "member"
            elif template_depth or token.start < cast_end:
                role = "type"
            elif before == "SCOPE" or after == "SCOPE":
                role = "qualified"
            elif after in ("LPAR", "LBRACE", "TEMPLATE_OPEN"):
                role = "callee"
            else:
                role = "variable"
            words.append(Word(token.text, token.start, token.end, role))
        elif kind == "TEMPLATE_OPEN":
            template_depth += 1
        elif kind == "TEMPLATE_CLOSE":
            template_depth -= 1
        elif kind == "CAST_OPEN":
            cast_end = next(later.start for later in islice(tokens, index, None) if later.type == "RPAR")
        elif kind in ("STRING", "CHAR", "UNCLOSED_STRING"):
            _add(words, text, token.start, token.end, "string")
        elif kind == "UNCLOSED_COMMENT":
            _add(words, text, token.start, token.end, "comment")
        elif token.text[0] == "_" or token.text[0].isalnum():
            _add(words, text, token.start, token.end, "keyword" if kind != "BAD" else "variable")
    _add(words, text, position, len(text), "comment")
    if lambdas:
        _mark_lambdas(words, lambdas)
    return tuple(words)


def _add(words: list[Word], text: str, start: int, end: int, role: str) -> None:
    words.extend(Word(match[0], match.start(), match.end(), role) for match in _WORD.finditer(text, start, end))


def _mark_lambdas(words: list[Word], lambdas: list[LambdaInfo]) -> None:
    """Set the roles of words in lambdas: declared types, parameters and other local names.

    Args:
        words: the words, in source order.
        lambdas: the lambdas by start; they are nested or disjoint.
    """
    type_starts = set().union(*(info.type_starts for info in lambdas))
    pending = lambdas[::-1]
    open_lambdas: list[LambdaInfo] = []
    # the number of enclosing lambdas that declare each name
    local: Counter[str] = Counter()
    for index in range(bisect_left(words, lambdas[0].start, key=_start), len(words)):
        word = words[index]
        while open_lambdas and open_lambdas[-1].end <= word.start:
            local.subtract(open_lambdas.pop().local_names)
        while pending and pending[-1].capture_end <= word.start:
            info = pending.pop()
            if word.start < info.end:
                open_lambdas.append(info)
                local.update(info.local_names)
        if word.start in type_starts:
            words[index] = word if word.role == "qualified" else word._replace(role="type")
        elif word.role in ("variable", "callee") and local[word.text] > 0:
            words[index] = word._replace(role="lambda")
