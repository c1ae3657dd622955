"""Severities and confidences of findings."""

from __future__ import annotations

from enum import Enum


class _Ranked(Enum):
    """Ordered enumerations with fast comparison, in ascending order."""

    def __init__(self, _: str) -> None:
        self.rank = len(type(self).__members__)

    def __lt__(self, other: object) -> bool:
        return self.rank < other.rank if isinstance(other, type(self)) else NotImplemented

    def __le__(self, other: object) -> bool:
        return self.rank <= other.rank if isinstance(other, type(self)) else NotImplemented

    def __gt__(self, other: object) -> bool:
        return self.rank > other.rank if isinstance(other, type(self)) else NotImplemented

    def __ge__(self, other: object) -> bool:
        return self.rank >= other.rank if isinstance(other, type(self)) else NotImplemented


class Severity(_Ranked):
    """The severity of a finding; ``ERROR`` is the greatest.

    ``ERROR`` is certainly wrong: PyTorch's generator or compiler rejects it, or a gradient is wrong. ``WARNING`` is
    very probably wrong, or wrong in a documented case. ``INFO`` is advice.
    """

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Confidence(_Ranked):
    """The confidence of a finding; ``HIGH`` is the greatest."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
