"""How bad a finding is, and how sure derivlint is of it."""

from __future__ import annotations

from enum import Enum
from functools import total_ordering


@total_ordering
class Severity(Enum):
    """How bad a finding is; ``ERROR`` is the greatest.

    ``ERROR`` cannot be right: PyTorch's generator or compiler refuses it, or a gradient is certainly wrong.
    ``WARNING`` is very probably wrong, or wrong in a documented case. ``INFO`` is advice.
    """

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    def __lt__(self, other: Severity) -> bool:
        return _SEVERITIES.index(self) < _SEVERITIES.index(other)


@total_ordering
class Confidence(Enum):
    """How sure derivlint is of a finding; ``HIGH`` is the greatest."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"

    def __lt__(self, other: Confidence) -> bool:
        return _CONFIDENCES.index(self) < _CONFIDENCES.index(other)


_SEVERITIES = list(Severity)
_CONFIDENCES = list(Confidence)
