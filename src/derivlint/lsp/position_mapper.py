"""Mapping of positions of the protocol to offsets of the analyzed text, and back."""

from __future__ import annotations

from lsprotocol import types

from derivlint.lint import TextEdit
from derivlint.lsp.analysis import FileSpan
from derivlint.lsp.checker import CheckedDocument
from derivlint.lsp.documents import uri_of
from derivlint.lsp.stale_text import StaleTextMap
from derivlint.lsp.transport.capabilities import Client
from derivlint.lsp.transport.positions import Positions
from derivlint.source import Span


class PositionMapper:
    """Maps positions and ranges of one file.

    Attributes:
        checked: the check of the editor's text.
        analysis: the analysis of it, or of the last text that was YAML.
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
        """The offset of a position in the editor's text."""
        return self._positions.offset(position)

    def offset(self, position: types.Position) -> int:
        """The offset of a position in the analysed text."""
        return self._text_map.to_analyzed(self._positions.offset(position))

    def span(self, where: types.Range) -> Span:
        """The range of the analysed text."""
        start = self.offset(where.start)
        return Span(start, max(start, self.offset(where.end)))

    def position(self, offset: int) -> types.Position:
        """The position of an offset in the analysed text."""
        return self._positions.position(self._text_map.to_shown(Span(offset, offset)).start)

    def range(self, span: Span) -> types.Range:
        """The range of a range of the analysed text."""
        return self._positions.range(self._text_map.to_shown(span))

    def shown_range(self, span: Span) -> types.Range:
        """The range of a range of the editor's text."""
        return self._positions.range(span)

    def line(self, offset: int) -> int:
        """The line of an offset in the analysed text."""
        return self.position(offset).line

    def uri_of(self, place: FileSpan) -> str:
        """The file of a place."""
        return self.uri if place.source.path == self.checked.source.path else uri_of(place.source.path)

    def range_in(self, place: FileSpan, span: Span) -> types.Range:
        """A range of the file of a place."""
        if place.source.path == self.checked.source.path:
            return self.range(span)
        return Positions(place.source, self.client.encoding).range(span)

    def location(self, place: FileSpan) -> types.Location:
        """The location of a place."""
        return types.Location(self.uri_of(place), self.range_in(place, place.span))

    def edit(self, edits: tuple[TextEdit, ...]) -> types.WorkspaceEdit:
        """Edits of the editor's text, for its version where editors understand that."""
        changes = [types.TextEdit(self.shown_range(edit.span), edit.text) for edit in edits]
        if not self.client.versioned_edits:
            return types.WorkspaceEdit(changes={self.uri: changes})
        document = types.OptionalVersionedTextDocumentIdentifier(self.uri, self.version)
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, [*changes])])
