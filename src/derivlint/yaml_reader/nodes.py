"""YAML nodes with ranges: scalars, sequences and mappings as written, duplicate keys included; problems.

Ranges are offsets in the text that a node was read from: a file, or one item of a list
(:mod:`derivlint.yaml_reader.split`), whose nodes do not depend on its position in the file.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from derivlint.source import Span
from derivlint.yaml_reader.decode import DecodeMap, decode_map, written_end
from derivlint.yaml_reader.kinds import ScalarKind

if TYPE_CHECKING:
    from collections.abc import Iterator


ScalarStyle: TypeAlias = Literal["plain", "single", "double", "literal", "folded"]


class YamlNode(Struct, frozen=True, eq=False):
    """A node and its range in its text.

    An aliased node is one shared object, with the range at its anchor. Properties (``&anchor``, ``!tag``) come before a
    node and are not part of its range, so replacing the range keeps them.

    Attributes:
        start: offset of the first character.
        end: offset after the last character; trailing blanks, blank lines and comments never count.
        tag: the resolved explicit tag, such as ``tag:yaml.org,2002:str`` for ``!!str``, or None.
    """

    start: int
    end: int
    tag: str | None

    @property
    def within(self) -> Span:
        """Its range in its text.

        Includes the quotes of quoted scalars and the ``|`` or ``>`` of block scalars.
        """
        return Span(self.start, self.end)


class Scalar(YamlNode, frozen=True, eq=False):
    """A scalar: its decoded text, and the source range of each decoded character.

    Attributes:
        value: the decoded text.
        style: how it is written.
        text: the text that it was read from.
        kind: its type for PyYAML's SafeLoader (YAML 1.1), or ``other``.
    """

    value: str
    style: ScalarStyle
    text: str
    kind: ScalarKind

    def __repr__(self) -> str:
        return f"Scalar({self.value!r}, {self.style}, {self.start}:{self.end})"

    @property
    def exact(self) -> bool:
        """Whether the source range of every decoded character is known."""
        return self._located != -1

    def offset(self, index: int) -> int:
        """The source offset of the decoded character ``index``; ``len(value)`` gives the end of the last character.

        An escaped character has the offset of its escape; the space or newline of a folded line end, that of the line
        end. In a scalar that is not ``exact``, every character has the scalar's start.
        """
        place = self._located
        if isinstance(place, tuple):
            starts, ends = place
            return self.start + (starts[index] if index < len(starts) else ends[-1])
        return place + index if place >= 0 else self.start

    def range_of(self, start: int, end: int) -> Span:
        """The source range of ``value[start:end]``; the whole scalar's range if not ``exact``."""
        place = self._located
        if isinstance(place, tuple):
            first = self.offset(start)
            return Span(first, self.start + place[1][end - 1] if end > start else first)
        if place < 0:
            return self.within
        return Span(place + start, place + end)

    @property
    def _located(self) -> int | DecodeMap:
        """The start of a text without changes, -1 if inexact, or the decode map relative to the start."""
        value, start = self.value, self.start
        length = self.end - start
        if self.style == "plain":
            if length == len(value) and self.text.startswith(value, start):
                return start
        # Every escape and fold changes the length or a character, so equal text is mapped one to one.
        elif self.style in ("single", "double") and length - 2 == len(value) and self.text.startswith(value, start + 1):
            return start + 1
        return _decoded(self.text[start : written_end(self.text, self.end, self.style)], value, self.style) or -1


@lru_cache(maxsize=256)
def _decoded(written: str, value: str, style: str) -> DecodeMap | None:
    return decode_map(written, value, style)


class Sequence(YamlNode, frozen=True, eq=False):
    """A list of nodes.

    Attributes:
        flow: whether it is written ``[a, b]``.
        items: its nodes.
    """

    flow: bool
    items: tuple[YamlNode, ...] = ()

    def __repr__(self) -> str:
        return f"Sequence({len(self.items)} items, {self.start}:{self.end})"


class Pair(NamedTuple):
    """A key and its value."""

    key: YamlNode
    value: YamlNode

    @property
    def within(self) -> Span:
        """The range from the key's start to the value's end; of an aliased value, the key's range."""
        return Span(
            self.key.start, max(self.key.end, self.value.end) if self.value.start >= self.key.end else self.key.end
        )


class Mapping(YamlNode, frozen=True, eq=False):
    """A mapping.

    Attributes:
        flow: whether it is written ``{a: b}``.
        pairs: its pairs in file order, duplicates included.
    """

    flow: bool
    pairs: tuple[Pair, ...] = ()

    def __repr__(self) -> str:
        return f"Mapping({len(self.pairs)} pairs, {self.start}:{self.end})"

    def find(self, name: str) -> Pair | None:
        """The last pair whose key is the string ``name``."""
        for pair in reversed(self.pairs):
            key = pair.key
            if isinstance(key, Scalar) and key.value == name and key.kind == "str":
                return pair
        return None

    def get(self, name: str) -> YamlNode | None:
        """The value of the last pair whose key is the string ``name``."""
        pair = self.find(name)
        return None if pair is None else pair.value

    def scalars(self) -> Iterator[tuple[Scalar, YamlNode]]:
        """The pairs whose key is a scalar."""
        for key, value in self.pairs:
            if isinstance(key, Scalar):
                yield key, value


class YamlProblemKind(Enum):
    """The kinds of problems in YAML."""

    SYNTAX = "syntax"
    #: too deeply nested, or too large
    LIMIT = "limit"
    #: not UTF-8, or with characters that YAML forbids
    ENCODING = "encoding"
    #: an unknown tag, or a value that cannot be built
    TAG = "tag"
    SEVERAL_DOCUMENTS = "several-documents"


class YamlProblem(Struct, frozen=True):
    """A problem in the YAML of a file.

    Attributes:
        kind: the kind of problem.
        message: the fact, on one line.
        span: its span.
        help: the cure.
        related: secondary spans, each with a description.
    """

    kind: YamlProblemKind
    message: str
    span: Span
    help: str | None = None
    related: tuple[tuple[str, Span], ...] = ()


class ReadError(Exception):
    """Reading cannot continue after ``problem``."""

    def __init__(self, problem: YamlProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem
