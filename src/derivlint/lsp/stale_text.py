"""Mapping of offsets between the editor's text and the last valid text, which is analyzed."""

from __future__ import annotations

from msgspec import Struct

from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.source import SourceFile, Span


class StaleTextMap(Struct, frozen=True):
    """The editor's text with the analysis of it, or of an earlier text.

    Attributes:
        source: the text that the editor shows.
        analysis: the analysis, perhaps of an earlier text.
        start: where the two texts begin to differ.
        end: where they end to differ, in the editor's text.
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
    """The length of the common prefix of two texts, at most ``limit``."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_suffix(first: str, second: str, limit: int) -> int:
    """The length of the common suffix of two texts, at most ``limit``."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if first[len(first) - middle : len(first) - low] == second[len(second) - middle : len(second) - low]:
            low = middle
        else:
            high = middle - 1
    return low
