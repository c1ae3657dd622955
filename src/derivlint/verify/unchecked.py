"""The reasons why something was not checked, which is neither right nor wrong."""

from __future__ import annotations

import signal
from enum import Enum

from msgspec import Struct

from derivlint.compiler.children import signal_name


class SkipReason(Enum):
    """The reason why an entry or a formula was not checked."""

    #: No input is known that the operator accepts and that has a derivative.
    NO_INPUTS = "no-inputs"
    #: The installed PyTorch has the operator with other arguments.
    OTHER_SCHEMA = "other-schema"
    #: It needs a newer PyTorch than the installed one.
    NOT_IN_TORCH = "not-in-torch"
    #: The machine does not have the device.
    NO_DEVICE = "no-device"
    #: The formula cannot be a function, whatever the options are.
    NO_FUNCTION = "no-function"
    #: The formula cannot be translated to Python, or not be called from there.
    NOT_CALLABLE = "not-callable"
    #: The formula ran, but no comparison was possible.
    NOT_COMPARED = "not-compared"
    #: The process crashed, for example with a segmentation fault.
    CRASHED = "crashed"
    #: The process was killed, for example when memory ran out.
    KILLED = "killed"
    #: The process reported that memory ran out.
    OUT_OF_MEMORY = "out-of-memory"
    #: It exceeded its processor time.
    TIMED_OUT = "timed-out"
    #: It waited without using processor time.
    HUNG = "hung"
    #: Inputs could not be recorded or read, formulas could not be compiled, or the checks themselves failed.
    FAILED = "failed"
    #: The user interrupted an earlier run.
    BROKEN_OFF = "broken-off"

    @property
    def is_error(self) -> bool:
        """Whether an error prevented a possible check."""
        return self in _ERRORS


_ERRORS = frozenset(
    {
        SkipReason.CRASHED,
        SkipReason.KILLED,
        SkipReason.OUT_OF_MEMORY,
        SkipReason.TIMED_OUT,
        SkipReason.HUNG,
        SkipReason.FAILED,
        SkipReason.BROKEN_OFF,
    }
)
#: Signals that end a process from outside.
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
_OUT_OF_MEMORY = ("bad_alloc", "MemoryError", "Cannot allocate memory", "can't allocate memory", "out of memory")


class Unchecked(Struct, frozen=True):
    """An entry or a formula that was not checked.

    Attributes:
        operator: the operator of the entry.
        key: the key of the formula; empty for the whole entry.
        why: the kind of reason.
        reason: the text of the reason.
    """

    operator: str
    key: str
    why: SkipReason
    reason: str

    def __str__(self) -> str:
        label = f"{self.operator}, {self.key}" if self.key else self.operator
        return f"{label} is not checked: {self.reason}"


def exit_reason(status: int, output: str, limit: float) -> tuple[SkipReason, str]:
    """Return the reason why a process ended early, and its description.

    Args:
        status: its exit status, negative for a signal.
        output: its standard error.
        limit: its processor time limit, in seconds.
    """
    also = f": {output}" if output else ""
    if status >= 0:
        why = SkipReason.OUT_OF_MEMORY if any(words in output for words in _OUT_OF_MEMORY) else SkipReason.FAILED
        return why, f"the process ended with exit status {status}{also}"
    name = signal_name(-status)
    if -status == signal.SIGXCPU:
        return SkipReason.TIMED_OUT, f"it took more than {limit:g} seconds of processor time"
    if -status == signal.SIGKILL:
        return SkipReason.KILLED, f"the process was killed ({name}), as the system does where memory runs out{also}"
    if -status in _FROM_OUTSIDE:
        return SkipReason.KILLED, f"the process was killed ({name}){also}"
    if -status == signal.SIGABRT and any(words in output for words in _OUT_OF_MEMORY):
        return SkipReason.OUT_OF_MEMORY, f"memory ran out{also}"
    return SkipReason.CRASHED, f"{name}{also}"


class VerifyError(Exception):
    """A missing requirement of a run; the message is for the user."""


class StoppedError(Exception):
    """A run that cannot continue; the remaining operators stay unchecked.

    Args:
        why: the kind of reason.
        message: the text of the reason.
    """

    def __init__(self, why: SkipReason, message: str) -> None:
        super().__init__(message)
        self.why = why
