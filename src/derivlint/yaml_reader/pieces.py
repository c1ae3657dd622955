"""The pieces of a file that is a list, one for each item, so that an item can be read without the others.

An item means the same on its own as between the others where no document marker, anchor or open quote joins them; see
:mod:`derivlint.yaml_reader.lines`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from collections.abc import Sequence as Seq
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from itertools import groupby, pairwise

from msgspec import Struct

from derivlint.source import SourceFile, Span
from derivlint.source.difference import Difference
from derivlint.source.file import BOM
from derivlint.yaml_reader.build import MAX_NODES, NodeBuilder
from derivlint.yaml_reader.events import open_events
from derivlint.yaml_reader.lines import LineReader, can_be_split
from derivlint.yaml_reader.nodes import Mapping, Sequence, YamlNode
from derivlint.yaml_reader.problems import ReadError, YamlProblem
from derivlint.yaml_reader.reader import Document, PlacedNode, broken_items, read_yaml

#: The line break before an item is searched, which is faster than the start of a line.
_ITEM = re.compile(r"\n-(?=[ \t\r\n]|\Z)")
_FIRST_ITEM = re.compile(_ITEM.pattern[2:])


def pieces_of(document: Document) -> tuple[int, ...] | None:
    """Where the piece of each item of a document begins, and where the last one ends.

    None where lines do not separate the items, or these share nodes. What is between two items is a part of the
    first.
    """
    root = document.root
    if document.has_anchors or not isinstance(root, Sequence) or not root.items:
        return None
    if root.flow or root.tag is not None:
        return None
    starts = _item_starts(document.source)
    if starts is None:
        return None
    found = [starts[bisect_right(starts, node.start) - 1] for node in root.items]
    # a line that looks like an item may be in quotes; if the YAML breaks elsewhere, it counts as one
    broken = {starts[bisect_right(starts, problem.span.start) - 1] for problem in document.problems}
    if not broken.union(found).issuperset(starts):
        return None
    found.append(len(document.source.text))
    ordered = all(start <= node.start < end for node, start, end in zip(root.items, found, found[1:], strict=False))
    return tuple(found) if ordered else None


def _item_starts(source: SourceFile) -> list[int] | None:
    text = source.text
    if source.undecodable is not None or text.startswith(BOM) or not can_be_split(text):
        return None
    first = [0] if _FIRST_ITEM.match(text) else []
    return [*first, *(match.end() - 1 for match in _ITEM.finditer(text))] or None


class Pieces(Document):
    """A document that is a list, whose items are read on their own, when they are asked for.

    Attributes:
        bounds: where the piece of each item begins, and where the last one ends; an item that is not YAML is a part of
            the piece before.
        ends: where items end that are followed by others which are not YAML, by where they begin.
    """

    def __init__(
        self,
        source: SourceFile,
        bounds: tuple[int, ...],
        ends: dict[int, int],
        problems: Seq[YamlProblem] = (),
        nodes: Seq[YamlNode] | None = None,
    ) -> None:
        """A document of items.

        Args:
            source: the text.
            bounds: where the piece of each item begins, and where the last one ends.
            ends: where items end that are followed by others which are not YAML, by where they begin.
            problems: what is wrong with those.
            nodes: the items, where all were read.
        """
        super().__init__(source, None, tuple(problems))
        self.ends = ends
        self.bounds = bounds
        self._nodes = nodes

    @property
    def count(self) -> int:
        """The number of items."""
        return len(self.bounds) - 1

    @property
    def items(self) -> Iterator[PlacedNode]:
        """The items, and where their pieces begin."""
        return map(self.item, range(self.count))

    def item(self, index: int) -> PlacedNode:
        """An item, and where its piece begins."""
        if self._nodes is not None:
            return PlacedNode(self._nodes[index], self.bounds[index])
        found = read_piece(Cut(self.source.text, self.bounds, self.ends).text_of(index))
        assert found is not None, "the item can be read on its own"
        return PlacedNode(found, self.bounds[index])

    def node_around(self, offset: int) -> PlacedNode | None:
        """The item whose piece has a character; None above the first one."""
        index = bisect_right(self.bounds, offset) - 1
        return self.item(min(index, self.count - 1)) if index >= 0 else None

    @cached_property
    def root(self) -> YamlNode | None:
        """The list, read as a whole."""
        return read_yaml(self.source).root


class Cut(Struct, frozen=True):
    """A text that is a list, cut into pieces.

    Attributes:
        text: the text.
        bounds: where the piece of each item begins, and where the last one ends.
        ends: where pieces end before the next one begins, by where they begin: what is between is not YAML.
    """

    text: str
    bounds: tuple[int, ...]
    ends: dict[int, int] = {}

    def piece(self, index: int) -> Span:
        """Where a piece is."""
        start = self.bounds[index]
        return Span(start, self.ends.get(start, self.bounds[index + 1]))

    def text_of(self, index: int) -> str:
        """The text of a piece."""
        piece = self.piece(index)
        return self.text[piece.start : piece.end]

    def same_as(self, after: Cut, changed: Difference) -> Iterator[tuple[int, int, int]]:
        """The runs of pieces that are in another text as well: their places in both, and their number, in order.

        The pieces of a run are as far from each other there as here.

        Args:
            after: the other text.
            changed: where that differs.
        """
        first = min(max(bisect_right(self.bounds, changed.start) - 1, 0), len(after.bounds) - 1)
        while first and self.bounds[first] != after.bounds[first]:
            first -= 1
        if self.bounds[:first] != after.bounds[:first]:
            first = 0
        # every piece before is the same, as is every one from here on
        last = max(bisect_left(self.bounds, changed.before), first)
        shift = changed.after - changed.before
        count = len(self.bounds) - 1 - last
        if len(after.bounds) - 1 - count < first or self.moved(last, shift) != after.bounds[-count - 1 :]:
            count, last = 0, len(self.bounds) - 1
        yield 0, 0, first
        inner, other = self.pieces(first, last), after.pieces(first, len(after.bounds) - 1 - count)
        if inner and other:
            for block in SequenceMatcher(None, inner, other, autojunk=False).get_matching_blocks():
                old, new = first + block.a, first + block.b
                shifts = [after.bounds[new + at] - self.bounds[old + at] for at in range(block.size)]
                # what is not YAML may be between two pieces, with another length
                for _, same in groupby(shifts):
                    size = len([*same])
                    yield old, new, size
                    old, new = old + size, new + size
        yield last, len(after.bounds) - 1 - count, count

    def pieces(self, first: int, last: int) -> list[str]:
        """The pieces from one place to another one."""
        ends = self.ends
        return [self.text[start : ends.get(start, end)] for start, end in pairwise(self.bounds[first : last + 1])]

    def moved(self, first: int, shift: int) -> tuple[int, ...]:
        """The bounds from one place on, if that text is moved."""
        return tuple([bound + shift for bound in self.bounds[first:]]) if shift else self.bounds[first:]


def read_pieces(source: SourceFile, before: Cut, flawed: Collection[int]) -> Pieces | None:
    """The pieces of a text; those of an earlier text are not read again. None where it has to be read as a whole.

    Args:
        source: the text.
        before: the earlier text, whose items all could be read on their own,
        flawed: but for those in these pieces; -1 stands for what comes before the first.
    """
    text = source.text
    if source.undecodable is not None or text.startswith(BOM):
        return None
    changed = source.since(before.text)
    count = len(before.bounds) - 1
    # the character after the dash, and the line break before it, make an item
    first = bisect_right(before.bounds, changed.start - 2) - 1
    last = bisect_left(before.bounds, changed.before + 1)
    first, last = max(min(first, *flawed, count), 0), min(max(last, *(at + 1 for at in flawed), first + 1), count)
    shift = changed.after - changed.before
    start, end = before.bounds[first] if first else 0, before.bounds[last] + shift
    if not can_be_split(text[max(start - 1, 0) : end]):
        return None
    known = {piece for at in range(first, last) if at not in flawed for piece in before.pieces(at, at + 1)}
    starts = [start] if first or _FIRST_ITEM.match(text) else []
    starts += [match.end() - 1 for match in _ITEM.finditer(text, start, end)]
    # what comes before the first item is the same where that is
    head = "" if first else text[: [*starts, end][0]]
    if _is_something(head):
        return None
    bounds = [*before.bounds[:first]]
    ends: dict[int, int] = {}
    broken: list[Span] = []
    for item in map(Span, starts, [*starts[1:], end]):
        piece = text[item.start : item.end]
        if piece in known or read_piece(piece) is not None:
            bounds.append(item.start)
            continue
        broken.append(item)
        if len(broken) > MAX_BROKEN:
            return None
        if bounds:
            ends.setdefault(bounds[-1], item.start)
    bounds += before.moved(last, shift)
    problems = broken_items(source, broken)
    return Pieces(source, tuple(bounds), ends, problems) if len(bounds) > 1 and problems is not None else None


#: With more items that are not YAML, the text is read as a whole.
MAX_BROKEN = 4
#: A line above the first item that is not a comment.
_SOMETHING = re.compile(r"[ ]*[^ #\r\n]")


def _is_something(head: str) -> bool:
    return any(_SOMETHING.match(line) for line in head.splitlines())


def read_list(source: SourceFile) -> Pieces | None:
    """The pieces of a text that is a list; None where it has to be read as a whole."""
    starts = _item_starts(source)
    # where there are fewer characters, there are not too many nodes
    if starts is None or _is_something(source.text[: starts[0]]) or len(source.text) > MAX_NODES:
        return None
    bounds = (*starts, len(source.text))
    nodes: list[YamlNode] = []
    for piece in Cut(source.text, bounds).pieces(0, len(starts)):
        node = _read_piece(piece)
        if node is None:
            return None
        nodes.append(node)
    return Pieces(source, bounds, {}, (), nodes)


def _read_piece(text: str) -> YamlNode | None:
    """The item that a piece holds; None where it cannot be read on its own without doubt."""
    parts = LineReader(text, 0, len(text)).read()
    if parts is not None and len(parts) == 1 and isinstance(parts[0], Mapping):
        return parts[0]
    return _parsed(text)


#: The same, of pieces that are edited and looked at again.
read_piece = lru_cache(maxsize=256)(_read_piece)


def _parsed(text: str) -> YamlNode | None:
    from ruamel.yaml.error import YAMLError

    builder = NodeBuilder(text, 0, {})
    try:
        root = builder.build(open_events(text, pure=False))
    except (ReadError, YAMLError, UnicodeError):
        return None
    if builder.problems or builder.anchors or not isinstance(root, Sequence) or root.flow or len(root.items) != 1:
        return None
    return root.items[0]
