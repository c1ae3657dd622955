"""What of a run is done already, in a file; a run that was broken off goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Journal:
    """The messages of a run.

    Args:
        path: the file, which no other task may have.
        resume: whether what it holds already is taken up.

    Attributes:
        messages: those that were taken up.

    Raises:
        OSError: the file cannot be written.
    """

    def __init__(self, path: Path, *, resume: bool) -> None:
        self._path = path
        self.messages = list(self._read()) if resume else []
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("w", encoding="utf-8")
        for message in self.messages:
            self.add(message)

    def _read(self) -> Iterator[dict[str, Any]]:
        """The messages about operators that were checked to the end."""
        pending = []
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return
        for line in lines:
            try:
                message = json.loads(line)
            except ValueError:
                return
            pending.append(message)
            if "checked" in message or "died" in message:
                yield from pending
                pending = []

    def operators(self) -> set[str]:
        """The operators that are done."""
        return {message["checked"] for message in self.messages if "checked" in message} | {
            message["died"] for message in self.messages if "died" in message
        }

    def add(self, message: dict[str, Any]) -> None:
        """Keep a message."""
        self._file.write(json.dumps(message) + "\n")
        self._file.flush()

    def close(self) -> None:
        """The run was broken off."""
        self._file.close()

    def finish(self) -> None:
        """The run is done; the next one begins anew."""
        self._file.close()
        self._path.unlink(missing_ok=True)
