"""Making one call of a command fail: the nth that touches a file below a folder.

A command runs in a forked process, in which the functions that reach the file system are wrapped. The call that is to
fail raises an error of the system, is interrupted, or ends the process at once, as if it were killed; a write puts half
of its data into the file before.
"""

from __future__ import annotations

import builtins
import errno
import gc
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from derivlint.cli.main import run

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
