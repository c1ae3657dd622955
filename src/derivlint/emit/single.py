"""A single emitted file without manifest: its last line has a digest of the others, which proves ownership."""

from __future__ import annotations

import re
from pathlib import Path

from derivlint.emit.files import FilesError
from derivlint.emit.manifest import digest_of
from derivlint.source import read_input, write_file

_MARK = "# Written by derivlint. SHA-256 of the lines above: "
_LAST = re.compile(rb"^" + re.escape(_MARK).encode() + rb"([0-9a-f]{64})\n\Z", re.MULTILINE)


def stamped(text: str) -> bytes:
    """A text with its digest, as written to the file."""
    text = f"{text}\n\n"
    return f"{text}{_MARK}{digest_of(text.encode())}\n".encode()


def is_ours(data: bytes) -> bool:
    """Whether a file has the contents that derivlint wrote."""
    match = _LAST.search(data)
    return match is not None and digest_of(data[: match.start()]) == match[1].decode()


def refusal(path: Path, data: bytes) -> str | None:
    """Return the reason for not overwriting a file: derivlint did not write it. None if it may be overwritten."""
    current = _current(path)
    if current is None or current == data or is_ours(current):
        return None
    reason = "has changed since derivlint wrote it" if _LAST.search(current) else "was not written by derivlint"
    return f'"{path}" {reason}: choose another file, or remove it'


def is_stale(path: Path, data: bytes) -> bool:
    """Whether a file is missing or differs.

    Raises:
        FilesError: the file cannot be read.
    """
    return _current(path) != data


def write_single(path: Path, data: bytes) -> None:
    """Write a file unless it is up to date, and create its folder.

    Raises:
        FilesError: the file cannot be written, or derivlint did not write the existing file.
    """
    reason = refusal(path, data)
    if reason is not None:
        raise FilesError(reason)
    current = _current(path)
    if current == data:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, data, expected=current)
    except OSError as error:
        raise FilesError(f'cannot write "{path}": {error.strerror or error}') from error


def _current(path: Path) -> bytes | None:
    """Return the content of a file, or None if there is none."""
    try:
        return read_input(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FilesError(f'cannot write "{path}": {error.strerror or error}') from error
