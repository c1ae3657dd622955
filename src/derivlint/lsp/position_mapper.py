"""Mapping between protocol positions, offsets of the editor's text, and offsets of the analyzed text."""

from __future__ import annotations

from lsprotocol import types
from msgspec import Struct

from derivlint.lint import TextEdit
from derivlint.lsp.analysis import CheckedDocument, DocumentAnalysis, FileSpan
from derivlint.lsp.client import Client
from derivlint.lsp.documents import Positions, uri_of
from derivlint.source import SourceFile, Span


class StaleTextMap(Struct, frozen=True):
    """The editor's text, and the analysis of it or of an earlier text.

    Attributes:
        source: the editor's text.
        analysis: the analysis, perhaps of an earlier text.
        start: the start of the changed range, in both texts.
        end: the end of the changed range, in the editor's text.
    """

    source: SourceFile
    analysis: DocumentAnalysis
    start: int
    end: int

    @classmethod
    def of(cls, source: SourceFile, analysis: DocumentAnalysis) -> StaleTextMap:
        """Compare the editor's text with the analyzed one."""
        analyzed = analysis.source.text
        if analysis.source is source or analyzed == source.text:
            length = len(analyzed)
            return cls(source, analysis, length, length)
        limit = min(len(analyzed), len(source.text))
        prefix = common_prefix(analyzed, source.text, limit)
        suffix = common_suffix(analyzed, source.text, limit - prefix)
        return cls(source, analysis, prefix, len(source.text) - suffix)

    @property
    def is_exact(self) -> bool:
        """Whether the analysis is of the editor's text."""
        return self.analysis.source.text == self.source.text

    @property
    def _delta(self) -> int:
        return len(self.source.text) - len(self.analysis.source.text)

    def to_analyzed(self, offset: int) -> int:
        """Map an offset of the editor's text to the analyzed one; inside of an edit, to the nearest offset."""
        if offset <= self.start:
            return offset
        if offset >= self.end:
            return offset - self._delta
        return min(offset, max(self.start, self.end - self._delta))

    def to_shown(self, span: Span) -> Span:
        """Map a span of the analyzed text to the editor's."""
        start = self._to_shown(span.start)
        return Span(start, max(start, self._to_shown(span.end)))

    def _to_shown(self, offset: int) -> int:
        if offset <= self.start:
            return offset
        if offset >= self.end - self._delta:
            return offset + self._delta
        return min(offset, self.end)


def common_prefix(first: str, second: str, limit: int) -> int:
    """Return the length of the common prefix of two texts, at most ``limit``."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_suffix(first: str, second: str, limit: int) -> int:
    """Return the length of the common suffix of two texts, at most ``limit``."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if first[len(first) - middle : len(first) - low] == second[len(second) - middle : len(second) - low]:
            low = middle
        else:
            high = middle - 1
    return low


class PositionMapper:
    """Maps positions and ranges of one file.

    Attributes:
        checked: the check of the editor's text.
        analysis: its analysis, or that of the last text that parsed as YAML.
        client: the capabilities of the editor.
        uri: the file.
        version: the editor's number of its text.
    """

    def __init__(self, checked: CheckedDocument, client: Client, uri: str, version: int) -> None:
        """Map the positions of a check."""
        self.checked = checked
        self.analysis = checked.analysis
        self.client = client
        self.uri = uri
        self.version = version
        self._text_map = StaleTextMap.of(checked.source, checked.analysis)
        self._positions = Positions(checked.source, client.encoding)

    @property
    def text(self) -> str:
        """The editor's text."""
        return self.checked.source.text

    @property
    def is_exact(self) -> bool:
        """Whether the analysis is of the editor's text."""
        return self._text_map.is_exact

    def shown_offset(self, position: types.Position) -> int:
        """Return the offset of a position in the editor's text."""
        return self._positions.offset(position)

    def offset(self, position: types.Position) -> int:
        """Return the offset of a position in the analyzed text."""
        return self._text_map.to_analyzed(self._positions.offset(position))

    def span(self, where: types.Range) -> Span:
        """Return the span of a range in the analyzed text."""
        start = self.offset(where.start)
        return Span(start, max(start, self.offset(where.end)))

    def position(self, offset: int) -> types.Position:
        """Return the position of an offset in the analyzed text."""
        return self._positions.position(self._text_map.to_shown(Span(offset, offset)).start)

    def range(self, span: Span) -> types.Range:
        """Return the range of a span of the analyzed text."""
        return self._positions.range(self._text_map.to_shown(span))

    def shown_range(self, span: Span) -> types.Range:
        """Return the range of a span of the editor's text."""
        return self._positions.range(span)

    def line(self, offset: int) -> int:
        """Return the line of an offset in the analyzed text."""
        return self.position(offset).line

    def uri_of(self, place: FileSpan) -> str:
        """Return the URI of a location's file."""
        return self.uri if place.source.path == self.checked.source.path else uri_of(place.source.path)

    def range_in(self, place: FileSpan, span: Span) -> types.Range:
        """Return the range of a span in its file."""
        if place.source.path == self.checked.source.path:
            return self.range(span)
        return Positions(place.source, self.client.encoding).range(span)

    def location(self, place: FileSpan) -> types.Location:
        """Return the protocol's location of a file span."""
        return types.Location(self.uri_of(place), self.range_in(place, place.span))

    def edit(self, edits: tuple[TextEdit, ...]) -> types.WorkspaceEdit:
        """Return a workspace edit of the editor's text, with its version if the client supports that."""
        changes = [types.TextEdit(self.shown_range(edit.span), edit.text) for edit in edits]
        if not self.client.versioned_edits:
            return types.WorkspaceEdit(changes={self.uri: changes})
        document = types.OptionalVersionedTextDocumentIdentifier(self.uri, self.version)
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, [*changes])])
