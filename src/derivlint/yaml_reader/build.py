"""Build nodes from parser events, without recursion and within limits."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol, cast

from derivlint.source import Span
from derivlint.yaml_reader.decode import BREAKS
from derivlint.yaml_reader.items import several_documents
from derivlint.yaml_reader.kinds import YAML_TAG, construct_problem, kind_of_tag, resolve_kind
from derivlint.yaml_reader.nodes import (
    Mapping,
    Pair,
    ReadError,
    Scalar,
    ScalarStyle,
    Sequence,
    YamlNode,
    YamlProblem,
    YamlProblemKind,
)
from derivlint.yaml_reader.text import line_end, quote, skip_properties, token_end


class EventSource(Protocol):
    """A YAML parser that returns one event at a time, then None."""

    def get_event(self) -> Any:
        """Return the next event.

        Raises:
            ruamel.yaml.error.YAMLError: the text is not YAML.
        """


def open_events(text: str, *, pure: bool) -> EventSource:
    """A parser of ``text``: in C, or in Python if ``pure`` or if the C extension is not installed."""
    if not pure:
        try:
            from _ruamel_yaml import CParser  # type: ignore[import-not-found]
        except ImportError:
            pass
        else:
            return cast("EventSource", CParser(text))
    from derivlint.yaml_reader.pure import PureParser

    return PureParser(text)


#: The maximum nesting, which code that walks nodes may recurse to; an entry with dispatch keys nests 4 deep.
MAX_DEPTH: Final = 64
#: The maximum number of nodes: native_functions.yaml has 27,000, and 3 MiB of entries like PyTorch's have 90,000. A
#: check takes up to 4 kB for each, and 600 MB at most.
MAX_NODES: Final = 120_000
#: The maximum number of nodes that aliases expand to: walks visit a shared node once per alias.
MAX_ALIASED_NODES: Final = 20_000

_STYLES: Final[dict[str | None, ScalarStyle]] = {
    None: "plain",
    "": "plain",
    "'": "single",
    '"': "double",
    "|": "literal",
    ">": "folded",
}

#: First characters of plain scalars that SafeLoader may fail to build: numbers, dates and ``=``.
_SUSPICIOUS: Final = frozenset("-+0123456789=")


class OpenNode(NamedTuple):
    """A mapping or list whose end has not been read yet.

    Attributes:
        is_mapping: whether it is a mapping.
        start: its start offset.
        tag: its tag.
        flow: whether it is in flow style, with brackets.
        anchor: its anchor, or None.
        children: its nodes so far; of a mapping, keys and values alternate.
    """

    is_mapping: bool
    start: int
    tag: str | None
    flow: bool
    anchor: str | None
    children: list[YamlNode]

    def closed(self, end: int) -> Mapping | Sequence:
        """Make the node once its end has been read."""
        end = max(end, self.start)
        if self.is_mapping:
            iterator = iter(self.children)
            return Mapping(self.start, end, self.tag, self.flow, tuple(map(Pair, iterator, iterator)))
        return Sequence(self.start, end, self.tag, self.flow, tuple(self.children))


class NodeBuilder:
    """Builds the nodes of a file or a part of it.

    Attributes:
        anchors: the anchored nodes so far.
        problems: tags and values that cannot be built, and a second document.
        count: the number of nodes, including those of other parts of the file.
    """

    def __init__(self, text: str, base: int, anchors: dict[str, YamlNode | OpenNode], count: int = 0) -> None:
        self.text = text
        self.base = base
        self.anchors = anchors
        self.problems: list[YamlProblem] = []
        self.count = count
        self._extents: dict[int, tuple[int, int]] = {}
        self._aliased = 0

    def build(self, source: EventSource) -> YamlNode | None:
        """Build the root node; None for an empty text.

        Raises:
            ReadError: a limit is exceeded, or an alias cannot be resolved.
            ruamel.yaml.error.YAMLError: the text is not YAML.
        """
        text = self.text
        base = self.base
        anchors = self.anchors
        next_event = source.get_event
        stack: list[OpenNode] = []
        root: list[YamlNode] = []
        children = root
        document_seen = False
        count = self.count
        last_end = 0
        while True:
            event: Any = next_event()
            name = event.__class__.__name__
            if name == "ScalarEvent":
                begin = start = event.start_mark.index + base
                last_end = event.end_mark.index + base
                value = event.value
                plain, quoted = event.implicit
                style = _STYLES[event.style]
                tag = None if plain or quoted else event.tag
                anchor = event.anchor
                if anchor is not None or tag is not None or text.startswith("!", start):
                    start = skip_properties(text, start, last_end)
                    if tag == "!":
                        tag, plain = None, True
                    # libyaml takes a comma as part of a tag, though it belongs to the flow collection.
                    if style == "plain" and value and text.startswith(value, last_end - len(value)):
                        start = last_end - len(value)
                if style == "literal" or style == "folded":
                    last_end = _block_end(text, start, last_end)
                    if not stack:
                        _check_root_block(text, start, last_end)
                kind = kind_of_tag(tag) if tag is not None else resolve_kind(value) if plain else "str"
                scalar = Scalar(start, last_end, tag, value, style, text, kind)
                if anchor is not None:
                    anchors[anchor] = scalar
                if tag is not None or (plain and value[:1] in _SUSPICIOUS):
                    is_key = bool(stack) and stack[-1].is_mapping and not len(children) % 2
                    self._check_scalar(scalar, is_key, begin)
                children.append(scalar)
                count += 1
            elif name == "MappingStartEvent" or name == "SequenceStartEvent":
                begin = start = event.start_mark.index + base
                anchor = event.anchor
                tag = None if event.implicit or event.tag == "!" else event.tag
                if anchor is not None or tag is not None or text.startswith("!", start):
                    start = skip_properties(text, start, len(text))
                count += 1
                if len(stack) >= MAX_DEPTH:
                    raise ReadError(_too_deep(Span(start, start + 1)))
                if count > MAX_NODES:
                    raise ReadError(_too_many(Span(start, start + 1)))
                is_mapping = name == "MappingStartEvent"
                children = []
                node = OpenNode(is_mapping, start, tag, bool(event.flow_style), anchor, children)
                if tag is not None and tag != YAML_TAG + ("map" if is_mapping else "seq"):
                    self._report_tag(begin, node, "a mapping" if is_mapping else "a list")
                if anchor is not None:
                    anchors[anchor] = node
                stack.append(node)
            elif name == "MappingEndEvent" or name == "SequenceEndEvent":
                node = stack.pop()
                if node.flow:
                    last_end = event.end_mark.index + base
                collection = node.closed(last_end)
                if node.anchor is not None and anchors[node.anchor] is node:
                    anchors[node.anchor] = collection
                children = stack[-1].children if stack else root
                children.append(collection)
            elif name == "AliasEvent":
                last_end = event.end_mark.index + base
                span = Span(event.start_mark.index + base, last_end)
                children.append(self._resolve(event.anchor, span, len(stack)))
                count += 1
            elif name == "DocumentStartEvent":
                if document_seen:
                    self.problems.append(several_documents(text, event.start_mark.index + base))
                    break
                document_seen = True
            elif name == "StreamEndEvent":
                break
            if count > MAX_NODES:
                raise ReadError(_too_many(Span(last_end, last_end)))
        self.count = count
        return root[0] if root else None

    def _resolve(self, name: str, span: Span, depth: int) -> YamlNode:
        """The node of the alias at ``span``."""
        node = self.anchors.get(name)
        if node is None:
            anchors = ", ".join(f'"{anchor}"' for anchor in list(self.anchors)[:5])
            defined = f"; anchors so far: {anchors}" if anchors else ""
            raise ReadError(
                YamlProblem(
                    YamlProblemKind.SYNTAX,
                    f"alias {quote('*' + name)} has no anchor {quote('&' + name)} before it",
                    span,
                    'a value that starts with "*" is an alias; put it in double quotes if it is a formula' + defined,
                )
            )
        if isinstance(node, OpenNode):
            raise ReadError(
                YamlProblem(
                    YamlProblemKind.SYNTAX,
                    f"alias {quote('*' + name)} is inside the node that it names",
                    span,
                    related=((f"the node {quote('&' + name)}", Span(node.start, node.start + 1)),),
                )
            )
        size, height = self._extent(node)
        self._aliased += size
        if depth + height > MAX_DEPTH:
            raise ReadError(_too_deep(span))
        if self._aliased > MAX_ALIASED_NODES:
            raise ReadError(
                YamlProblem(YamlProblemKind.LIMIT, f"the aliases stand for more than {MAX_ALIASED_NODES} nodes", span)
            )
        return node

    def _extent(self, node: YamlNode) -> tuple[int, int]:
        """The number of nodes of ``node`` with all aliases expanded, and its number of levels."""
        extents = self._extents
        todo = [node]
        while todo:
            top = todo[-1]
            inner: list[YamlNode] = []
            if isinstance(top, Sequence):
                inner = list(top.items)
            elif isinstance(top, Mapping):
                inner = [part for pair in top.pairs for part in pair]
            missing = [part for part in inner if not isinstance(part, Scalar) and id(part) not in extents]
            if missing:
                todo.extend(missing)
                continue
            todo.pop()
            inner_extents = [(1, 0) if isinstance(part, Scalar) else extents[id(part)] for part in inner]
            height = 0 if isinstance(top, Scalar) else 1 + max((high for _, high in inner_extents), default=0)
            extents[id(top)] = (1 + sum(size for size, _ in inner_extents), height)
        return extents[id(node)]

    def _check_scalar(self, scalar: Scalar, is_key: bool, begin: int) -> None:
        """Report a scalar that SafeLoader cannot construct."""
        tag = scalar.tag
        if tag is None:
            if scalar.value == "=":
                if not is_key:
                    self._report(scalar.within, 'the value "=" has a special meaning in YAML 1.1 and cannot be loaded')
                return
            reason = construct_problem(scalar.value, scalar.kind) if scalar.kind != "str" else None
            if reason is not None:
                self._report(scalar.within, f"{quote(scalar.value)} looks like {_KIND_NAMES[scalar.kind]} but {reason}")
            return
        kind = kind_of_tag(tag)
        if kind == "other" or kind == "merge":
            self._report_tag(begin, scalar, "a scalar")
            return
        reason = construct_problem(scalar.value, kind)
        if reason is not None:
            self._report(scalar.within, f"{quote(scalar.value)} {reason}, as its tag {quote(_short(tag))} demands")

    def _report_tag(self, begin: int, node: YamlNode | OpenNode, node_kind: str) -> None:
        """Report the tag in the properties that begin at ``begin``."""
        tag = node.tag
        assert tag is not None
        is_yaml_tag = tag.startswith(YAML_TAG) and tag[len(YAML_TAG) :] in _YAML_TYPES
        message = (
            f"tag {quote(_short(tag))} does not fit {node_kind}" if is_yaml_tag else f"unknown tag {quote(_short(tag))}"
        )
        place = self.text.find("!", begin, node.start)
        if place < 0:
            # ruamel.yaml's parser reports the start of ``!tag &anchor`` at the anchor.
            place = max(self.text.rfind("!", 0, begin), 0)
            while place > 0 and self.text[place - 1] == "!":
                place -= 1
        self.problems.append(
            YamlProblem(
                YamlProblemKind.TAG,
                message,
                Span(place, token_end(self.text, place)),
                'a value that starts with "!" has a tag; if it is a formula, put it in double quotes',
            )
        )

    def _report(self, span: Span, message: str) -> None:
        self.problems.append(
            YamlProblem(YamlProblemKind.TAG, message, span, "put the value in double quotes to make it a string")
        )


_YAML_TYPES: Final = frozenset(
    ("str", "int", "float", "bool", "null", "timestamp", "binary", "merge", "map", "seq", "set", "omap", "pairs")
)
_KIND_NAMES: Final[dict[str, str]] = {"int": "an integer", "float": "a number", "timestamp": "a date"}


def _short(tag: str) -> str:
    return "!!" + tag[len(YAML_TAG) :] if tag.startswith(YAML_TAG) else tag


def _block_end(text: str, start: int, end: int) -> int:
    """The end of a block scalar without the trailing blank lines that the parser includes."""
    last = end
    while last > start and text[last - 1].isspace():
        last -= 1
    while last < end and text[last] not in BREAKS:
        last += 1
    return last


def _check_root_block(text: str, start: int, end: int) -> None:
    """Reject a document that is an unindented block scalar, as PyYAML does.

    Raises:
        ReadError: its text begins in the first column.
    """
    offset = line_end(text, start)
    while offset < end and text[offset] in BREAKS:
        offset += 1
    if offset < end and text[offset] != " ":
        raise ReadError(
            YamlProblem(
                YamlProblemKind.SYNTAX, "the text of a block must be indented", Span(offset, token_end(text, offset))
            )
        )


def _too_deep(span: Span) -> YamlProblem:
    return YamlProblem(YamlProblemKind.LIMIT, f"the YAML is nested more than {MAX_DEPTH} levels deep", span)


def _too_many(span: Span) -> YamlProblem:
    return YamlProblem(YamlProblemKind.LIMIT, f"the file has more than {MAX_NODES:,} YAML nodes", span)
