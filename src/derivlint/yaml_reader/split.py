"""Splitting of a plain list into items that are read independently.

An item is independent of the others unless a document marker, anchor or open quote joins them: a line that starts with
``- `` closes everything in the item before it except quotes and brackets, and the parser rejects an item that leaves
those open.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Seq
from functools import cached_property, lru_cache
from itertools import pairwise

from derivlint.source import SourceFile, Span
from derivlint.source.file import BOM
from derivlint.yaml_reader.build import MAX_NODES, NodeBuilder, open_events
from derivlint.yaml_reader.nodes import ReadError, Sequence, YamlNode, YamlProblem
from derivlint.yaml_reader.reader import Document, PlacedNode, broken_items, read_yaml

#: The maximum number of broken items; with more, the text is read as a whole.
MAX_BROKEN = 4
#: An item after a line end: searching ``\n`` is faster than ``^``.
_ITEM = re.compile(r"\n-(?=[ \t\r\n]|\Z)")
_FIRST_ITEM = re.compile(_ITEM.pattern[2:])
#: A line above the first item that is not a comment.
_CONTENT = re.compile(r"[ ]*[^ #\r\n]")


class SplitDocument(Document):
    """A list whose items are read one by one on demand.

    Attributes:
        spans: the spans of the items, each up to the next one.
        texts: the texts of the items.
    """

    def __init__(
        self,
        source: SourceFile,
        spans: Seq[Span],
        texts: Seq[str],
        nodes: Seq[YamlNode | None],
        problems: Seq[YamlProblem] = (),
    ) -> None:
        """Make a document.

        Args:
            source: the text.
            spans: the spans of the items.
            texts: their texts.
            nodes: the items; None for those to be read on demand.
            problems: the problems of broken items.
        """
        super().__init__(source, None, tuple(problems))
        self.spans = spans
        self.texts = texts
        self._nodes = [*nodes]

    @cached_property
    def starts(self) -> list[int]:
        """The start offsets of the items' texts."""
        return [span.start for span in self.spans]

    @property
    def count(self) -> int:
        """The number of items."""
        return len(self.spans)

    @property
    def items(self) -> Iterator[PlacedNode]:
        """The items and their start offsets."""
        return map(self.item, range(self.count))

    def item(self, index: int) -> PlacedNode:
        """An item and its start offset."""
        node = self._nodes[index]
        if node is None:
            node = self._nodes[index] = read_item(self.texts[index])
            assert node is not None, "the item can be read on its own"
        return PlacedNode(node, self.spans[index].start)

    def node_around(self, offset: int) -> PlacedNode | None:
        """The item whose text contains a character; None above the first one."""
        index = bisect_right(self.starts, offset) - 1
        return self.item(index) if index >= 0 else None

    @cached_property
    def root(self) -> YamlNode | None:
        """The list, read as a whole."""
        return read_yaml(self.source).root


def read_split(source: SourceFile, is_readable: Callable[[str], bool] | None = None) -> SplitDocument | None:
    """Split a text into items, or return None if it has to be read as a whole.

    Args:
        source: the text.
        is_readable: whether an item's text is known to be readable; such an item is not read again.
    """
    text = source.text
    if source.undecodable is not None or text.startswith(BOM):
        return None
    has_documents = "\n---" in text or "\n..." in text
    has_other_line_ends = "\r" in text and text.count("\r") != text.count("\r\n")
    if (
        has_documents
        or has_other_line_ends
        or (not text.isascii() and any(char in text for char in "\x85\u2028\u2029"))
    ):
        return None
    # an indicator begins at most two nodes: a key and its value
    if len(text) > MAX_NODES and 2 * sum(map(text.count, "-:?,[{")) >= MAX_NODES:
        return None
    starts = [0] if _FIRST_ITEM.match(text) else []
    starts += [match.end() - 1 for match in _ITEM.finditer(text)]
    if not starts or any(map(_CONTENT.match, text[: starts[0]].splitlines())):
        return None
    spans: list[Span] = []
    texts: list[str] = []
    nodes: list[YamlNode | None] = []
    broken: list[Span] = []
    for start, end in pairwise((*starts, len(text))):
        item = text[start:end]
        node = None if is_readable is not None and is_readable(item) else read_item(item) or _UNREADABLE
        if node is not _UNREADABLE:
            spans.append(Span(start, end))
            texts.append(item)
            nodes.append(node)
            continue
        broken.append(Span(start, end))
        if len(broken) > MAX_BROKEN:
            return None
    problems = broken_items(source, broken) if broken else ()
    return SplitDocument(source, spans, texts, nodes, problems) if spans and problems is not None else None


#: A placeholder for an item that is not YAML.
_UNREADABLE = YamlNode(0, 0, None)


@lru_cache(maxsize=256)
def read_item(text: str) -> YamlNode | None:
    """Read the item of a text; None if that is not certain to be its meaning in the file."""
    from ruamel.yaml.error import YAMLError

    builder = NodeBuilder(text, 0, {})
    try:
        root = builder.build(open_events(text, pure=False))
    except (ReadError, YAMLError, UnicodeError):
        return None
    if builder.problems or builder.anchors or not isinstance(root, Sequence) or root.flow or len(root.items) != 1:
        return None
    return root.items[0]
