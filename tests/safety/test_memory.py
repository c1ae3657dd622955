"""The server's memory: what someone typed an hour ago is not kept."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from pathlib import Path
from random import Random

import pytest
from lsprotocol import types

from derivlint.formula import parse_formula
from derivlint.formula.parsing import parser
from derivlint.lsp.session import OpenFile, Outcome, Session
from derivlint.lsp.workspace import Projects
from derivlint.source.lazy import Bounded
from tests.mutators.edits import edited
from tests.sampling import CAMPAIGN

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux tells it")

EDITS = 5_000 if CAMPAIGN else 240
#: Bytes that an edit may leave: the memory of a process is not flat to the byte, and in a short run caches are still
#: filled. It was 179,000.
ALLOWED = 2_500 if CAMPAIGN else 20_000


def resident() -> int:
    """The bytes of memory that the process has."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def small(text: str, entries: int) -> str:
    """The first entries of a derivatives file."""
    starts = [at for at in range(len(text)) if text.startswith("\n- name", at)]
    return text[starts[0] + 1 : starts[entries] + 1]


async def measured(text: str, edits: int, seed: int, folder: Path) -> list[int]:
    """The memory after each fortieth of the edits; every edit makes a text that never was.

    Of twenty edits one is taken from the random edits, and undone; the others change a formula as someone types.
    """

    async def tell(file: OpenFile, outcome: Outcome) -> None:
        pass

    def log(message: str, error: BaseException) -> None:
        raise error

    session = Session(Projects(), tell, log)
    file = session.open((folder / "derivatives.yaml").as_uri(), 0, text)
    await session.outcome(file)
    random = Random(seed)
    taken: list[int] = []
    places = [at for at in range(len(text)) if text.startswith(": grad", at)]
    for number in range(1, edits + 1):
        if number % 20:
            at = random.choice(places) + 2
            now = f"{text[:at]}grad * {number} - {text[at:]}"
        else:
            now = edited(text, random)
        file.document.change(number, [types.TextDocumentContentChangeWholeDocument(now)], "utf-16")
        session.cancel_check(file)
        await session.outcome(file)
        if number % max(edits // 40, 1) == 0:
            taken.append(resident())
            print(f"{number:6} edits: {taken[-1] / 2**20:7.1f} MiB", flush=True)
    session.shutdown()
    return taken


def growth(taken: list[int], edits: int) -> float:
    """The bytes that an edit leaves, in the last three quarters: the slope of the line through the measurements."""
    last = taken[len(taken) // 4 :]
    middle = (len(last) - 1) / 2
    mean = sum(last) / len(last)
    slope = sum((at - middle) * (value - mean) for at, value in enumerate(last))
    return slope / sum((at - middle) ** 2 for at in range(len(last))) * len(taken) / edits


def test_edits_leave_nothing(derivatives_path: Path, tmp_path: Path) -> None:
    text = small(derivatives_path.read_text(encoding="utf-8"), 70 if CAMPAIGN else 20)
    assert growth(asyncio.run(measured(text, EDITS, 7, tmp_path)), EDITS) < ALLOWED


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
