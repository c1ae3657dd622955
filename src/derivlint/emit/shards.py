"""Dividing what is emitted into files."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

_Item = TypeVar("_Item")


def split_at_most(items: Sequence[_Item], count: int) -> list[Sequence[_Item]]:
    """Split items into at most ``count`` parts of about the same size, in order; only a single part may be empty."""
    return split_into(items, max(1, min(count, len(items))))


def split_into(items: Sequence[_Item], count: int) -> list[Sequence[_Item]]:
    """Split items into ``count`` parts of about the same size, in order; with fewer items some are empty."""
    bounds = [len(items) * index // count for index in range(count + 1)]
    return [items[start:end] for start, end in pairwise(bounds)]
