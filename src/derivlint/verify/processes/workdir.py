"""The folder of verification, which belongs to this user alone, digests of its files, and the journals in it."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from derivlint.project.caching.cache import cache_folder, sealed, unsealed
from derivlint.source import is_own, open_input, read_input
from derivlint.verify.unchecked import SkipReason, VerifyError

#: Why an operator is not done: the run had an error there.
_ERRORS = frozenset(why.value for why in SkipReason if why.is_error)


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
        raise VerifyError(f"cannot create a working folder: {error.strerror or error}") from error
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


class Journal:
    """The messages of a run. Where the file cannot be written, the run is not taken up later, and nothing else.

    Args:
        path: the file, which no other task may have.
        resume: whether what it holds already is taken up.

    Attributes:
        messages: those that were taken up.
    """

    def __init__(self, path: Path, *, resume: bool) -> None:
        self._path = path
        self.messages = list(self._read()) if resume else []
        self._file: Any = None
        try:
            self._file = path.open("wb")
        except OSError:
            return
        for message in self.messages:
            self.add(message)

    def _read(self) -> Iterator[dict[str, Any]]:
        """The messages about operators that were checked to the end, without an error of the run."""
        pending = []
        try:
            lines = read_input(self._path).splitlines() if is_own(self._path) else []
        except OSError:
            return
        for line in lines:
            text = unsealed(line)
            message = None if text is None else json.loads(text)
            if not isinstance(message, dict):
                # it was cut off here, or damaged
                return
            pending.append(message)
            if "died" in message:
                pending = []
            elif "checked" in message:
                if message.get("why") not in _ERRORS:
                    yield from pending
                pending = []

    def operators(self) -> set[str]:
        """The operators that are done."""
        return {message["checked"] for message in self.messages if "checked" in message}

    def add(self, message: dict[str, Any]) -> None:
        """Keep a message."""
        if self._file is None:
            return
        try:
            self._file.write(sealed(json.dumps(message).encode()) + b"\n")
            self._file.flush()
        except OSError:
            self.close()

    def close(self) -> None:
        """Close the file after an interruption."""
        file, self._file = self._file, None
        if file is not None:
            # on a full disk it is closed with what could not be written
            with suppress(OSError):
                file.close()

    def finish(self) -> None:
        """Delete the file after a complete run."""
        self.close()
        # if it stays, its messages are true for the next run as well
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
