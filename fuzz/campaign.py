"""A campaign: many inputs in several processes, what they show without repetitions, and where to go on."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections import Counter, deque
from contextlib import suppress
from ctypes import c_longlong
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import monotonic
from types import FrameType

from fuzz.batch import Plan, run_batch
from fuzz.finds import Find
from fuzz.record import Record

#: How many inputs a process runs.
BATCH = 2000
#: Seconds without any progress, by the clock, after which a process is taken to hang where no timer reaches it.
PATIENCE = 400.0
_FORK = multiprocessing.get_context("fork")


@dataclass
class _Worker:
    process: BaseProcess
    results: Connection
    position: c_longlong
    first: int
    last: int
    is_done: bool = False
    seen: int = -1
    since: float = field(default_factory=monotonic)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


class Campaign:
    """A run over the inputs of a plan."""

    def __init__(self, plan: Plan, record: Record, inputs: int, jobs: int, minutes: float | None) -> None:
        self._plan = plan
        self._record = record
        self._inputs = inputs
        self._jobs = jobs
        self._begin = monotonic()
        self._deadline = self._begin + 60 * minutes if minutes is not None else None
        self._pending = deque(record.ranges(inputs, BATCH))
        self._workers: list[_Worker] = []
        self._shown = 0.0

    def run(self) -> bool:
        """Run until everything is done, the time is over, or someone interrupts; whether it was not interrupted."""
        before = signal.signal(signal.SIGTERM, _interrupt)
        try:
            while self._workers or (self._pending and not self._is_over()):
                while self._pending and len(self._workers) < self._jobs and not self._is_over():
                    self._start(*self._pending.popleft())
                self._wait()
                self._progress()
            return True
        except KeyboardInterrupt:
            return False
        finally:
            signal.signal(signal.SIGTERM, before)
            self._end()

    def _is_over(self) -> bool:
        return self._deadline is not None and monotonic() > self._deadline

    def _start(self, first: int, last: int) -> None:
        ours, theirs = _FORK.Pipe(duplex=False)
        position = _FORK.RawValue(c_longlong, first)
        arguments = (self._plan, first, last, frozenset(self._record.finds), theirs, position)
        process = _FORK.Process(target=run_batch, args=arguments)
        process.start()
        theirs.close()
        self._workers.append(_Worker(process, ours, position, first, last))

    def _wait(self) -> None:
        ready = set(
            wait([item for worker in self._workers for item in (worker.results, worker.process.sentinel)], timeout=1.0)
        )
        for worker in list(self._workers):
            if worker.results in ready:
                self._receive(worker)
            if worker.process.sentinel in ready:
                self._receive(worker)
                self._finish(worker)
            else:
                self._watch(worker)

    def _receive(self, worker: _Worker) -> None:
        with suppress(EOFError, OSError):
            while worker.results.poll():
                message = worker.results.recv()
                if isinstance(message, Find):
                    self._record.add(message)
                else:
                    reached, counts, seconds = message
                    self._record.count(worker.first, reached, counts, seconds)
                    worker.is_done = True
                    if reached < worker.last:
                        self._pending.appendleft((reached, worker.last))

    def _finish(self, worker: _Worker) -> None:
        """Take leave of a process; one that did not say goodbye crashed on the input that it was at."""
        worker.process.join()
        self._workers.remove(worker)
        worker.results.close()
        if worker.is_done:
            return
        index = int(worker.position.value)
        target, data = self._plan.input(index)
        how = worker.process.exitcode or 0
        key = f"the process is killed by {signal.Signals(-how).name}" if how < 0 else f"the process exits with {how}"
        self._record.add(Find(target.name, key, "", index, data))
        self._record.count(worker.first, index + 1, Counter({target.name: 1}), {})
        if index + 1 < worker.last:
            self._pending.appendleft((index + 1, worker.last))

    def _watch(self, worker: _Worker) -> None:
        at = int(worker.position.value)
        if at != worker.seen:
            worker.seen, worker.since = at, monotonic()
        elif monotonic() - worker.since > PATIENCE:
            worker.process.kill()

    def _progress(self) -> None:
        """Say how far it is: in a line that the next one replaces on a terminal, else now and then."""
        pause = 1.0 if sys.stderr.isatty() else 30.0
        if monotonic() - self._shown < pause:
            return
        self._shown = monotonic()
        done = self._record.done + sum(int(worker.position.value) - worker.first for worker in self._workers)
        rate = self._record.rate(monotonic() - self._begin)
        line = f"{done:,} of {self._inputs:,} inputs, {rate:,.0f}/s, {len(self._record.finds):,} finds"
        print(
            f"\r\x1b[K{line}" if sys.stderr.isatty() else line,
            end="" if sys.stderr.isatty() else "\n",
            file=sys.stderr,
            flush=True,
        )

    def _end(self) -> None:
        for worker in self._workers:
            with suppress(OSError):
                os.killpg(worker.process.pid or 0, signal.SIGKILL)
            worker.process.join()
        self._workers.clear()
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr)
        self._record.save(monotonic() - self._begin)
