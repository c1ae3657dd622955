"""Slips of people who write Python all day: one finding each, and a fix that is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from derivlint.project.check import CheckedFile, check_source
from derivlint.project.fixing import fix_source
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.slips.habits import Habit, HabitJudge, habits

HABITS = tuple(habits())


@pytest.fixture(scope="module")
def judge(derivatives_path: Path, bundled_natives: NativeFunctions) -> HabitJudge:
    return HabitJudge(SourceFile.read(derivatives_path), bundled_natives)


def test_there_are_many_kinds() -> None:
    assert len(HABITS) >= 60
    assert len({token for habit in HABITS for token in habit.tokens}) >= 50


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: f"{habit.operator}: {habit.slip}")
@pytest.mark.parametrize("style", ["literal", "double", "folded"])
def test_each_slip_is_found_once_and_its_fix_is_what_is_meant(habit: Habit, style: str, judge: HabitJudge) -> None:
    text = judge.entry_text(habit, habit.slip, style)
    found = judge.check(text)
    assert sorted(judge.tokens(text, found, style)) == sorted(habit.tokens)
    rules = Settings().selected(load_rules())

    def check(source: SourceFile) -> CheckedFile:
        return check_source(source, judge.natives, Settings(), rules)

    fixed = fix_source(SourceFile("derivatives.yaml", text), check)
    assert judge.formula(fixed.text, habit.key) == habit.meant
    assert judge.check(fixed.text) == ()
    for item in found:
        assert item.help is not None
        if item.fix is not None and style == "literal":
            assert all(edit.text in item.help for edit in item.fix.edits if "(" in edit.text)
