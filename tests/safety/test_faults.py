"""Whatever call fails while a command writes, no file is lost or there by half, and nothing seems to have worked.

Every call of a run that concerns its files is made to fail once: with an error of the system, by an interruption, or by
the end of the process. The status is then never that of a run that did what was asked for, unless it has done it; every
file is the old one or the new one; and the next run does all that is left, and leaves no temporary file.

In a campaign every call fails in every way; otherwise some of them, renames among them, in one way or another.
"""

from __future__ import annotations

import builtins
import errno
import gc
import io
import json
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from derivlint.cli.main import cli, run
from derivlint.emit.manifest import MANIFEST, read_manifest
from tests.running import runner
from tests.sampling import CAMPAIGN, sample

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
    pytest.mark.forks,
    pytest.mark.long,
]

#: What can become of a call.
KINDS = ("disk full", "input/output error", "no permission", "interrupted", "killed")
_ERRORS = {"disk full": errno.ENOSPC, "input/output error": errno.EIO, "no permission": errno.EACCES}
#: The functions that are given a path first.
_OF_PATHS = ("open", "replace", "rename", "unlink", "remove", "mkdir", "chmod", "stat", "lstat", "scandir", "listxattr")
_OF_HANDLES = ("fsync", "fstat")


@dataclass(frozen=True)
class Fault:
    """Which call fails, counted from 1, and how."""

    number: int
    kind: str


@dataclass(frozen=True)
class Done:
    """What came of a run; ``calls`` is empty where it was killed."""

    status: int
    err: str
    calls: tuple[str, ...]


class Faults:
    """Counts calls that concern a folder, and makes one of them fail."""

    def __init__(self, root: Path, fault: Fault | None) -> None:
        self._root = f"{root}{os.sep}"
        self._fault = fault
        self._handles: set[int] = set()
        self.calls: list[str] = []

    def install(self) -> None:
        """Wrap the functions; the process is not to do anything else afterwards."""
        for name in _OF_PATHS:
            setattr(os, name, self._of_path(name, getattr(os, name)))
        for name in _OF_HANDLES:
            setattr(os, name, self._of_handle(name, getattr(os, name)))
        opened = self._opened(io.open)
        io.open = builtins.open = opened

    def concerns(self, path: object) -> bool:
        """Whether a path lies below the folder."""
        if isinstance(path, int):
            return path in self._handles
        if not isinstance(path, (str, os.PathLike)):
            return False
        return os.path.abspath(os.fspath(path)).startswith(self._root)

    def call(self, name: str, path: int | str | os.PathLike[str], before: Callable[[], Any] = lambda: None) -> None:
        """Count a call, and fail where it is the one."""
        where = path if isinstance(path, int) else os.path.basename(os.fspath(path))
        self.calls.append(f"{name} {where}")
        if self._fault is None or len(self.calls) != self._fault.number:
            return
        before()
        kind = self._fault.kind
        if kind == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "interrupted":
            raise KeyboardInterrupt
        number = _ERRORS[kind]
        raise OSError(number, os.strerror(number), path if not isinstance(path, int) and path else None)

    def _of_path(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(path: Any = ".", *args: Any, **keywords: Any) -> Any:
            if not self.concerns(path):
                return function(path, *args, **keywords)
            self.call(name, path)
            result = function(path, *args, **keywords)
            if name == "open":
                self._handles.add(result)
            return result

        return wrapped

    def _of_handle(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(handle: int, *args: Any, **keywords: Any) -> Any:
            if handle in self._handles:
                self.call(name, "")
            return function(handle, *args, **keywords)

        return wrapped

    def _opened(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(file: Any, *args: Any, **keywords: Any) -> Any:
            if not self.concerns(file):
                return function(file, *args, **keywords)
            if not isinstance(file, int):
                self.call("open", file)
            stream = function(file, *args, **keywords)
            self._handles.add(stream.fileno())
            return _Stream(stream, self)

        return wrapped


class _Stream:
    """A file whose reads and writes count."""

    def __init__(self, stream: Any, faults: Faults) -> None:
        self._stream, self._faults = stream, faults

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> Any:
        return iter(self._stream)

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()

    def read(self, *args: Any) -> Any:
        self._faults.call("read", "")
        return self._stream.read(*args)

    def write(self, data: Any) -> Any:
        def half() -> None:
            self._stream.write(data[: len(data) // 2])
            self._stream.flush()

        self._faults.call("write", "", half)
        return self._stream.write(data)


def run_with(arguments: Sequence[str], folder: Path, fault: Fault | None = None) -> Done:
    """Run a command in a folder, in a process of its own.

    Args:
        arguments: the arguments of the command.
        folder: where it runs; calls that concern files below it are counted.
        fault: the call that fails, None for none.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _in_child(arguments, folder, fault, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        reported = stream.read().decode(errors="replace")
    _, wait = os.waitpid(child, 0)
    err, _, calls = reported.partition("\0")
    return Done(os.waitstatus_to_exitcode(wait), err, tuple(filter(None, calls.split("\n"))))


def _in_child(arguments: Sequence[str], folder: Path, fault: Fault | None, writer: int) -> None:
    status = 99
    # as the command does; a search for cycles would copy all that the parent holds
    gc.disable()
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(folder)
        sys.stdin = io.StringIO()
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
        faults = Faults(folder, fault)
        faults.install()
        status = run(list(arguments))
        os.write(writer, f"{sys.stderr.getvalue()}\0".encode(errors="replace"))
        os.write(writer, "\n".join(faults.calls).encode(errors="replace"))
    finally:
        os._exit(status)


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


def faults(calls: Sequence[str]) -> list[Fault]:
    """The faults to try over the calls of a run."""
    numbers = range(1, len(calls) + 1)
    if CAMPAIGN:
        return [Fault(number, kind) for number in numbers for kind in KINDS]
    renames = [number for number in numbers if calls[number - 1].startswith("replace")]
    return [
        Fault(number, KINDS[number % len(KINDS)]) for number in sample(numbers, 9, always=renames[:2] + renames[-1:])
    ]


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
    for fault in faults(whole.calls):
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
