"""Whatever call fails while a command writes, no file is lost or there by half, and nothing seems to have worked.

Every call of a run that concerns its files is made to fail once: with an error of the system, by an interruption, or by
the end of the process. The status is then never that of a run that did what was asked for, unless it has done it; every
file is the old one or the new one; and the next run does all that is left, and leaves no temporary file.

By default every call fails in one way or another; with ``DERIVLINT_FAULTS=all`` it fails in every way.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from derivlint.cli.main import cli
from derivlint.emit.manifest import MANIFEST, read_manifest
from tests.running import runner
from tests.safety.faults import KINDS, Done, Fault, run_with

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
    pytest.mark.forks,
    pytest.mark.long,
]

WRONG = "- name: sin(Tensor self) -> Tensor\n  self: grad * slef.cos().conj()\n"
RIGHT = "- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos().conj()\n  result: auto_element_wise\n"
COS = "- name: cos(Tensor self) -> Tensor\n  self: grad * -self.sin().conj()\n  result: auto_element_wise\n"
FIXABLE = "- name: sin(Tensor self) -> Tensor\n  self: grads[0] * self.cos().conj()\n  result: auto_element_wise\n"
NATIVE = "".join(
    f"- func: {name}(Tensor self) -> Tensor\n  variants: function, method\n  dispatch:\n    CPU: {name}\n"
    for name in ("sin", "cos")
)
GIVEN = ("--native-functions", "native.yaml")
EMIT = ("emit", "cpp", *GIVEN, "--helpers", "FunctionsManual.cpp", "--out", "ext")


@dataclass(frozen=True)
class Command:
    """A command.

    Attributes:
        arguments: its arguments.
        status: its exit status where nothing fails.
        text: the derivatives file.
        before: a command that ran before it, in the state of ``text_before``.
        text_before: the derivatives file then.
    """

    arguments: tuple[str, ...]
    status: int
    text: str
    before: tuple[str, ...] = ()
    text_before: str = ""


COMMANDS = {
    "fix": Command(("check", *GIVEN, "--fix"), 0, FIXABLE),
    "add ignores": Command(("check", *GIVEN, "--add-ignores", "known"), 0, WRONG),
    "report": Command(("check", *GIVEN, "--output-format", "json", "-o", "report.json"), 1, WRONG),
    "baseline": Command(("check", *GIVEN, "--baseline", "base.json", "--update-baseline"), 0, WRONG),
    "emit": Command(EMIT, 0, RIGHT),
    "emit again": Command((*EMIT, "--shards", "1"), 0, RIGHT + COS, (*EMIT, "--shards", "2"), COS + RIGHT + "\n"),
    "emit python": Command(("emit", "python", *GIVEN, "--out", "made/functions.py"), 0, RIGHT),
    "index": Command(("index", "build", *GIVEN, "--version", "1.0", "--out", "index.json"), 0, RIGHT),
}


def prepared(command: Command, folder: Path) -> Path:
    """A folder in the state in which the command finds it."""
    folder.mkdir()
    (folder / "native.yaml").write_text(NATIVE)
    (folder / "FunctionsManual.cpp").write_text("// helpers\n")
    if command.before:
        (folder / "derivatives.yaml").write_text(command.text_before)
        assert run_with(command.before, folder).status == 0
    (folder / "derivatives.yaml").write_text(command.text)
    return folder


def contents(folder: Path, *, with_cache: bool = False) -> dict[str, bytes]:
    """What is in the files of a folder, by default but for the cache."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and (with_cache or "cache" not in path.relative_to(folder).parts)
    }


def is_temporary(name: str) -> bool:
    return Path(name).name.startswith(".new-")


