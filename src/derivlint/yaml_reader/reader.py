"""Read a file: as a whole if it is valid YAML, else list item by list item."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Final, NamedTuple

from msgspec import Struct

from derivlint.source import SourceFile, Span
from derivlint.source.file import BOM
from derivlint.yaml_reader.build import NodeBuilder, OpenNode, open_events
from derivlint.yaml_reader.nodes import ReadError, Sequence, YamlNode, YamlProblem, YamlProblemKind

#: The number of characters per file to read again in Python if libyaml rejects them: ruamel.yaml ships an older libyaml
#: than PyYAML, which rejects ``[at::kFloat]``. Reading in Python is 20 times slower.
PURE_BUDGET: Final = 100_000
#: The number of broken list items after which the rest of the file is skipped, since it is not a list of entries.
MAX_BROKEN_ITEMS: Final = 100
#: The maximum number of characters of a batch of items; a batch that fails is halved, down to one item.
MAX_BATCH: Final = 1 << 20


class PlacedNode(NamedTuple):
    """A node, and the offset in the file of the text that it was read from."""

    node: YamlNode
    start: int


class Document:
    """A file as YAML.

    Attributes:
        source: the file.
        problems: the problems of the YAML, in file order.
        has_anchors: whether the file has anchors, so that nodes may be shared.
    """

    def __init__(
        self, source: SourceFile, root: YamlNode | None, problems: tuple[YamlProblem, ...], *, has_anchors: bool = False
    ) -> None:
        self.source = source
        self.problems = problems
        self.has_anchors = has_anchors
        self._root = root

    @property
    def root(self) -> YamlNode | None:
        """The top-level node; None for an empty file, or if nothing could be read.

        If items of a top-level list cannot be read, the root has the others.
        """
        return self._root

    def node_around(self, offset: int) -> PlacedNode | None:
        """A node that contains everything around a character, or None if nothing is there."""
        return PlacedNode(self._root, 0) if self._root is not None else None


def read_yaml(source: SourceFile, *, pure: bool = False) -> Document:
    """Read the YAML of a file; never raises.

    Args:
        source: the file.
        pure: read with the Python parser even if the C parser is installed.
    """
    if source.undecodable is not None:
        problem = YamlProblem(
            YamlProblemKind.ENCODING, "the file is not UTF-8 text", source.undecodable, "save the file as UTF-8"
        )
        return Document(source, None, (problem,))
    return _Reading(source, pure).read()


def broken_items(source: SourceFile, items: Iterable[Span]) -> list[YamlProblem] | None:
    """The problems of list items that cannot be read on their own, as :func:`read_yaml` reports them.

    None unless the list is certainly invalid as a whole and each of the items has one syntax error: an open quote, for
    example, may be closed in the next item.

    Args:
        source: a list whose other items can be read on their own.
        items: the spans of the broken items, in file order.
    """
    reading = _Reading(source, pure=False)
    problems: list[YamlProblem] = []
    for item in items:
        if not problems and reading.part(item.start, len(source.text)).error is None:
            return None
        problem = reading.broken_item(item.start, item.end)
        if problem is None:
            return None
        problems.append(problem)
    return problems


class _Part(Struct):
    """A part of the file: its root and problems, or the error that ended it."""

    root: YamlNode | None
    problems: list[YamlProblem]
    anchors: dict[str, YamlNode | OpenNode]
    count: int = 0
    error: Exception | None = None
    stopped: YamlProblem | None = None

    @property
    def failed(self) -> bool:
        return self.error is not None or self.stopped is not None


class _Reading:
    """The state of reading one file."""

    def __init__(self, source: SourceFile, pure: bool) -> None:
        self.source = source
        self.text = source.text
        self.pure = pure
        self.budget = PURE_BUDGET
        self.anchors: dict[str, YamlNode | OpenNode] = {}
        self.count = 0
        self.rescued = False
        self.has_anchors = False

    def read(self) -> Document:
        base = 1 if self.text.startswith(BOM) else 0
        if self.text.startswith(BOM, base):
            problem = YamlProblem(
                YamlProblemKind.ENCODING, "a second byte order mark", Span(base, base + 1), "delete it"
            )
            return Document(self.source, None, (problem,))
        whole = self.part(base, len(self.text), self.pure)
        self.has_anchors = bool(whole.anchors)
        if not whole.failed:
            return self._document(whole.root, whole.problems)
        if whole.stopped is not None and whole.stopped.kind is YamlProblemKind.LIMIT:
            return Document(self.source, None, (whole.stopped,))
        forbidden = _find_forbidden(self.text, base, len(self.text))
        if forbidden is not None:
            return Document(self.source, None, (forbidden,))
        from derivlint.yaml_reader.items import find_items

        items = find_items(self.text, base)
        if items is None:
            part = self._diagnosed(base, len(self.text), whole)
            stops = [part.stopped] if part.stopped is not None else []
            return self._document(part.root, part.problems + stops)
        nodes, problems = self._read_items(items.starts, items.end)
        problems.extend(items.problems)
        if not self.rescued and all(problem.kind is YamlProblemKind.TAG for problem in problems):
            part = self._diagnosed(base, len(self.text), whole)
            problems.extend([part.stopped] if part.stopped is not None else part.problems)
        end = nodes[-1].end if nodes else items.starts[0] + 1
        return self._document(Sequence(items.starts[0], end, None, False, tuple(nodes)), problems)

    def _document(self, root: YamlNode | None, problems: list[YamlProblem]) -> Document:
        sorted_problems = tuple(sorted(problems, key=lambda problem: problem.span))
        return Document(self.source, root, sorted_problems, has_anchors=self.has_anchors or bool(self.anchors))

    def broken_item(self, start: int, end: int) -> YamlProblem | None:
        """The syntax error of an item; None if there is none, or if something in it affects other items."""
        part = self.part(start, end)
        if not part.failed or _find_forbidden(self.text, start, end) is not None:
            return None
        part = self._diagnosed(start, end, part)
        problem = part.stopped
        if problem is None or problem.kind is not YamlProblemKind.SYNTAX or part.problems or part.anchors:
            return None
        return problem

    def part(self, start: int, end: int, pure: bool = False) -> _Part:
        """Read ``text[start:end]``."""
        from ruamel.yaml.error import YAMLError

        builder = NodeBuilder(self.text, start, dict(self.anchors), self.count)
        try:
            root = builder.build(open_events(self.text[start:end], pure=pure))
        except ReadError as stop:
            return _Part(None, builder.problems, builder.anchors, stopped=stop.problem)
        # UnicodeError: a lone surrogate, which cannot be passed to the C parser.
        except (YAMLError, UnicodeError) as error:
            # the frames of the traceback would keep the text alive
            return _Part(None, builder.problems, builder.anchors, error=error.with_traceback(None))
        return _Part(root, builder.problems, builder.anchors, builder.count)

    def _diagnosed(self, start: int, end: int, part: _Part) -> _Part:
        """A failed part with its problem in ``stopped``, or the part as the Python parser reads it."""
        if not self.pure and end - start <= self.budget:
            self.budget -= end - start
            part = self.part(start, end, pure=True)
            self.rescued |= not part.failed
        if part.error is not None:
            part.stopped = self._described(part, start, end)
        return part

    def _described(self, part: _Part, start: int, end: int) -> YamlProblem:
        if part.stopped is not None:
            return part.stopped
        from derivlint.yaml_reader.syntax import describe

        assert part.error is not None
        return describe(self.text, start, end, part.error)

    def _read_items(self, starts: list[int], end: int) -> tuple[list[YamlNode], list[YamlProblem]]:
        """Read the items of a top-level list that can be read, and report the problems of the others.

        The batch size doubles after a success and halves after a failure, so the work is linear in the text however
        many items are broken.
        """
        nodes: list[YamlNode] = []
        problems: list[YamlProblem] = []
        bounds = [*starts, end]
        first = 0
        size = 1
        broken = 0
        while first < len(starts):
            last = max(bisect_right(bounds, bounds[first] + size) - 1, first + 1)
            part = self.part(bounds[first], bounds[last], self.pure)
            if last - first > 1:
                items = part.root.items if isinstance(part.root, Sequence) else ()
                ends = bounds[first + 1 : last + 1]
                # each piece has to be exactly one item
                is_apart = len(items) == len(ends) and all(
                    item.end <= end for item, end in zip(items, ends, strict=True)
                )
                if part.failed or not is_apart:
                    size = (bounds[last] - bounds[first]) // 2
                    continue
            elif part.failed:
                part = self._diagnosed(bounds[first], bounds[last], part)
            # Anchors of a broken item count if their nodes were complete.
            self.anchors = {name: node for name, node in part.anchors.items() if isinstance(node, YamlNode)}
            problems.extend(part.problems)
            if part.stopped is not None:
                problems.append(part.stopped)
                broken += 1
                size = 1
                if part.stopped.kind is YamlProblemKind.LIMIT:
                    break
                if broken == MAX_BROKEN_ITEMS and last < len(starts):
                    problems.append(
                        YamlProblem(
                            YamlProblemKind.LIMIT,
                            f"{broken} list items are not YAML; the rest of the file is not read",
                            Span(bounds[last], bounds[last] + 1),
                        )
                    )
                    break
            elif isinstance(part.root, Sequence):
                nodes.extend(part.root.items)
                self.count = part.count
                size = min(max(2 * size, 2 * (bounds[last] - bounds[first])), MAX_BATCH)
            first = last
        return nodes, problems


def _find_forbidden(text: str, start: int, end: int) -> YamlProblem | None:
    match = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]").search(text, start, end)
    if match is None:
        return None
    code = ord(match.group())
    name = (
        "character NUL"
        if code == 0
        else f"control character U+{code:04X}"
        if code < 0xA0
        else f"character U+{code:04X}"
    )
    return YamlProblem(YamlProblemKind.ENCODING, f"YAML does not allow the {name}", Span(*match.span()), "delete it")
