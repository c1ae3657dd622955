"""``derivlint verify`` when something fails: a read, a write, a rename, a process, once and anywhere.

It never ends with 0 when less was checked than was asked for, and it leaves no file that is not whole. In a campaign
every operation fails in every way; otherwise those at the beginning, and ever fewer after that.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
import torch

from derivlint.compiler import children
from derivlint.verify.inputs.samples import Recording
from derivlint.verify.inputs.stored import DamagedError, StoredInputs
from derivlint.verify.processes import process, recordings
from tests.safety.verify_faults import KINDS, Faults, fork_children
from tests.safety.verifying import FAST, WITH_BASE, Place, place_in
from tests.sampling import CAMPAIGN, sample

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="children are forked with means of Linux"),
    # where Popen fails after its fork, it leaves the process that it has started
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.forks,
    pytest.mark.long,
]

#: More operations than a run has.
ENOUGH = 10_000
#: What a process can do that fails in each of these; memory runs out in children that compute.
OF_PARENT = ("input/output error", "disk full")
#: Reports of before, which a run replaces as a whole or not at all.
BEFORE = "before\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Three right entries with recorded inputs, and children that are forks of this process."""
    fork_children(monkeypatch)
    monkeypatch.setattr(process, "IDLE", 5.0)
    monkeypatch.setattr(children, "HANG_PERIOD", 0.5)
    tensor = torch.rand(3, dtype=torch.float64) + 0.5

    def recorded(
        dtype: str, wanted: object, recording: Recording, progress: object, sources: Collection[str] | None
    ) -> None:
        for name in ("exp", "sin", "cos"):
            recording.add(name, [tensor])

    monkeypatch.setattr(recordings, "record", recorded)
    return place_in(tmp_path)


class Trial:
    """One run in which something fails.

    Args:
        place: where.
        at: the number of the operation that fails.
        kind: how it fails.
        where: ``parent`` or ``child``.
        records: whether inputs have to be recorded.
    """

    def __init__(self, place: Place, at: int, kind: str, where: str, *, records: bool) -> None:
        self.place = place
        self.output = place.folder / "report.json"
        self.output.write_text(BEFORE)
        # what a child that was killed has left in the run before
        for left in place.cache.glob("**/.new-*"):
            left.unlink()
        if records:
            place.samples.unlink(missing_ok=True)
        elif not place.samples.is_file():
            place.record()
        faults = Faults(at, kind, in_children=where == "child")
        arguments = ("--ops", "exp,sin", "--output-format", "json", "-o", str(self.output))
        try:
            with faults.installed():
                self.status, _, self.stderr = place.verify(*arguments, options=WITH_BASE if where == "parent" else FAST)
        except (OSError, MemoryError) as error:
            # the command line makes an internal error of it
            self.status, self.stderr = 3, repr(error)
        self.count = faults.count

    def report(self) -> Any:
        """The report, None where there is the one of before."""
        text = self.output.read_text()
        return None if text == BEFORE else json.loads(text)

    def require_right(self, expected: Any) -> None:
        """Not 0 with less than was asked for, and all files whole.

        Args:
            expected: the report of a run without faults.
        """
        assert self.status in (0, 2, 4), self.stderr
        found = self.report()
        if self.status == 0:
            assert found == expected
        elif self.status == 4:
            assert found is None or found["summary"]["entries"] < 2
            assert "is not checked: " in self.stderr
        else:
            assert self.stderr.startswith("derivlint: ")
        if self.place.samples.is_file():
            try:
                StoredInputs(self.place.samples).check()
            except DamagedError:
                pytest.fail("recorded inputs that are not whole")
        left = [path.name for path in self.place.cache.glob("**/.new-*")]
        assert left == [] or self.status != 0


def points(count: int) -> list[int]:
    """The operations that fail: all in a campaign, otherwise those at the beginning and ever fewer after that."""
    if CAMPAIGN:
        return list(range(1, count + 1))
    found = [1]
    while (following := 8 * found[-1] + 1) <= count:
        found.append(following)
    return found


#: Where an operation fails, whether inputs have to be recorded, and how it fails.
CASES = (
    # reading files, the cache, the journal, the report; a command that is killed has no status
    *(("parent", False, kind) for kind in OF_PARENT),
    # reading inputs, starting children, writing what they find
    *(("child", False, kind) for kind in KINDS),
    # writing inputs; the fault comes again in the process that checks, as a full disk does
    *(("child", True, kind) for kind in KINDS),
)
#: One case of the parent, and every kind once.
ALWAYS = (CASES[0], *(("child", number % 2 == 0, kind) for number, kind in enumerate(KINDS)))


@pytest.mark.parametrize(("where", "records", "kind"), sample(CASES, len(ALWAYS), always=ALWAYS))
def test_a_fault_anywhere(place: Place, where: str, kind: str, *, records: bool) -> None:
    """Have some operations of the command, or of the process that checks or records, fail."""
    whole = Trial(place, ENOUGH, kind, where, records=records)
    assert whole.status == 0, whole.stderr
    expected = whole.report()
    assert expected["summary"]["entries"] == 2
    statuses = set()
    for at in points(whole.count):
        trial = Trial(place, at, kind, where, records=records)
        trial.require_right(expected)
        statuses.add(trial.status)
    assert statuses - {0}
