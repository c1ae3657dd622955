"""Samples for the suite of what a campaign runs as a whole: ``pytest --campaign tests/...``.

A sample is the same in every run, and it is taken of what is tested, never of what is asserted.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import TypeVar

_T = TypeVar("_T")

#: Set by ``pytest --campaign``, in the workers too.
CAMPAIGN = bool(os.environ.get("DERIVLINT_CAMPAIGN"))


def sample(values: Iterable[_T], size: int, *, always: Iterable[_T] = (), seed: int = 0) -> list[_T]:
    """Return so many of the values, in their order; all of them in a campaign.

    Args:
        values: what there is to test.
        size: how many of them the suite tests, those that are always in it included.
        always: values that no sample leaves out, since they failed once or since no other is like them.
        seed: another seed gives another sample.
    """
    values = list(values)
    if CAMPAIGN or size >= len(values):
        return values
    must = list(always)
    rest = [index for index, value in enumerate(values) if value not in must]
    chosen = set(random.Random(seed).sample(rest, max(0, size - (len(values) - len(rest)))))
    return [value for index, value in enumerate(values) if index in chosen or value in must]


def examples(count: int) -> int:
    """Return so many examples of Hypothesis in a campaign, and a third of them in the suite."""
    return count if CAMPAIGN else count // 3
