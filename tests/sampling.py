"""Samples for the suite; ``pytest --campaign tests/...`` runs everything.

Samples are the same in every run; inputs are sampled, never assertions.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import TypeVar

_T = TypeVar("_T")

#: Whether this is a campaign; set by ``pytest --campaign``, in the workers too.
CAMPAIGN = bool(os.environ.get("DERIVLINT_CAMPAIGN"))


def sample(values: Iterable[_T], size: int, *, always: Iterable[_T] = (), seed: int = 0) -> list[_T]:
    """Return a sample of the values in order; all values in a campaign.

    Args:
        values: the values.
        size: the size of the sample, including ``always``.
        always: values in every sample, since they failed once or are unique.
        seed: the seed of the sample.
    """
    values = list(values)
    if CAMPAIGN or size >= len(values):
        return values
    must = list(always)
    rest = [index for index, value in enumerate(values) if value not in must]
    chosen = set(random.Random(seed).sample(rest, max(0, size - (len(values) - len(rest)))))
    return [value for index, value in enumerate(values) if index in chosen or value in must]


def examples(count: int) -> int:
    """Return this number of Hypothesis examples in a campaign, and a third of it in the suite."""
    return count if CAMPAIGN else count // 3
