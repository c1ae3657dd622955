"""Positions in the units of consumers, and the file names that they expect."""

from __future__ import annotations

import os
from pathlib import Path

from derivlint.source import Position, SourceFile, Span

#: Variables in which continuous integration tells where the repository is.
ROOT_VARIABLES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
MARK = ".git"


def byte_position(source: SourceFile, offset: int) -> Position:
    """Line and column of an offset, from 1, the column in bytes of UTF-8."""
    line, _ = source.position(offset)
    before = source.text[source.line_starts[line - 1] : offset]
    return Position(line, len(before.encode("utf-8", "surrogatepass")) + 1)


def shown_range(source: SourceFile, span: Span) -> tuple[Position, Position]:
    """Beginning and end of a range, see :func:`shown_span`."""
    start, end = shown_span(source, span)
    return source.position(start), source.position(end)


def shown_span(source: SourceFile, span: Span) -> Span:
    """A range for consumers that mark lines.

    A range that includes a line end ends on that line, not before the first column of the next one, and the empty text
    after the last line end is not a line.
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
    """The folder for relative paths in reports: that of the environment, the repository, or the given folder."""
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
        # a lone surrogate, which no name of a file has
        return False
    return not path.startswith("<")


def relative_path(path: str, root: Path) -> str:
    """A path with slashes, relative to the root where it lies below it, else absolute."""
    if not is_file_name(path):
        return path
    place = os.path.abspath(path)
    # a link inside the repository is followed, one that leads out of it is the name that the repository knows
    for base, candidate in ((os.path.realpath(root), os.path.realpath(place)), (os.path.abspath(root), place)):
        if Path(candidate).is_relative_to(base):
            return Path(candidate).relative_to(base).as_posix()
    return Path(place).as_posix()


def uri(path: str, root: Path) -> str:
    """A path as a URI reference: relative to the root where it lies below it, else a ``file`` URI."""
    # only SARIF has need of it, and it takes milliseconds
    from urllib.parse import quote

    relative = relative_path(path, root)
    # bytes that are not UTF-8 keep their value
    data = os.fsencode(relative) if is_file_name(relative) else relative.encode("utf-8", "surrogatepass")
    quoted = quote(data, safe="/~")
    if not Path(relative).is_absolute():
        return quoted
    return f"file://{quoted}" if quoted.startswith("/") else f"file:///{quoted}"
