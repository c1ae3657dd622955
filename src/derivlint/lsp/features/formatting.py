"""Formatting of an entry: only the blanks around its keys.

Keys keep their order; values and comments do not change. The formatted text is parsed again, and no edits are returned
if a value differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from derivlint.lint import TextEdit
from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.model import Entry
from derivlint.source import SourceFile, Span
from derivlint.yaml_reader import Mapping, Scalar, Sequence, YamlNode, read_yaml
from derivlint.yaml_reader.text import line_end, line_start


def format_range(analysis: DocumentAnalysis, span: Span) -> tuple[TextEdit, ...]:
    """Yield the edits that format the entries overlapping a range."""
    edits: list[TextEdit] = []
    for entry in analysis.model.all_entries:
        if entry.span.end >= span.start and entry.span.start <= span.end:
            edits += format_entry(analysis.source, entry)
    return tuple(edits)


def format_entry(source: SourceFile, entry: Entry) -> tuple[TextEdit, ...]:
    """Return the edits that format an entry; none if it is on one line or its values would change."""
    mapping = entry.mapping
    if mapping is None or mapping.flow:
        return ()
    edits = sorted({*_edits(source.text, entry, mapping), *_names(entry)}, key=lambda edit: edit.span)
    if not edits or any(first.span.end > second.span.start for first, second in pairwise(edits)):
        return ()
    return tuple(edits) if _is_same(source, entry, edits) else ()


def _edits(text: str, entry: Entry, mapping: Mapping) -> Iterator[TextEdit]:
    for pair in mapping.pairs:
        key, value = entry.place(pair.key), entry.place(pair.value)
        if key.end <= value.start < value.end:
            # one blank after the colon and none before it, if the value is on the line of its key
            between = text[key.end : value.start]
            if between != ": " and between.replace(" ", "").replace("\t", "") == ":":
                yield TextEdit(Span(key.end, value.start), ": ")
        if not (isinstance(pair.value, Scalar) and pair.value.style in ("literal", "folded")):
            # no blanks at the end of the line of a value
            end = max(key.end, value.end)
            stop = line_end(text, end)
            if end < stop and not text[end:stop].strip(" \t"):
                yield TextEdit(Span(end, stop), "")
        if isinstance(pair.value, Mapping) and not pair.value.flow:
            yield from _edits(text, entry, pair.value)


def _names(entry: Entry) -> Iterator[TextEdit]:
    """Format the names in a key as ``self, other``."""
    for formula in entry.formulas:
        key = formula.key
        written = formula.key_written_with([name.text for name in formula.names])
        if written is not None and key.tag is None and key.exact and key.text[key.start : key.end] != written:
            yield TextEdit(formula.key_span, written)


def _is_same(source: SourceFile, entry: Entry, edits: list[TextEdit]) -> bool:
    """Whether the edited entry parses to the same content."""
    start = line_start(source.text, entry.span.start)
    end = line_end(source.text, max(entry.span.end, max(edit.span.end for edit in edits)))
    pieces: list[str] = []
    position = start
    for edit in edits:
        pieces += [source.text[position : edit.span.start], edit.text]
        position = edit.span.end
    after = "".join(pieces) + source.text[position:end] + "\n"
    document = read_yaml(SourceFile(source.path, after))
    root = document.root
    if document.problems or not isinstance(root, Sequence) or len(root.items) != 1:
        return False
    return _content(entry.node) == _content(root.items[0])


def _content(node: YamlNode) -> object:
    """Return the content of a node: keys without blanks, and values."""
    if isinstance(node, Scalar):
        return node.value, node.kind
    if isinstance(node, Sequence):
        return tuple(map(_content, node.items))
    assert isinstance(node, Mapping)
    return tuple((_key(pair.key), _content(pair.value)) for pair in node.pairs)


def _key(node: YamlNode) -> object:
    if isinstance(node, Scalar):
        return tuple(name.strip() for name in node.value.split(","))
    return _content(node)
