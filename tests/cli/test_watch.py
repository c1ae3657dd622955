"""``derivlint check --watch``: a process that checks again when files change, until it is interrupted."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from derivlint.cli.checking.watch import stamps, wait_for_change
from tests.cli.conftest import SIN, Run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")

TIMEOUT = 600.0


class Watching:
    """A process that watches, with the lines that it prints."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-m", "derivlint", "check", "--watch", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def round(self) -> list[str]:
        """The lines up to the one that says what is watched, without it."""
        found: list[str] = []
        while True:
            line = self.lines.get(timeout=TIMEOUT)
            if line.startswith("derivlint: watching "):
                return found
            found.append(line)

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=TIMEOUT)


@pytest.fixture
def watching(here: Path, interruptible: None) -> Iterator[Watching]:
    (here / "derivatives.yaml").write_text(SIN)
    watching = Watching("--output-format", "concise")
    try:
        yield watching
    finally:
        watching.process.kill()
        watching.process.wait()
        watching.reader.join()
        assert watching.process.stdout is not None
        watching.process.stdout.close()


def test_a_change_of_a_file_or_its_configuration_is_checked_until_ctrl_c(watching: Watching, here: Path) -> None:
    clean = "no findings in 1 file (1 entry, 2 formulas)"
    assert watching.round() == [clean]
    (here / "derivatives.yaml").write_text(SIN.replace("self.cos", "sefl.cos"))
    found = watching.round()
    assert any(line.endswith("[undefined-name]") for line in found)
    # a configuration that was not there before, and is wrong
    (here / "derivlint.toml").write_text("selct = []\n")
    assert any('"selct"' in line for line in watching.round())
    (here / "derivlint.toml").write_text('ignore = ["undefined-name"]\n')
    assert not any(line.endswith("[undefined-name]") for line in watching.round())
    (here / "derivatives.yaml").unlink()
    assert any("nothing to check" in line for line in watching.round())
    (here / "derivatives.yaml").write_text(SIN)
    # a file that nothing names is found again when something that is watched changes
    (here / "derivlint.toml").unlink()
    assert watching.round()[-1] == clean
    assert watching.end() == 130


def test_standard_input_cannot_be_watched(run: Run) -> None:
    outcome = run("check", "--watch", "-", stdin=SIN)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == "derivlint: --watch cannot be used with standard input\n"


def test_waiting_ends_when_a_file_changes_and_is_quiet(tmp_path: Path) -> None:
    path = tmp_path / "d.yaml"
    path.write_text("a")
    missing = tmp_path / "missing"
    steps = iter([None, path, path, None, None, None])
    slept = 0

    def sleep(seconds: float) -> None:
        nonlocal slept
        slept += 1
        step = next(steps)
        if step is not None:
            step.write_text("a" * (slept + 1))

    wait_for_change([path, missing], stamps([path, missing]), 0, sleep)
    # two looks until the change, one that finds another one, and two equal ones
    assert slept == 4


def test_a_file_that_changed_during_the_run_ends_waiting_at_once(tmp_path: Path) -> None:
    path = tmp_path / "d.yaml"
    before = time.time_ns()
    path.write_text("a")
    os.utime(path, ns=(before + 1, before + 1))
    slept: list[float] = []
    wait_for_change([path], stamps([path]), before, slept.append)
    assert len(slept) == 1


def test_a_time_in_the_future_is_no_change(tmp_path: Path) -> None:
    path = tmp_path / "d.yaml"
    path.write_text("a")
    now = time.time_ns()
    os.utime(path, ns=(now + 10**12, now + 10**12))
    rounds = 0

    def sleep(seconds: float) -> None:
        nonlocal rounds
        rounds += 1
        if rounds == 3:
            path.unlink()

    wait_for_change([path], stamps([path]), now - 1, sleep)
    assert rounds == 4


def test_a_missing_file_has_a_stamp_of_its_own(tmp_path: Path) -> None:
    assert stamps([tmp_path / "missing", tmp_path / "x\0y"]) == [None, None]
