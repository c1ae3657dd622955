"""Entries that are checked by several processes: what they find is what one finds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from derivlint.lint.engine import processes

#: Checks a file by one process, then by three. Of those two may be killed, or fail since what they found in a file of
#: this name cannot be handed over; or there may be no more processes.
PROGRAM = """
import os, sys
from functools import partial
from pathlib import Path
from derivlint.lint.engine import kept, processes
from derivlint.model import build_model
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.project.operators import load_operators, operators_for
from derivlint.source import SourceFile

path, fate = sys.argv[1:]
rules = [rule for rule in Settings().selected(load_rules()) if rule.target != "suppressions"]
natives = load_operators(operators_for(Path("/"), Settings())).natives
name = "half a pair \\udcff" if fate == "unnamable" else path
source = SourceFile(name, Path(path).read_text(encoding="utf-8"))
started = []

def found(number):
    kept.processes_for = lambda count: number
    return kept.check_text(kept.models_of(source, natives)[0], rules)

def shared_out(work, pack, items, number):
    def works(parts):
        if fate == "killed" and os.getpid() != first:
            next(parts)
            os.kill(os.getpid(), 9)
        return work(parts)

    own, others = processes.shared_out(works, pack, items, number)
    started.append(len(others))
    return own, others

def no_fork():
    raise BlockingIOError("there are too many processes")

kept.shared_out = shared_out
first = os.getpid()
if fate == "refused":
    os.fork = no_fork
one, three = found(1), found(3)
assert started == [2 if fate == "alive" else 0], started
assert three.result == one.result
assert three.kept.entries == one.kept.entries
assert three.kept.file == one.kept.file
assert three.kept.indexed == one.kept.indexed
assert sorted(three.kept.facts) == sorted(one.kept.facts)
assert three.kept.entry_facts == one.kept.entry_facts
assert three.checked == one.checked == len(one.model.entries)
print(len(one.result.diagnostics))
"""


@pytest.mark.forks
@pytest.mark.skipif(sys.platform != "linux", reason="one process checks all elsewhere")
@pytest.mark.parametrize("fate", ["alive", "killed", "unnamable", "refused"])
def test_several_processes_find_what_one_finds(derivatives_path: Path, fate: str) -> None:
    """Also where they do not come to their end."""
    command = [sys.executable, "-c", PROGRAM, str(derivatives_path), fate]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert int(run.stdout) > 50


def test_few_entries_are_checked_by_one_process() -> None:
    assert processes.processes_for(2 * processes.SHARE - 1) == 1


def test_a_process_with_threads_is_not_copied() -> None:
    # the tests run next to a thread that speaks to their runner
    assert processes.processes_for(10**6) == 1
