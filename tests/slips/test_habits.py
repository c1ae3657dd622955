"""Slips of people who write Python all day: one finding each, and a fix that is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from derivlint.project.fixing import fix_source
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.mutators.python_slips import drawn
from tests.sampling import CAMPAIGN, sample
from tests.slips.habits import Habit, HabitJudge, habits

HABITS = tuple(habits())


@pytest.fixture(scope="module")
def judge(derivatives_path: Path, bundled_natives: NativeFunctions) -> HabitJudge:
    return HabitJudge(SourceFile.read(derivatives_path), bundled_natives)


def test_there_are_many_kinds() -> None:
    assert len(HABITS) >= 60
    assert len({token for habit in HABITS for token in habit.tokens}) >= 50


#: How many slips are drawn at random, and the least part of them that is found as often as it was made.
DRAWN, SEED, LEAST = 400 if CAMPAIGN else 25, 11, 0.97


@pytest.mark.long
def test_no_fix_of_slips_at_random_leaves_something_wrong(judge: HabitJudge) -> None:
    counted = 0
    for formula, text, count in drawn(judge.model, judge.natives, SEED, DRAWN):
        habit = Habit(formula.entry.operator or "", formula.key_text, text, formula.text or "", ())
        known = {(item.rule, item.message) for item in judge.check(judge.entry_text(habit, habit.meant, "double"))}
        slip = judge.entry_text(habit, text, "double")
        counted += sum((item.rule, item.message) not in known for item in judge.check(slip)) == count
        fixed = fix_source(SourceFile("derivatives.yaml", slip), judge.checked, unsafe=True)
        if fixed.changed:
            left = {(item.rule, item.message) for item in judge.check(fixed.text)} - known
            assert {rule for rule, _ in left} <= {"python-in-formula"}, (text, fixed.text)
    assert counted >= LEAST * DRAWN


@pytest.mark.parametrize(
    ("style", "habit"),
    [
        *(("literal", habit) for habit in HABITS),
        *sample([(style, habit) for style in ("double", "folded") for habit in HABITS], 20),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.operator}: {value.slip}",
)
def test_each_slip_is_found_once_and_its_fix_is_what_is_meant(habit: Habit, style: str, judge: HabitJudge) -> None:
    text = judge.entry_text(habit, habit.slip, style)
    found = judge.check(text)
    assert sorted(judge.tokens(text, found, style)) == sorted(habit.tokens)
    fixed = fix_source(SourceFile("derivatives.yaml", text), judge.checked)
    assert judge.formula(fixed.text, habit.key) == habit.meant
    assert judge.check(fixed.text) == ()
    for item in found:
        assert item.help is not None
        if item.fix is not None and style == "literal":
            assert all(edit.text in item.help for edit in item.fix.edits if "(" in edit.text)