def faults(count: int) -> Iterator[Fault]:
    """The faults of a campaign over so many calls."""
    everything = os.environ.get("DERIVLINT_FAULTS") == "all"
    for number in range(1, count + 1):
        for kind in KINDS if everything else (KINDS[number % len(KINDS)],):
            yield Fault(number, kind)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_fault_loses_or_halves_a_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = COMMANDS[name]
    # what failed is shown as anybody would see it
    monkeypatch.delenv("DERIVLINT_DEBUG", raising=False)
    start = prepared(command, tmp_path / "start")
    before = contents(start)

    def folder_of(label: str) -> Path:
        folder = tmp_path / label
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(start, folder)
        monkeypatch.setenv("DERIVLINT_CACHE_DIR", str(folder / "cache"))
        return folder

    # what a command imports is imported once, before processes are forked
    monkeypatch.chdir(folder_of("warm"))
    runner().invoke(cli, command.arguments)
    folder = folder_of("run")
    whole = run_with(command.arguments, folder)
    assert whole.status == command.status, whole.err
    after = contents(folder)
    assert after != before
    assert len(whole.calls) > 5
    outcomes: Counter[str] = Counter()
    finished: set[frozenset[tuple[str, bytes]]] = set()
    for fault in faults(len(whole.calls)):
        folder = folder_of("run")
        done = run_with(command.arguments, folder, fault)
        said = f"{fault.kind} at call {fault.number}, {whole.calls[fault.number - 1]!r}: {done}"
        outcomes[judge(command, done, contents(folder), before, after, said)] += 1
        left = frozenset(contents(folder, with_cache=True).items())
        if left in finished:
            # from the same files the next run does the same
            continue
        finished.add(left)
        again = run_with(command.arguments, folder)
        assert again.status == command.status, f"{said}; then {again}"
        assert contents(folder) == after, said
        assert not [path for path in folder.rglob("*") if is_temporary(path.name)], said
    assert outcomes["failed"] > 0
    # for the figures of a campaign: pytest -s
    sys.stdout.write(f"{name}: {len(whole.calls)} calls, {len(finished)} next runs, {dict(sorted(outcomes.items()))}\n")


def judge(
    command: Command, done: Done, found: dict[str, bytes], before: dict[str, bytes], after: dict[str, bytes], said: str
) -> str:
    """Assert what must hold after a run in which something failed; how it ended."""
    for name, data in found.items():
        if is_temporary(name):
            # the run had no chance to remove it
            assert done.status == -9, said
        elif Path(name).name == MANIFEST:
            assert read_manifest(data) is not None, said
        elif name == "report.json" and done.status == 2 and data != after[name]:
            # the whole report of a run that could not read its file
            assert json.loads(data)["summary"]["files"] == 0, said
        else:
            assert data in (before.get(name), after.get(name)), f"{name}: {said}"
    assert before.keys() & after.keys() <= found.keys(), said
    if done.status == -9:
        return "killed"
    assert "Traceback" not in done.err, said
    assert "internal error" not in done.err, said
    if done.status == command.status:
        # a call that failed did not matter
        assert {name: data for name, data in found.items() if not is_temporary(name)} == after, said
        return "done nevertheless"
    assert done.status in (2, 130), said
    assert done.status == 130 or any(line.startswith(("derivlint: ", "Error: ")) for line in done.err.splitlines()), (
        said
    )
    return "failed"


def test_an_unfinished_emission_is_not_built(tmp_path: Path) -> None:
    """The manifest says that the folder was not written to the end, until it was."""
    from derivlint.runtime import ManifestError, read_manifest

    command = COMMANDS["emit"]
    folder = prepared(command, tmp_path / "run")
    calls = run_with(command.arguments, prepared(command, tmp_path / "whole")).calls
    last = max(number for number, call in enumerate(calls, 1) if call.startswith("replace"))
    assert run_with(command.arguments, folder, Fault(last, "killed")).status == -9
    assert "pending" in json.loads((folder / "ext" / MANIFEST).read_bytes())
    with pytest.raises(ManifestError, match="was not written to the end; emit the extension again"):
        read_manifest(folder / "ext")
    # other formulas are written over what the run that was killed has left
    (folder / "derivatives.yaml").write_text(RIGHT.replace("self.cos()", "at::cos(self)") + COS)
    done = run_with(command.arguments, folder)
    assert done.status == 0, done.err
    assert read_manifest(folder / "ext").operators["cos"] == "CosBackward0"
