"""Errors of verification."""

from __future__ import annotations

from derivlint.verify.unchecked import SkipReason


class VerifyError(Exception):
    """A run is not possible: what it needs is missing. The message is for the user."""


class StoppedError(Exception):
    """A run cannot go on, for no fault of the user; what it has not checked is not checked.

    Args:
        why: the kind of reason.
        message: the reason in words.
    """

    def __init__(self, why: SkipReason, message: str) -> None:
        super().__init__(message)
        self.why = why
