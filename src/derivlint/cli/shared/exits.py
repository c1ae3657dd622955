"""Exit statuses, the same for every format, and what is said of errors that no one expected."""

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
#: Something that was to be checked could not be checked.
UNCHECKED = 4
INTERRUPTED = 130

DEBUG_VARIABLE = "DERIVLINT_DEBUG"
REPORT_HINT = f"this is a bug of derivlint; set {DEBUG_VARIABLE}=1 for the traceback and please report it"


def debugging() -> bool:
    """Whether the user wants to see tracebacks."""
    return bool(os.environ.get(DEBUG_VARIABLE))


def internal_error(error: Exception) -> str:
    """What to say of an exception that no one expected."""
    return f"internal error: {type(error).__name__}: {error}"
