"""Exit statuses, the same for every format, and errors that are told instead of shown as a traceback."""

from __future__ import annotations

import os

import click

CLEAN = 0
FINDINGS = 1
USAGE = 2
INTERNAL = 3
INTERRUPTED = 130

DEBUG_VARIABLE = "DERIVLINT_DEBUG"
REPORT_HINT = f"this is a bug of derivlint; set {DEBUG_VARIABLE}=1 for the traceback and please report it"


def tell(message: str) -> None:
    """Print a message about the run to standard error; standard output is for results."""
    click.echo(f"derivlint: {message}", err=True)


def debugging() -> bool:
    """Whether the user wants to see tracebacks."""
    return bool(os.environ.get(DEBUG_VARIABLE))


def internal_error(error: Exception) -> str:
    """What to say of an exception that nobody expected."""
    return f"internal error: {type(error).__name__}: {error}"
