"""A range of inputs, run by a process of its own: what leaks or grows in it ends with it."""

from __future__ import annotations

import gc
import os
import signal
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from contextlib import suppress
from ctypes import c_longlong
from itertools import accumulate
from multiprocessing.connection import Connection
from random import Random
from time import process_time

from fuzz.finds import observed, smaller
from fuzz.limits import limit_memory
from fuzz.target import Target
from fuzz.targets.workplace import workplace

#: One input of so many is run twice, and what comes of it is compared.
TWICE = 64


class Plan:
    """Which target every number stands for, and with which randomness.

    Attributes:
        seed: what the randomness begins with.
        targets: the targets.
    """

    def __init__(self, seed: int, targets: Sequence[Target]) -> None:
        self.seed = seed
        self.targets = tuple(targets)
        self._bounds = list(accumulate(target.weight for target in targets))

    def input(self, index: int) -> tuple[Target, bytes]:
        """The input of a number, always the same."""
        rng = Random(f"{self.seed}:{index}")
        at = bisect_right(self._bounds, rng.random() * self._bounds[-1])
        target = self.targets[min(at, len(self.targets) - 1)]
        return target, target.generate(rng)


def run_batch(
    plan: Plan, first: int, last: int, known: Collection[tuple[str, str]], results: Connection, position: c_longlong
) -> None:
    """Run inputs and send what they show, then how many there were.

    Args:
        plan: the inputs.
        first: the number of the first one.
        last: the number after the last one.
        known: targets and keys of what was found before, which is not made smaller again.
        results: takes each find, and in the end a tuple of the number reached, the counts and the processor times.
        position: is set to the number of each input before it is run.
    """
    # an interrupt is for the campaign, which ends its processes
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.setpgid(0, 0)
    campaign = os.getppid()
    limit_memory()
    seen = set(known)
    counts: Counter[str] = Counter()
    seconds: defaultdict[str, float] = defaultdict(float)
    index = first
    try:
        # a process whose campaign was killed has no one to tell
        while index < last and os.getppid() == campaign:
            position.value = index
            target, data = plan.input(index)
            begin = process_time()
            find = observed(target, data, index, twice=index % TWICE == 0)
            counts[target.name] += 1
            if find is not None:
                fresh = (find.target, find.key) not in seen
                seen.add((find.target, find.key))
                results.send(smaller(target, find) if fresh else find)
            seconds[target.name] += process_time() - begin
            index += 1
            if find is not None and "MB" in find.key:
                # how much memory the next one takes could not be seen
                break
            if index % 200 == 0:
                gc.collect()
    finally:
        with suppress(OSError):
            results.send((index, counts, dict(seconds)))
            results.close()
        workplace().remove()
        # threads that derivlint left running would keep the process
        os._exit(0)
