"""Positions in the units of consumers, and the file names that they expect."""

from __future__ import annotations

import os
from pathlib import Path

from derivlint.source import Position, SourceFile, Span

#: Environment variables of CI services with the folder of the repository.
ROOT_VARIABLES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
#: The entry that marks the top of a repository.
MARK = ".git"


def byte_position(source: SourceFile, offset: int) -> Position:
    """Return the line and column of an offset, from 1, the column in UTF-8 bytes."""
    line, _ = source.position(offset)
    before = source.text[source.line_starts[line - 1] : offset]
    return Position(line, len(before.encode("utf-8", "surrogatepass")) + 1)


def shown_range(source: SourceFile, span: Span) -> tuple[Position, Position]:
    """Return the start and end of a range, see :func:`shown_span`."""
    start, end = shown_span(source, span)
    return source.position(start), source.position(end)


def shown_span(source: SourceFile, span: Span) -> Span:
    """Return a range for consumers that mark lines.

    A range that includes a line end ends on that line instead of at the start of the next one. The empty text after the
    last line end is not a line.
    """
    start, end = span
    text = source.text
    while end > start and text[end - 1] in "\r\n":
        end -= 1
    if start == end == len(text) and text:
        while end and text[end - 1] in "\r\n":
            end -= 1
        start = end
    return Span(start, end)


def repository_root(folder: Path) -> Path:
    """Return the folder for relative paths in reports: that of a CI service, else the repository, else the argument."""
    for variable in ROOT_VARIABLES:
        named = os.environ.get(variable)
        if named and folder.is_relative_to(named):
            return Path(named)
    return next((parent for parent in (folder, *folder.parents) if os.path.exists(parent / MARK)), folder)


def is_file_name(path: str) -> bool:
    """Whether a path names a file, unlike ``<stdin>`` or the names of an editor."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        # a lone surrogate, which no file name has
        return False
    return not path.startswith("<")


def relative_path(path: str, root: Path) -> str:
    """Format a path with slashes, relative to the root if it is inside, else absolute."""
    if not is_file_name(path):
        return path
    place = os.path.abspath(path)
    # links inside of the repository are followed; a link that leads out of it is named itself
    for base, candidate in ((os.path.realpath(root), os.path.realpath(place)), (os.path.abspath(root), place)):
        if Path(candidate).is_relative_to(base):
            return Path(candidate).relative_to(base).as_posix()
    return Path(place).as_posix()


def uri(path: str, root: Path) -> str:
    """Format a path as a URI reference: relative to the root if it is inside, else a ``file`` URI."""
    # only SARIF needs it, and the import takes milliseconds
    from urllib.parse import quote

    relative = relative_path(path, root)
    # bytes that are not UTF-8 are percent-encoded
    data = os.fsencode(relative) if is_file_name(relative) else relative.encode("utf-8", "surrogatepass")
    quoted = quote(data, safe="/~")
    if not Path(relative).is_absolute():
        return quoted
    return f"file://{quoted}" if quoted.startswith("/") else f"file:///{quoted}"
