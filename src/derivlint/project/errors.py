"""Errors that a user can fix: usage, configuration, files."""

from __future__ import annotations


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
