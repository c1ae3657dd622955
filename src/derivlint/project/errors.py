"""Errors that a user can fix: usage, configuration, files."""

from __future__ import annotations

from pathlib import Path

from derivlint.source import SourceError, SourceFile


class InputError(Exception):
    """Wrong usage or configuration, or an unreadable file; its text is a message for the user.

    Attributes:
        messages: the errors.
    """

    def __init__(self, *messages: str) -> None:
        super().__init__("\n".join(messages))
        self.messages = messages


class NothingFoundError(InputError):
    """No file is named, and none is found by default."""


def read_file(path: Path) -> SourceFile:
    """Read a file that the user or a configuration names.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        return SourceFile.read(path)
    except SourceError as error:
        raise InputError(str(error)) from error
