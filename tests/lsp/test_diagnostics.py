"""Diagnostics as editors get them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from derivlint.lint import Confidence, Diagnostic, Related, Severity
from derivlint.lsp.diagnostics import Renderer
from derivlint.lsp.documents import UTF8, UTF16, Positions
from derivlint.source import SourceFile, Span

CAPABILITIES = types.ClientCapabilities(
    types.WorkspaceClientCapabilities(),
    types.TextDocumentClientCapabilities(
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(related_information=True)
    ),
)
TEXTS = st.text("ab\u00e9\U0001f600\r\n", max_size=30)


def everywhere(source: SourceFile) -> list[Diagnostic]:
    """A diagnostic at every place that has up to four characters, which points to the place before."""
    ends = [(start, start + size) for start in range(len(source.text) + 1) for size in range(4)]
    spans = [Span(start, end) for start, end in ends if end <= len(source.text)]
    return [
        Diagnostic("d", span, "rule", "wrong", Severity.ERROR, Confidence.HIGH, related=(Related("here", before),))
        for span, before in zip(spans, [spans[0], *spans], strict=False)
    ]


@given(TEXTS, st.sampled_from([UTF8, UTF16]))
def test_ranges_are_those_of_the_text(text: str, encoding: str) -> None:
    source = SourceFile("d", text)
    positions = Positions(source, encoding)
    found = everywhere(source)
    sent = Renderer(CAPABILITIES, encoding).render(found, "file:///d", source, {})
    for item, diagnostic in zip(found, sent, strict=True):
        first, last = positions.position(item.span.start), positions.position(item.span.end)
        shown = diagnostic.range
        assert (shown.start.line, shown.start.character) == (first.line, first.character)
        assert (shown.end.line, shown.end.character) == (last.line, last.character)
