"""The private work folder of verification, with digests of its files and journals."""

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

#: Reasons due to an error of the run, after which an operator is checked again.
_ERRORS = frozenset(why.value for why in SkipReason if why.is_error)


@contextmanager
def work_folder() -> Iterator[Path]:
    """Provide the folder for recorded inputs, libraries and journals.

    The folder is in the cache; if the cache is not private to this user, a temporary folder.

    Raises:
        VerifyError: no folder can be created.
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
        # earlier versions created it with the default mode
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
    """Return the digest of a file.

    Raises:
        OSError: the file cannot be read.
    """
    made = hashlib.sha256()
    with open_input(path) as file:
        while data := file.read(1 << 20):
            made.update(data)
    return made.hexdigest()


class Journal:
    """The messages of a run. If the file cannot be written, the run merely cannot be resumed.

    Args:
        path: the file, unique to the task.
        resume: whether to resume from its messages.

    Attributes:
        messages: the messages of the resumed run.
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
        """The messages about completely checked operators, without errors of the run."""
        pending = []
        try:
            lines = read_input(self._path).splitlines() if is_own(self._path) else []
        except OSError:
            return
        for line in lines:
            text = unsealed(line)
            message = None if text is None else json.loads(text)
            if not isinstance(message, dict):
                # the file is truncated or damaged here
                return
            pending.append(message)
            if "died" in message:
                pending = []
            elif "checked" in message:
                if message.get("why") not in _ERRORS:
                    yield from pending
                pending = []

    def operators(self) -> set[str]:
        """The completed operators."""
        return {message["checked"] for message in self.messages if "checked" in message}

    def add(self, message: dict[str, Any]) -> None:
        """Append a message."""
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
            # on a full disk, closing fails with unwritten data
            with suppress(OSError):
                file.close()

    def finish(self) -> None:
        """Delete the file after a complete run."""
        self.close()
        # if it stays, its messages are valid for the next run as well
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
