"""YAML nodes with places: scalars, sequences and mappings as the file writes them, duplicate keys kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from derivlint.source import Span
from derivlint.yaml_reader.decode import DecodeMap, decode_map
from derivlint.yaml_reader.kinds import ScalarKind, kind_of_tag, resolve_kind

if TYPE_CHECKING:
    from collections.abc import Iterator

ScalarStyle: TypeAlias = Literal["plain", "single", "double", "literal", "folded"]


class YamlNode(Struct, eq=False):
    """A node and its range in the file.

    An aliased node is one shared object, with the place of its anchor. Properties (``&anchor``, ``!tag``) come before
    a node and are not part of its range, so replacing the range keeps them.

    Attributes:
        start: offset of the first character.
        end: offset after the last character; trailing blanks, blank lines and comments never count.
        tag: the resolved explicit tag, such as ``tag:yaml.org,2002:str`` for ``!!str``, or None.
    """

    start: int
    end: int
    tag: str | None

    @property
    def span(self) -> Span:
        """The node's range; for quoted scalars with the quotes, for block scalars from the ``|`` or ``>``."""
        return Span(self.start, self.end)


class Scalar(YamlNode, eq=False):
    """A scalar: its decoded text, and where in the file each decoded character comes from.

    Attributes:
        value: the decoded text.
        style: how it is written.
        text: the text of the whole file.
    """

    value: str
    style: ScalarStyle
    text: str
    #: None where it is to be found out when asked for; so is the place.
    _kind: ScalarKind | None = None
    #: The shift of an unchanged text, -1 where the place is inexact, or the decode map.
    _place: int | DecodeMap | None = None

    def __repr__(self) -> str:
        return f"Scalar({self.value!r}, {self.style}, {self.start}:{self.end})"

    @property
    def kind(self) -> ScalarKind:
        """The type that PyYAML's SafeLoader (YAML 1.1) gives the scalar; ``other`` if it has no such type."""
        kind = self._kind
        if kind is None:
            kind = kind_of_tag(self.tag) if self.tag is not None else resolve_kind(self.value)
            self._kind = kind
        return kind

    @property
    def exact(self) -> bool:
        """Whether every decoded character has a known place in the file."""
        place = self._place
        if place is None:
            place = self._locate()
        return place != -1

    def offset(self, index: int) -> int:
        """The file offset of decoded character ``index``; ``len(value)`` gives the end of the last character.

        A character that an escape produced has the offset of the escape; the space or newline of a folded line end has
        the offset of that line end. In a scalar that is not ``exact`` every character has the scalar's start.
        """
        place = self._place
        if place is None:
            place = self._locate()
        if isinstance(place, tuple):
            starts, ends = place
            if index < len(starts):
                return starts[index]
            return ends[-1]
        return place + index if place >= 0 else self.start

    def span_of(self, start: int, end: int) -> Span:
        """The file range that decodes to ``value[start:end]``; if not ``exact``, the whole scalar's range."""
        place = self._place
        if place is None:
            place = self._locate()
        if isinstance(place, tuple):
            first = self.offset(start)
            return Span(first, place[1][end - 1] if end > start else first)
        if place < 0:
            return Span(self.start, self.end)
        return Span(place + start, place + end)

    def _locate(self) -> int | DecodeMap:
        """Find out ``_place``."""
        value = self.value
        place: int | DecodeMap = -1
        if self.style == "plain":
            if self.end - self.start == len(value) and self.text.startswith(value, self.start):
                place = self.start
        # Every escape and every folding changes the length or a character, so equal text means one to one.
        elif (
            self.style in ("single", "double")
            and self.end - self.start - 2 == len(value)
            and self.text.startswith(value, self.start + 1)
        ):
            place = self.start + 1
        if place == -1:
            found = decode_map(self.text, self.start, self.end, value, self.style)
            if found is not None:
                place = found
        self._place = place
        return place


class Sequence(YamlNode, eq=False):
    """A list.

    Attributes:
        items: its nodes.
        flow: whether it is written ``[a, b]``.
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
    def span(self) -> Span:
        """From the key's start to the value's end; of an aliased value, the key's range."""
        return Span(
            self.key.start, max(self.key.end, self.value.end) if self.value.start >= self.key.end else self.key.end
        )


class Mapping(YamlNode, eq=False):
    """A mapping.

    Attributes:
        pairs: its pairs in file order; a key that occurs twice is there twice.
        flow: whether it is written ``{a: b}``.
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
