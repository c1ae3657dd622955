"""Floor 1: source text, spans in it, and lines and columns derived from offsets. Knows nothing of YAML."""

from derivlint.source.file import SourceError, SourceFile
from derivlint.source.span import Position, Span
from derivlint.source.writing import replace_file

__all__ = ["Position", "SourceError", "SourceFile", "Span", "replace_file"]
