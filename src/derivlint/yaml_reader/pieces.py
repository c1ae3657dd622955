"""The pieces of a file that is a list, one for each item, so that an item can be read without the others.

An item means the same on its own as between the others where no document marker, anchor or open quote joins them; see
:mod:`derivlint.yaml_reader.lines`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence as Seq

from derivlint.source import SourceFile, Span
from derivlint.source.file import BOM
from derivlint.source.lazy import cached_property
from derivlint.yaml_reader.build import NodeBuilder
from derivlint.yaml_reader.events import open_events
from derivlint.yaml_reader.lines import LineReader, can_be_split
from derivlint.yaml_reader.nodes import Mapping, Node, Sequence
from derivlint.yaml_reader.problems import ReadError
from derivlint.yaml_reader.reader import Document, read_yaml

_ITEM = re.compile(r"^-(?=[ \t\r\n]|\Z)", re.MULTILINE)


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
    found.append(len(document.source.text))
    ordered = all(start <= node.start < end for node, start, end in zip(root.items, found, found[1:], strict=False))
    return tuple(found) if ordered else None


def _item_starts(source: SourceFile) -> list[int] | None:
    text = source.text
    if source.undecodable is not None or text.startswith(BOM) or not can_be_split(text):
        return None
    return [match.start() for match in _ITEM.finditer(text)] or None


class Pieces(Document):
    """A document whose items are read when they are asked for.

    Attributes:
        bounds: where the piece of each item begins, and where the last one ends.
    """

    def __init__(self, source: SourceFile, bounds: Seq[int]) -> None:
        super().__init__(source, None, ())
        self.bounds = tuple(bounds)
        self._nodes: list[Node | None] = [None] * (len(bounds) - 1)

    @property
    def count(self) -> int:
        """The number of items."""
        return len(self._nodes)

    def can_read(self, index: int) -> bool:
        """Whether an item can be read on its own."""
        if self._nodes[index] is None:
            self._nodes[index] = read_piece(self.source.text, self.bounds[index], self.bounds[index + 1])
        return self._nodes[index] is not None

    def node(self, index: int) -> Node:
        """An item that can be read on its own.

        Raises:
            ValueError: it cannot.
        """
        if not self.can_read(index):
            raise ValueError(f"item {index} cannot be read on its own")
        found = self._nodes[index]
        assert found is not None
        return found

    @cached_property
    def root(self) -> Node:
        """All items; those that were read already are the same objects."""
        items = read_yaml(self.source).root
        assert isinstance(items, Sequence)
        root = Sequence(items.start, items.end, None, False)
        nodes = zip(self._nodes, items.items, strict=True)
        root.items = tuple(new if known is None else known for known, new in nodes)
        self._nodes[:] = root.items
        return root


def split(source: SourceFile) -> tuple[int, ...] | None:
    """Where the pieces of a text begin that looks like a plain list, and where the last one ends; else None."""
    starts = _item_starts(source)
    if starts is None or any(_SOMETHING.match(line) for line in source.text[: starts[0]].splitlines()):
        return None
    return (*starts, len(source.text))


#: A line above the first item that is not a comment.
_SOMETHING = re.compile(r"[ ]*[^ #\r\n]")


def read_piece(text: str, start: int, end: int) -> Node | None:
    """The item that a piece holds; None where it cannot be read on its own without doubt."""
    parts = LineReader(text, start, end).read()
    if parts is not None and len(parts) == 1 and isinstance(parts[0], Mapping) and parts[0].end <= end:
        return parts[0]
    return _parsed(text, Span(start, end))


def _parsed(text: str, place: Span) -> Node | None:
    from ruamel.yaml.error import YAMLError

    builder = NodeBuilder(text, place.start, {})
    try:
        root = builder.build(open_events(text[place.start : place.end], pure=False))
    except (ReadError, YAMLError, UnicodeError):
        return None
    if builder.problems or builder.anchors or not isinstance(root, Sequence) or root.flow or len(root.items) != 1:
        return None
    return root.items[0]
