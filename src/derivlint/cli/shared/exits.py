"""Exit statuses, and the message of an unexpected error."""

from __future__ import annotations

import os

from derivlint.cli.shared.terminal import warn

__all__ = [
    "CLEAN",
    "FINDINGS",
    "INTERNAL",
    "INTERRUPTED",
    "REPORT_HINT",
    "USAGE",
    "debugging",
    "internal_error",
    "warn",
]

CLEAN = 0
FINDINGS = 1
USAGE = 2
INTERNAL = 3
#: Something requested could not be checked.
UNCHECKED = 4
INTERRUPTED = 130

DEBUG_VARIABLE = "DERIVLINT_DEBUG"
REPORT_HINT = f"this is a bug of derivlint; set {DEBUG_VARIABLE}=1 for the traceback and please report it"


def debugging() -> bool:
    """Whether tracebacks are requested."""
    return bool(os.environ.get(DEBUG_VARIABLE))


def internal_error(error: Exception) -> str:
    """Return the message of an unexpected exception."""
    return f"internal error: {type(error).__name__}: {error}"
