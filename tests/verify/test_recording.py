"""An interrupted recording of inputs goes on where it was, and a long command says in a pipe what it does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import torch

from derivlint.cli.shared import terminal
from derivlint.verify.inputs import samples
from derivlint.verify.inputs.samples import Recording, record, sample_sources
from derivlint.verify.inputs.stored import StoredInputs
from derivlint.verify.processes import recordings
from derivlint.verify.processes.recordings import add_inputs, keep, recorded, resumed

NAMES = ("sin", "mul", "clamp", "cos")


class InterruptedRecordingError(Exception):
    """The user does not wait any longer."""


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Four OpInfos instead of hundreds."""
    infos = [info for info in samples.op_infos() if info.name in NAMES]
    monkeypatch.setattr(samples, "op_infos", lambda: infos)
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def is_same(one: Any, other: Any) -> bool:
    """Whether values have the same types and numbers."""
    if isinstance(one, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and one.stride() == other.stride() and torch.equal(one, other)
    return bool(one == other)


@pytest.mark.usefixtures("few")
def test_a_recording_goes_on_where_it_was(tmp_path: Path) -> None:
    """What both runs record is what one run would have recorded."""
    path = tmp_path / "samples.part"
    whole, interrupted = Recording(), Recording()
    record("float64", NAMES, whole, lambda number, count: None)

    def interrupt(number: int, count: int) -> None:
        if number == 2:
            keep(path, interrupted, "digest")
            raise InterruptedRecordingError

    with pytest.raises(InterruptedRecordingError):
        record("float64", NAMES, interrupted, interrupt)
    again = resumed(path, "digest")
    assert again.done == 2
    numbers: list[int] = []
    record("float64", NAMES, again, lambda number, count: numbers.append(number))
    assert numbers == list(range(2, 4))
    assert again.inputs.keys() == whole.inputs.keys()
    assert all(is_same(again.inputs[name], lists) for name, lists in whole.inputs.items())


def test_a_checkpoint_counts_for_the_same_operators_only(tmp_path: Path) -> None:
    """One of others, one that is damaged, and none at all: recording begins again."""
    path = tmp_path / "samples.part"
    keep(path, Recording({"sin": [[torch.ones(2)]]}, 7), "digest")
    assert (resumed(path, "digest").done, resumed(path, "another").done) == (7, 0)
    path.write_bytes(path.read_bytes()[:-3])
    assert resumed(path, "digest").inputs == {}
    assert resumed(tmp_path / "missing", "digest").done == 0


@pytest.mark.parametrize(("is_quiet", "least"), [(False, 2), (True, 0)])
def test_progress_is_said_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_quiet: bool, least: int
) -> None:
    """A line every few seconds, also where nothing new is to be said."""
    monkeypatch.setattr(terminal, "PROGRESS_PERIOD", 0.05)
    with terminal.Progress(is_quiet=is_quiet) as progress:
        progress("recording inputs")
        time.sleep(0.4)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= least
    assert bool(lines) is not is_quiet
    assert all(line.startswith("derivlint: recording inputs (") for line in lines)


def test_a_short_command_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.Progress() as progress:
        progress("recording inputs")
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("few")
def test_an_operator_has_the_inputs_that_it_has_among_all() -> None:
    """Only the OpInfos that the table names for it run."""
    everything, alone = Recording(), Recording()
    record("float64", NAMES, everything, lambda number, count: None)
    numbers: list[int] = []
    sources = sample_sources(("sin",), metadata.version("torch").partition("+")[0])
    record("float64", ("sin",), alone, lambda number, count: numbers.append(number), sources)
    assert len(numbers) < len(NAMES)
    assert alone.inputs.keys() == {name for name in everything.inputs if name.partition(".")[0] in ("sin", "sin_")}
    assert all(is_same(everything.inputs[name], lists) for name, lists in alone.inputs.items())


def test_inputs_are_added_to_those_of_other_operators(tmp_path: Path) -> None:
    path = tmp_path / "samples.bin"
    add_inputs(path, {"sin": [[torch.ones(2)]], "cos": []})
    add_inputs(path, {"exp": [[torch.zeros(3)]]})
    stored = StoredInputs(path)
    assert list(stored) == ["sin", "cos", "exp"]
    assert is_same(stored["sin"], [[torch.ones(2)]])


def test_only_missing_operators_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of earlier runs are kept, and an operator without samples starts no process."""
    runs: list[list[str]] = []

    def run(tasks: list[dict[str, Any]], progress: object) -> None:
        for task in tasks:
            runs.append(task["stems"])
            add_inputs(Path(task["path"]), {name: [] for name in task["stems"]})

    monkeypatch.setattr(recordings, "_run_recorder", run)
    version = metadata.version("torch").partition("+")[0]
    for operators in (["sin"], ["sin", "mul.Tensor"], ["mul.Tensor"], ["no_such_operator"]):
        recorded(operators, ["float64"], version, tmp_path, lambda what: None)
    assert runs == [["sin"], ["mul"]]
