"""Bases of records and enumerations, for equality by some fields and for fast hashes."""

from __future__ import annotations

from enum import Enum
from typing import Any


class KeyedEquality:
    """A base that comes before ``Struct``: equality, order and hash are those of :meth:`identity`."""

    __slots__ = ()

    def identity(self) -> tuple[Any, ...]:
        """The values of the fields that are compared."""
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
    """An enumeration with the hash of every object: that of ``Enum`` is a function of Python, called at each lookup."""

    __hash__ = object.__hash__
