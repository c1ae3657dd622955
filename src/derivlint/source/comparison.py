"""Records whose equality depends on some of their fields only."""

from __future__ import annotations

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
