"""The tokens and the syntax tree of a text that mixes Python and C++."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from derivlint.formula.parsing.angles import mark_angles, mark_casts
from derivlint.formula.parsing.lambdas import mark_lambdas
from derivlint.formula.parsing.tokens import tokens
from derivlint.formula.vocabulary import TRIVIA, Token, words

Kind = Literal[
    "assignment",
    "binary",
    "braces",
    "call",
    "chain",
    "comprehension",
    "conditional",
    "ellipsis",
    "if",
    "in",
    "index",
    "is",
    "keyword",
    "lambda",
    "list",
    "member",
    "name",
    "number",
    "other",
    "parentheses",
    "slice",
    "string",
    "tuple",
    "unary",
    "unpacking",
    "walrus",
]


class Part(Struct, eq=False):
    """A node of the tree.

    Attributes:
        kind: its kind.
        start: the offset of its first character.
        end: the offset after its last character.
        parts: its child nodes in source order; of a slice, its bounds.
        token: its characteristic token: an operator, a name, the literal itself.
        text: the text of the token; words of an operator such as ``not in`` are separated by one blank.
    """

    kind: Kind
    start: int
    end: int
    parts: tuple[Part | None, ...] = ()
    token: Token | None = None
    text: str = ""

    @property
    def children(self) -> tuple[Part, ...]:
        """The child nodes, without omitted bounds of a slice."""
        return tuple(part for part in self.parts if part is not None)

    @property
    def dotted(self) -> str:
        """The dotted name, such as ``torch.nn.functional``; empty for anything else."""
        names: list[str] = []
        part = self
        while part.kind == "member":
            owner = part.children[0]
            names.append(part.text)
            part = owner
        return ".".join((part.text, *reversed(names))) if part.kind == "name" else ""


class PythonComment(Struct, frozen=True):
    """A Python comment, ``# like this``, up to the end of the line."""

    start: int
    end: int


POWER = "POWER"
FLOOR_DIVISION = "FLOOR_DIVISION"
WALRUS = "WALRUS"
ELLIPSIS = "ELLIPSIS"
WORD = "WORD"
PYTHON_STRING = "PYTHON_STRING"
#: Keywords of Python that C++ lacks or uses differently.
_WORDS = words("is in if else lambda for")
_STRING_PREFIXES = words("f F r R b B fr rf Fr Rf u U")
#: Adjacent tokens that form one operator in Python.
_JOINED = {("*", "*"): POWER, (":", "="): WALRUS}


def python_tokens(text: str) -> tuple[list[Token], list[PythonComment]]:
    """The tokens without blanks, and the Python comments."""
    comments: list[PythonComment] = []
    significant = list(_significant(text, 0, comments))
    joined = _joined(text, significant)
    marked, _ = mark_lambdas(mark_casts(mark_angles(joined)))
    return marked, comments


def _significant(text: str, offset: int, comments: list[PythonComment]) -> list[Token]:
    """The tokens from an offset on; a C++ comment, ``//``, is a Python floor division."""
    made: list[Token] = []
    resume = offset
    for token in tokens(text[offset:]):
        start, end = token.start + offset, token.end + offset
        if start < resume or (token.type in TRIVIA and token.type != "LINE_COMMENT"):
            continue
        if token.type == "LINE_COMMENT":
            made.append(Token(FLOOR_DIVISION, "//", start, start + 2))
            return made + _significant(text, start + 2, comments)
        if token.text == "#":
            line = text.find("\n", start)
            resume = len(text) if line < 0 else line
            comments.append(PythonComment(start, resume))
            rest = _significant(text, resume, comments)
            return made + rest
        made.append(Token(token.type, token.text, start, end))
    return made


def _joined(text: str, significant: list[Token]) -> list[Token]:
    """Join the tokens that form one Python operator."""
    made: list[Token] = []
    index = 0
    while index < len(significant):
        token = significant[index]
        following = significant[index + 1] if index + 1 < len(significant) else None
        touches = following is not None and following.start == token.end
        kind, count = token.type, 1
        if following is not None and touches and (token.text, following.text) in _JOINED:
            kind, count = _JOINED[token.text, following.text], 2
        elif text.startswith("...", token.start):
            kind, count = ELLIPSIS, 3
        elif following is not None and (token.text, following.text) in (("not", "in"), ("is", "not")):
            kind, count = WORD, 2
        elif token.text in _WORDS and token.type in ("IDENT", "KEYWORD"):
            kind = WORD
        elif token.type == "CHAR":
            kind = PYTHON_STRING
        elif following is not None and touches and token.text in _STRING_PREFIXES:
            if following.type in ("STRING", "CHAR"):
                kind, count = PYTHON_STRING, 2
        elif token.type == "SCOPE" and (following is None or following.type != "IDENT"):
            # a slice without bounds: x[::2]
            made += (Token("COLON", ":", at, at + 1) for at in (token.start, token.start + 1))
            index += 1
            continue
        last = significant[min(index + count, len(significant)) - 1]
        written = token.text if count == 1 else " ".join(text[token.start : last.end].split())
        made.append(token if kind == token.type else Token(kind, written, token.start, last.end))
        index += count
    return made
