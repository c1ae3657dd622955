"""Places in files: where something that an answer speaks of stands."""

from __future__ import annotations

from msgspec import Struct

from derivlint.source import SourceFile, Span


class FilePlace(Struct, frozen=True):
    """A range of a file.

    Attributes:
        source: the file.
        span: the range.
        whole: the range of what is there as a whole, a declaration or an entry; None for the same.
    """

    source: SourceFile
    span: Span
    whole: Span | None = None

    @property
    def text(self) -> str:
        """The text of the range."""
        return self.source.slice(self.span)
