"""Slips at random: no fix of one leaves a formula that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.sampling import CAMPAIGN
from tests.slips.applied import FixJudge
from tests.slips.generate import slips

SEED, COUNT = 31, 3_000 if CAMPAIGN else 100


@pytest.mark.long
def test_no_applied_fix_leaves_what_is_refuted(derivatives_path: Path, bundled_natives: NativeFunctions) -> None:
    judge = FixJudge(SourceFile.read(derivatives_path), bundled_natives)
    applied = list(judge.applied(slips(judge.model, SEED, COUNT)))
    assert len(applied) >= COUNT / 5
    assert [item.shown() for item in applied if item.refuted] == []
    assert sum(item.is_undone for item in applied) >= 0.9 * len(applied)
