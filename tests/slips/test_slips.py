"""One slip, one diagnostic, at the slip: ratchets over slips and equal rewrites in the installed PyTorch's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from derivlint.lint import Severity
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.sampling import CAMPAIGN, sample
from tests.slips.fixes import Fixer
from tests.slips.generate import KINDS, equal_rewrites, slips
from tests.slips.judge import Judge, Verdict, report

pytestmark = pytest.mark.long

SEED, COUNT = 20, 1_000 if CAMPAIGN else 90


@pytest.fixture(scope="module")
def judge(derivatives_path: Path, bundled_natives: NativeFunctions) -> Judge:
    """The released file, with the operators and helpers of its release."""
    return Judge(SourceFile.read(derivatives_path), bundled_natives)


@pytest.fixture(scope="module")
def fixer(derivatives_path: Path, bundled_natives: NativeFunctions) -> Fixer:
    """The released file, with parts of it fixed."""
    return Fixer(SourceFile.read(derivatives_path), bundled_natives)


@pytest.fixture(scope="module")
def verdicts(judge: Judge) -> list[Verdict]:
    """What is found because of some slips."""
    return judge.verdicts(slips(judge.model, SEED, COUNT))


def test_there_are_slips_of_many_kinds(verdicts: list[Verdict]) -> None:
    assert len(KINDS) >= 40
    assert len({verdict.slip.kind for verdict in verdicts}) >= 40


def test_only_the_slip_is_blamed(judge: Judge, verdicts: list[Verdict]) -> None:
    """No error and no warning at an entry that no one touched, and next to always one diagnostic."""
    assert [verdict.slip.shown(judge.source.text) for verdict in verdicts if verdict.innocents] == []
    found = [verdict for verdict in verdicts if verdict.found]
    assert len(found) >= 0.75 * len(verdicts)
    several = [verdict for verdict in found if len(verdict.found) > 1]
    assert len(several) <= 0.03 * len(found), report(several, judge.source.text)


def test_the_exit_status_does_not_depend_on_what_changed(verdicts: list[Verdict]) -> None:
    """What makes a whole check fail is in the entry that changed."""
    for verdict in verdicts:
        whole = any(item.severity is Severity.ERROR for item in verdict.found)
        assert whole == any(item.severity is Severity.ERROR for item in verdict.here)


def test_slips_in_one_file_are_judged_as_in_files_of_their_own(judge: Judge, verdicts: list[Verdict]) -> None:
    for verdict in verdicts[:: COUNT // 6]:
        alone = judge.alone(verdict.slip)
        assert sorted(item.rule for item in alone.found) == sorted(item.rule for item in verdict.found)


def test_equal_rewrites_have_equal_verdicts(judge: Judge) -> None:
    found = [verdict for verdict in judge.verdicts(equal_rewrites(judge.model, SEED, COUNT)) if verdict.found]
    assert found == [], report(found, judge.source.text, every=True)


@pytest.mark.parametrize("seed", sample(range(200), 6))
def test_fixes_can_be_run_blind(fixer: Fixer, seed: int) -> None:
    """All fixes contain the safe ones, a second run changes nothing, and no comment is lost."""
    made = fixer.fixed(seed)
    assert made.lost == []
    assert made.again.text == made.unsafe.text
    assert len(set(made.comments)) == 1, made.unsafe.text
