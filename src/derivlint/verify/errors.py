"""Errors of verification."""

from __future__ import annotations


class VerifyError(Exception):
    """A run is not possible; the message is for the user."""
