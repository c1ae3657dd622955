"""Where two texts differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Difference(NamedTuple):
    """Where two texts differ: everything before is the same, as is everything from the ends on."""

    start: int
    before: int
    after: int


def difference(before: str, after: str) -> Difference:
    """Where a text differs from an earlier one."""
    shorter = min(len(before), len(after))
    start = _common(shorter, lambda first, last: before[first:last] == after[first:last])
    end, other = len(before), len(after)
    rest = _common(
        shorter - start, lambda first, last: before[end - last : end - first] == after[other - last : other - first]
    )
    return Difference(start, end - rest, other - rest)


def _common(limit: int, is_same: Callable[[int, int], bool]) -> int:
    """How many characters are the same, given whether all between two numbers are; comparing many costs little."""
    known = 0
    while known < limit:
        half = (known + limit + 1) // 2
        if is_same(known, half):
            known = half
        else:
            limit = half - 1
    return known
