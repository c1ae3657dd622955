"""A text as the editor shows it, with what is known of it: of itself, or of the last text that was YAML."""

from __future__ import annotations

from msgspec import Struct

from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.source import SourceFile, Span


class StaleTextMap(Struct, frozen=True):
    """What features work with.

    Attributes:
        source: the text that the editor shows.
        analysis: what is known, perhaps of an earlier text.
        start: where the two texts begin to differ.
        end: where they end to differ, in the editor's text.
    """

    source: SourceFile
    analysis: DocumentAnalysis
    start: int
    end: int

    @classmethod
    def of(cls, source: SourceFile, analysis: DocumentAnalysis) -> StaleTextMap:
        """The view of a text with what is known."""
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
        """Whether what is known is known of the editor's text."""
        return self.analysis.source.text == self.source.text

    @property
    def _delta(self) -> int:
        return len(self.source.text) - len(self.analysis.source.text)

    def to_analyzed(self, offset: int) -> int:
        """Where a character of the editor's text is in the analysed one; of what is new, the nearest place."""
        if offset <= self.start:
            return offset
        if offset >= self.end:
            return offset - self._delta
        return min(offset, max(self.start, self.end - self._delta))

    def to_shown(self, span: Span) -> Span:
        """Where a range of the analysed text is in the editor's."""
        start = self._to_shown(span.start)
        return Span(start, max(start, self._to_shown(span.end)))

    def _to_shown(self, offset: int) -> int:
        if offset <= self.start:
            return offset
        if offset >= self.end - self._delta:
            return offset + self._delta
        return min(offset, self.end)


def common_prefix(first: str, second: str, limit: int) -> int:
    """The length of what two texts begin with alike, at most ``limit``."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_suffix(first: str, second: str, limit: int) -> int:
    """The length of what two texts end with alike, at most ``limit``."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if first[len(first) - middle : len(first) - low] == second[len(second) - middle : len(second) - low]:
            low = middle
        else:
            high = middle - 1
    return low
