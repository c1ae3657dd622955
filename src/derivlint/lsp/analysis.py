"""The analysis of an open file, from which features compute their results."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from derivlint.model import Model
from derivlint.project.check import CheckedFile
from derivlint.project.settings import Settings
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile, Span


class DocumentAnalysis(Struct, frozen=True):
    """The analysis of one text of a file.

    Spans of everything in it are offsets into ``source``, also while the editor shows a later text that is not YAML.

    Attributes:
        source: the last text that could be read as YAML, or the present one where none ever could.
        model: its model.
        checked: the check of it, or None if only the model was built.
        natives: the operators it is judged against.
        native_sources: the files that they were read from; none for the bundled index.
        headers: the C++ headers with functions that formulas call, as far as they are files: PyTorch's and the user's.
        settings: the settings of the file.
    """

    source: SourceFile
    model: Model
    checked: CheckedFile | None
    natives: NativeFunctions
    native_sources: tuple[SourceFile, ...]
    headers: tuple[Path, ...]
    settings: Settings


class FileSpan(Struct, frozen=True):
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
