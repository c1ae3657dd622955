"""The folder of verification, which belongs to this user alone, and digests of its files."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from derivlint.project.caching.cache import cache_folder
from derivlint.source import is_own, open_input
from derivlint.verify.unchecked import VerifyError


@contextmanager
def work_folder() -> Iterator[Path]:
    """The folder for recorded inputs, libraries and journals.

    It is in the cache. Where there is none that belongs to this user alone, it is a temporary folder for this run.

    Raises:
        VerifyError: no folder can be made.
    """
    folder = _cached_folder()
    if folder is not None:
        yield folder
        return
    try:
        made = tempfile.TemporaryDirectory(prefix="derivlint-", ignore_cleanup_errors=True)
    except OSError as error:
        raise VerifyError(f"there is no folder to work in: {error.strerror or error}") from error
    with made as name:
        yield Path(name)


def _cached_folder() -> Path | None:
    cache = cache_folder()
    if cache is None:
        return None
    folder = Path(os.path.abspath(cache)) / "verify"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if folder.is_symlink() or not is_own(folder.parent):
            return None
        # earlier versions made it with the mode that other folders have
        os.chmod(folder, 0o700)
        return folder if is_own(folder) and os.access(folder, os.W_OK) else None
    except OSError:
        return None


def first_foreign_path(path: Path, top: Path) -> Path | None:
    """Return the first of a file and its parents up to ``top`` that another user can write to, or None."""
    chain = [path, *path.parents]
    if top not in chain:
        return path
    return next((part for part in chain[: chain.index(top) + 1] if not is_own(part)), None)


def digest_of(path: Path) -> str:
    """The digest of a file.

    Raises:
        OSError: it cannot be read.
    """
    made = hashlib.sha256()
    with open_input(path) as file:
        while data := file.read(1 << 20):
            made.update(data)
    return made.hexdigest()
