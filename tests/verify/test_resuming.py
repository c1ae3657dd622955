"""A run that was broken off is taken up where it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from derivlint.model import build_model
from derivlint.project.caching.cache import sealed
from derivlint.schema import load_index
from derivlint.source import SourceFile
from derivlint.verify.code.functions import CollectedFunctions
from derivlint.verify.outcome import RunOutcome
from derivlint.verify.processes.process import Server
from derivlint.verify.processes.work import not_checked
from derivlint.verify.processes.workdir import Journal
from derivlint.verify.runner import RunOptions, _work, verify
from derivlint.verify.unchecked import SkipReason

OPERATORS = ("sin", "cos", "exp")


class BrokenOffError(Exception):
    """The user does not wait any longer."""


class Answering:
    """Says that operators were checked, and is broken off after some."""

    def __init__(self, until: int) -> None:
        self.until = until
        self.asked: list[str] = []

    def work(self, task: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """A failure of each operator, and that it was checked; of the one after the last, the failure only."""
        self.asked = [each["operator"] for each in task["functions"]]
        for index, operator in enumerate(self.asked):
            yield {"failure": index, "rule": "wrong-vjp", "of": operator}
            if index == self.until:
                raise BrokenOffError
            yield {**not_checked(operator, SkipReason.NO_INPUTS, ""), "points": 1, "why": None}


def run(server: Answering, place: Path, *, resume: bool, seed: int = 0) -> RunOutcome:
    """What a run finds."""
    outcome = RunOutcome(CollectedFunctions())
    task = {"functions": [{"operator": name} for name in OPERATORS], "seed": seed}
    _work(cast(Server, server), task, place, outcome, resume, lambda what: None)
    return outcome


def broken_off(place: Path) -> None:
    """A run that ends in the middle of the second operator."""
    with pytest.raises(BrokenOffError):
        run(Answering(1), place, resume=True)


def test_only_what_is_left_is_checked(tmp_path: Path) -> None:
    """What was found before is found again without being checked again; half an operator is checked again."""
    broken_off(tmp_path)
    server = Answering(9)
    outcome = run(server, tmp_path, resume=True)
    assert server.asked == ["cos", "exp"]
    assert [each["of"] for each in outcome.failures] == ["sin", "cos", "exp"]
    assert list(outcome.checked) == ["sin", "cos", "exp"]


@pytest.mark.parametrize(("resume", "seed"), [(False, 0), (True, 1)])
def test_all_is_checked_on_request_and_for_another_task(tmp_path: Path, resume: bool, seed: int) -> None:
    """With --no-resume, and with other options, nothing of another run is taken."""
    broken_off(tmp_path)
    server = Answering(9)
    assert len(run(server, tmp_path, resume=resume, seed=seed).failures) == 3
    assert server.asked == list(OPERATORS)


def test_a_run_that_ended_leaves_nothing(tmp_path: Path) -> None:
    """The next one begins again."""
    run(Answering(9), tmp_path, resume=True)
    assert list(tmp_path.iterdir()) == []


def test_a_journal_that_was_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    """A line that was not written to its end, and bytes that are not text, do no harm."""
    path = tmp_path / "journal.jsonl"
    done = {"checked": "sin", "why": ""}
    path.write_bytes(sealed(json.dumps(done).encode()) + b"\n" + sealed(b'{"failure": 1, "rule": "crash"}')[:-9])
    journal = Journal(path, resume=True)
    assert (journal.messages, journal.operators()) == ([done], {"sin"})
    journal.close()
    path.write_bytes(b"\xff\xfe")
    journal = Journal(path, resume=True)
    assert journal.messages == []
    journal.finish()
    assert not path.exists()


@pytest.mark.parametrize(
    "last", [{"checked": "cos", "why": "failed"}, {"checked": "cos", "why": "out-of-memory"}, {"died": "cos"}]
)
def test_what_could_not_be_checked_is_tried_again(tmp_path: Path, last: dict[str, Any]) -> None:
    """An operator at which a child was killed, or for which memory ran out, is not done."""
    path = tmp_path / "journal.jsonl"
    messages = [{"checked": "sin", "why": "no-inputs"}, {"failure": 1}, last]
    path.write_bytes(b"".join(sealed(json.dumps(each).encode()) + b"\n" for each in messages))
    journal = Journal(path, resume=True)
    assert journal.messages == messages[:1]
    journal.close()


def test_a_journal_that_cannot_be_written_costs_nothing_else(tmp_path: Path) -> None:
    """The run goes on without it."""
    outcome = run(Answering(9), tmp_path / "missing", resume=True)
    assert list(outcome.checked) == list(OPERATORS)


def test_what_was_found_before_an_interrupt_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left is not checked, and says so; before anything was checked the interrupt is passed on."""

    def interrupted(after: tuple[str, ...]) -> RunOutcome:
        def work(model: Any, place: Path, outcome: RunOutcome, *others: Any) -> None:
            for name in after:
                outcome.take([{**not_checked(name, SkipReason.NO_INPUTS, ""), "points": 1, "why": None}])
            raise KeyboardInterrupt

        monkeypatch.setattr("derivlint.verify.runner._verify", work)
        text = "".join(f"- name: {name}(Tensor self) -> Tensor\n  self: grad\n" for name in OPERATORS)
        source = SourceFile("derivatives.yaml", text)
        return verify(build_model(source, load_index()), None, RunOptions())

    outcome = interrupted(("sin",))
    assert outcome.is_broken_off
    assert {name: state.why for name, state in outcome.checked.items()} == {
        "sin": None,
        "cos": SkipReason.BROKEN_OFF,
        "exp": SkipReason.BROKEN_OFF,
        "_foreach_sin": SkipReason.BROKEN_OFF,
        "_foreach_cos": SkipReason.BROKEN_OFF,
        "_foreach_exp": SkipReason.BROKEN_OFF,
    }
    with pytest.raises(KeyboardInterrupt):
        interrupted(())
