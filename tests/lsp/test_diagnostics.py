"""Diagnostics as editors get them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from derivlint.lint import Confidence, Diagnostic, Related, Severity
from derivlint.lsp.diagnostics import Renderer
from derivlint.lsp.transport.positions import UTF8, UTF16
from derivlint.source import SourceFile, Span

CAPABILITIES = types.ClientCapabilities(
    types.WorkspaceClientCapabilities(),
    types.TextDocumentClientCapabilities(
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(related_information=True)
    ),
)
TEXTS = st.text("ab\u00e9\U0001f600\r\n", max_size=30)
EDITS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 8), st.text("ab\u00e9\U0001f600\r\n", max_size=6)))


def everywhere(source: SourceFile) -> list[Diagnostic]:
    """A diagnostic at every place that has up to four characters, which points to the place before."""
    ends = [(start, start + size) for start in range(len(source.text) + 1) for size in range(4)]
    spans = [Span(start, end) for start, end in ends if end <= len(source.text)]
    return [
        Diagnostic("d", span, "rule", "wrong", Severity.ERROR, Confidence.HIGH, related=(Related("here", before),))
        for span, before in zip(spans, [spans[0], *spans], strict=False)
    ]


@given(TEXTS, EDITS, st.sampled_from([UTF8, UTF16]))
def test_ranges_after_edits_are_those_of_the_text(text: str, edits: list[tuple[int, int, str]], encoding: str) -> None:
    """What is known of the lines that an edit left alone is what is found out without it."""
    renderer = Renderer(CAPABILITIES, encoding)
    source = SourceFile("d", text)
    for start, size, new in [(0, 0, ""), *edits]:
        first = min(start, len(source.text))
        source = source.replaced(Span(first, min(first + size, len(source.text))), new)
        found = everywhere(source)
        alone = Renderer(CAPABILITIES, encoding).render(found, "file:///d", SourceFile("d", source.text), {})
        assert renderer.render(found, "file:///d", source, {}) == alone
