"""The pieces of a file that is a list, one for each item, so that an item can be read without the others.

An item means the same on its own as between the others where no document marker, anchor or open quote joins them; see
:mod:`derivlint.yaml_reader.lines`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection
from collections.abc import Mapping as Map
from collections.abc import Sequence as Seq
from itertools import pairwise

from derivlint.source import SourceFile, Span
from derivlint.source.file import BOM
from derivlint.source.lazy import cached_property
from derivlint.yaml_reader.build import NodeBuilder
from derivlint.yaml_reader.events import open_events
from derivlint.yaml_reader.lines import LineReader, can_be_split
from derivlint.yaml_reader.nodes import Mapping, Sequence, YamlNode
from derivlint.yaml_reader.problems import ReadError, YamlProblem
from derivlint.yaml_reader.reader import Document, broken_items, read_yaml

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
    """A document whose items are read when they are asked for.

    Attributes:
        bounds: where the piece of each item begins, and where the last one ends; an item that is not YAML is a part of
            the piece before.
    """

    def __init__(self, source: SourceFile, nodes: Map[Span, YamlNode | None], problems: Seq[YamlProblem] = ()) -> None:
        """A document of items.

        Args:
            source: the text.
            nodes: where each item is that can be read on its own, in file order, with its node if it was read.
            problems: what is wrong with the other items.
        """
        super().__init__(source, None, tuple(problems))
        self._items = tuple(nodes)
        self._nodes = list(nodes.values())
        self.bounds = (*(item.start for item in nodes), len(source.text))

    @property
    def count(self) -> int:
        """The number of items."""
        return len(self._items)

    def node(self, index: int) -> YamlNode:
        """An item."""
        found = self._nodes[index]
        if found is None:
            item = self._items[index]
            found = self._nodes[index] = read_piece(self.source.text, item)
            assert found is not None, "the item can be read on its own"
        return found

    def node_around(self, offset: int) -> YamlNode | None:
        """The item whose piece has a character; None above the first one."""
        index = bisect_right(self.bounds, offset) - 1
        return self.node(min(index, self.count - 1)) if index >= 0 else None

    @cached_property
    def root(self) -> YamlNode:
        """All items; those that were read already are the same objects."""
        items = read_yaml(self.source).root
        assert isinstance(items, Sequence)
        root = Sequence(items.start, items.end, None, False)
        nodes = zip(self._nodes, items.items, strict=True)
        root.items = tuple(new if known is None else known for known, new in nodes)
        self._nodes[:] = root.items
        return root


def read_pieces(source: SourceFile, known: Collection[str]) -> Pieces | None:
    """The pieces of a text; None where it has to be read as a whole.

    Args:
        source: the text.
        known: pieces that can be read on their own.
    """
    starts = _item_starts(source)
    if starts is None or any(_SOMETHING.match(line) for line in source.text[: starts[0]].splitlines()):
        return None
    nodes: dict[Span, YamlNode | None] = {}
    broken: list[Span] = []
    for start, end in pairwise([*starts, len(source.text)]):
        item = Span(start, end)
        node = None
        if source.text[start:end] not in known:
            node = read_piece(source.text, item)
            if node is None:
                broken.append(item)
                if len(broken) > MAX_BROKEN:
                    return None
                continue
        nodes[item] = node
    problems = broken_items(source, broken)
    return Pieces(source, nodes, problems) if nodes and problems is not None else None


#: With more items that are not YAML, the text is read as a whole.
MAX_BROKEN = 4
#: A line above the first item that is not a comment.
_SOMETHING = re.compile(r"[ ]*[^ #\r\n]")


def read_piece(text: str, place: Span) -> YamlNode | None:
    """The item that a piece holds; None where it cannot be read on its own without doubt."""
    parts = LineReader(text, place.start, place.end).read()
    if parts is not None and len(parts) == 1 and isinstance(parts[0], Mapping) and parts[0].end <= place.end:
        return parts[0]
    return _parsed(text, place)


def _parsed(text: str, place: Span) -> YamlNode | None:
    from ruamel.yaml.error import YAMLError

    builder = NodeBuilder(text, place.start, {})
    try:
        root = builder.build(open_events(text[place.start : place.end], pure=False))
    except (ReadError, YAMLError, UnicodeError):
        return None
    if builder.problems or builder.anchors or not isinstance(root, Sequence) or root.flow or len(root.items) != 1:
        return None
    return root.items[0]
