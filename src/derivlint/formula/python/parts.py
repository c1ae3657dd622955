"""The parts of a text that mixes Python and C++."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from derivlint.formula.vocabulary import Token

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
    """A part of the text with what it consists of.

    Attributes:
        kind: what it is.
        start: the offset of its first character.
        end: the offset after its last character.
        parts: what it consists of, in source order; of a slice its bounds.
        token: the token that says what it is: an operator, a name, the literal itself.
        text: what the token says; operators of several words are separated by one blank.
    """

    kind: Kind
    start: int
    end: int
    parts: tuple[Part | None, ...] = ()
    token: Token | None = None
    text: str = ""

    @property
    def children(self) -> tuple[Part, ...]:
        """Its parts without the bounds that a slice leaves out."""
        return tuple(part for part in self.parts if part is not None)

    @property
    def dotted(self) -> str:
        """``torch.nn.functional`` of such a name with members, empty for anything else."""
        names: list[str] = []
        part = self
        while part.kind == "member":
            owner = part.children[0]
            names.append(part.text)
            part = owner
        return ".".join((part.text, *reversed(names))) if part.kind == "name" else ""


class PythonComment(Struct, frozen=True):
    """A comment of Python: ``# like this`` up to the end of the line."""

    start: int
    end: int
