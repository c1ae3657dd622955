"""Putting emitted files on disk.

A file is rewritten only when its text changes, so that what was compiled from it stays valid, and it is never there by
half: it is written beside its place and moved. The manifest, which names the other files, is written last.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from derivlint.source import replace_file
from derivlint.source.records import dataclass

#: The file that names the others, in the folder.
MANIFEST = "derivlint.json"


class FilesError(Exception):
    """A folder or a file cannot be written or read."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What writing would do, or did: paths in the folder."""

    written: tuple[str, ...]
    removed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.written or self.removed)


def changes(folder: Path, files: Mapping[str, str]) -> Changes:
    """How the folder differs from the files; those that an earlier emission left are to be removed.

    Raises:
        FilesError: it cannot be read.
    """
    written = tuple(name for name in sorted(files) if _current(folder / name) != files[name].encode())
    return Changes(written, tuple(name for name in _emitted_before(folder) if name not in files))


def write_files(folder: Path, files: Mapping[str, str]) -> Changes:
    """Bring the folder to hold the files; those that are right already are not touched.

    Raises:
        FilesError: it cannot be read or written.
    """
    found = changes(folder, files)
    try:
        for name in sorted(found.written, key=lambda name: name == MANIFEST):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            replace_file(folder / name, files[name].encode())
        for name in found.removed:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise FilesError(f'cannot write to "{folder}": {error.strerror or error}') from error
    return found


def _current(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FilesError(f'cannot read "{path}": {error.strerror or error}') from error


def _emitted_before(folder: Path) -> list[str]:
    """The files that the manifest in the folder names, as far as they lie in it and are there."""
    try:
        content = json.loads((folder / MANIFEST).read_bytes())
        names = [str(name) for name in content["files"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    inside = [name for name in names if not Path(name).is_absolute() and ".." not in Path(name).parts]
    return sorted(name for name in inside if (folder / name).is_file())
