"""Base classes of records and enumerations: equality by some fields, fast hashes."""

from __future__ import annotations

from enum import Enum
from typing import Any


class KeyedEquality:
    """A mixin ahead of ``Struct`` that compares, orders and hashes by :meth:`identity`."""

    __slots__ = ()

    def identity(self) -> tuple[Any, ...]:
        """The values of the compared fields."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return self.identity() == other.identity() if isinstance(other, type(self)) else NotImplemented

    def __lt__(self, other: Any) -> bool:
        return self.identity() < other.identity() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.identity())


class Choice(Enum):
    """An enumeration that hashes by identity: ``Enum.__hash__`` is a Python function, called at each lookup."""

    __hash__ = object.__hash__
