"""The parity of values in complex variables: holomorphic, antiholomorphic, or neither."""

from __future__ import annotations

from collections.abc import Iterable

from derivlint.source.choices import Choice


class Parity(Choice):
    """The parity of a value in complex variables."""

    #: it is real, or depends on none
    REAL = "real"
    HOLOMORPHIC = "holomorphic"
    #: it depends on the conjugates only
    CONJUGATED = "conjugated"
    #: it depends on both, or through a function that is not holomorphic, or flags decide
    NON_HOLOMORPHIC = "non-holomorphic"
    UNKNOWN = "unknown"

    @property
    def conjugate(self) -> Parity:
        """The parity of the conjugate."""
        return _FLIPPED.get(self, self)

    @property
    def is_pure(self) -> bool:
        """Whether it depends on complex variables, and on all in the same way."""
        return self in _FLIPPED

    def of(self, inner: Parity) -> Parity:
        """The parity of a function of this parity whose argument has another."""
        if Parity.REAL in (self, inner):
            return Parity.REAL
        if Parity.UNKNOWN in (self, inner):
            return Parity.UNKNOWN
        if Parity.NON_HOLOMORPHIC in (self, inner):
            return Parity.NON_HOLOMORPHIC
        return inner.conjugate if self is Parity.CONJUGATED else inner


_FLIPPED = {Parity.HOLOMORPHIC: Parity.CONJUGATED, Parity.CONJUGATED: Parity.HOLOMORPHIC}


def joint(parities: Iterable[Parity]) -> Parity:
    """The parity of a sum or product."""
    distinct = set(parities)
    distinct.discard(Parity.REAL)
    if not distinct:
        return Parity.REAL
    if Parity.UNKNOWN in distinct:
        return Parity.UNKNOWN
    return distinct.pop() if len(distinct) == 1 else Parity.NON_HOLOMORPHIC
