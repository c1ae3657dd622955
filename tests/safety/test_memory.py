"""The server's memory: what someone typed an hour ago is not kept."""

from __future__ import annotations

import asyncio
import gc
import sys
from pathlib import Path

import pytest

from derivlint.formula import parse_formula
from derivlint.formula.parsing import parser
from derivlint.source.lazy import Bounded
from tests.safety.memory import growth, measured, small

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux tells it")

#: Bytes that an edit may leave in so short a run, in which caches are still filled. It was 179,000.
SHORT = 20_000


def test_edits_leave_nothing(derivatives_path: Path, tmp_path: Path) -> None:
    text = small(derivatives_path.read_text(encoding="utf-8"), 40)
    assert growth(asyncio.run(measured(text, 400, 7, tmp_path)), 400) < SHORT


def test_formulas_live_with_what_uses_them(monkeypatch: pytest.MonkeyPatch) -> None:
    formulas = parser._Formulas()
    monkeypatch.setattr(parser, "_formulas", formulas)
    monkeypatch.setattr(parser, "RECENT", 1_000)
    used = parse_formula("grad * 12345")
    for number in range(1_000):
        assert parse_formula(f"grad * self * {number}").text
    gc.collect()
    assert parse_formula("grad * 12345") is used
    assert len(formulas.used) < 100


def test_a_formula_that_is_large_by_itself_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    formulas = parser._Formulas()
    monkeypatch.setattr(parser, "_formulas", formulas)
    parse_formula("grad * " + "1 + " * parser.RECENT + "1")
    gc.collect()
    assert len(formulas.used) == 0


def test_a_bounded_dictionary_begins_anew() -> None:
    answers: dict[int, int] = Bounded()
    for number in range(Bounded.MOST + 3):
        answers[number] = number  # noqa: PERF403 -- item by item
    assert list(answers) == [Bounded.MOST, Bounded.MOST + 1, Bounded.MOST + 2]
