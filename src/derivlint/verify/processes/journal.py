"""The journal of a run: its messages in a file, from which an interrupted run resumes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from derivlint.project.caching.cache import sealed, unsealed
from derivlint.source import is_own, read_input
from derivlint.verify.unchecked import SkipReason

#: Why an operator is not done: the run had an error there.
_ERRORS = frozenset(why.value for why in SkipReason if why.is_error)


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
