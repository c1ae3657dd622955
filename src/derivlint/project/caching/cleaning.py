"""Emptying the cache: only files of derivlint are removed."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from derivlint.project.caching.cache import cache_folder
from derivlint.source.private import is_made_by_user, is_own
from derivlint.source.writing import PREFIX

#: The names of entries: what they are, and a digest of what they were made from.
_ENTRY = re.compile(r"[a-z]+-[0-9a-f]{32,64}(?:\.json)?")
#: Folders with what was built: numerical checks, precompiled headers, object files, replaced derivatives.
_BUILT = ("verify", "headers", "objects", "run")
#: What is in them: folders named by a digest, recorded inputs, object files.
_WORK = re.compile(r"[0-9a-f]{32}|samples-[\w.+-]+\.bin|\w+-[0-9a-f]{20}\.o")


class Cleaned(Struct, frozen=True):
    """The removed files.

    Attributes:
        folder: the folder of the cache, or None.
        files: how many files.
        size: how many bytes.
    """

    folder: Path | None
    files: int = 0
    size: int = 0


def clean() -> Cleaned:
    """Remove everything from the cache that derivlint has put there; what cannot be removed stays.

    The folder itself stays as well: the user may have named one that has other files.
    """
    folder = cache_folder()
    if folder is None:
        return Cleaned(None)
    files = size = 0
    for path in _ours(folder):
        for file in _files_in(path):
            try:
                bytes_of = os.lstat(file).st_size
                os.unlink(file)
            except OSError:
                continue
            files, size = files + 1, size + bytes_of
        if path.is_dir():
            # what is left are empty folders
            shutil.rmtree(path, ignore_errors=True)
    return Cleaned(folder, files, size)


def _ours(folder: Path) -> Iterator[Path]:
    """The files and folders that derivlint has made, in the cache and below it."""
    for path in sorted(folder.iterdir()):
        if is_made_by_user(path) and (_ENTRY.fullmatch(path.name) or path.name.startswith(PREFIX)):
            yield path
    for work in (folder / name for name in _BUILT):
        if is_own(work) and work.is_dir():
            yield from (path for path in sorted(work.iterdir()) if _WORK.fullmatch(path.name) and is_own(path))


def _files_in(path: Path) -> list[Path]:
    """A file itself, or all files below a folder; links are files."""
    if not path.is_dir():
        return [path]
    return [Path(parent, name) for parent, _, names in os.walk(path) for name in names]
