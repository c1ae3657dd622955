"""Errors that a user can fix: usage, configuration, files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def user_errors(*kinds: type[Exception]) -> Iterator[None]:
    """Raise errors of these kinds as errors of the user, with their text."""
    try:
        yield
    except kinds as error:
        raise InputError(str(error)) from error


@contextmanager
def writing(place: object) -> Iterator[None]:
    """Raise errors of the system as errors of the user: the place cannot be written."""
    try:
        yield
    except OSError as error:
        raise InputError(f'cannot write "{place}": {error.strerror or error}') from error


def read_file(path: Path) -> SourceFile:
    """Read a file that the user or a configuration names.

    Raises:
        InputError: the file cannot be read.
    """
    with user_errors(SourceError):
        return SourceFile.read(path)
