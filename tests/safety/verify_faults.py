"""Faults: the n-th operation on files, pipes and processes fails, in this process or in one that it has forked."""

from __future__ import annotations

import builtins
import errno
import faulthandler
import importlib
import io
import mmap
import os
import select
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import torch

# what forks would import one by one
from derivlint.compiler.children import quoted
from derivlint.verify.processes import process, server

#: Functions of ``os`` that can fail, and of files that ``open`` returns.
CALLS = (
    "open", "read", "pread", "write", "replace", "mkdir", "chmod", "unlink", "utime", "fsync", "pipe", "fork", "dup2",
)  # fmt: skip
METHODS = ("read", "write", "flush", "close", "readline")
#: What the means of these tests themselves call, whatever is installed.
_open, _pipe, _fork, _dup2 = io.open, os.pipe, os.fork, os.dup2


def _fail(number: int) -> Callable[[], None]:
    def fail() -> None:
        raise OSError(number, os.strerror(number))

    return fail


def _exhaust() -> None:
    raise MemoryError


#: How an operation fails.
KINDS: dict[str, Callable[[], None]] = {
    "input/output error": _fail(errno.EIO),
    "disk full": _fail(errno.ENOSPC),
    "out of memory": _exhaust,
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
}


class Faults:
    """Counts operations of this process or of those that it forks, and has one of them fail.

    Attributes:
        at: the number of the operation that fails, from 1.
        kind: how it fails.
        in_children: whether operations of forks count, and not those of this process.
    """

    def __init__(self, at: int, kind: str, *, in_children: bool) -> None:
        self.at, self.kind, self.in_children = at, kind, in_children
        self._main = os.getpid()
        # shared with forks
        self._count = mmap.mmap(-1, 8)

    @property
    def count(self) -> int:
        """The operations so far."""
        return int.from_bytes(self._count[:8], "little")

    def meet(self) -> None:
        """An operation is about to be done."""
        if (os.getpid() != self._main) is not self.in_children:
            return
        count = self.count + 1
        self._count[:8] = count.to_bytes(8, "little")
        if count == self.at:
            KINDS[self.kind]()

    @contextmanager
    def installed(self) -> Iterator[None]:
        """While the block runs, operations are counted."""
        with pytest.MonkeyPatch.context() as patch:
            for name in CALLS:
                patch.setattr(os, name, self._counted(getattr(os, name)))
            opening = io.open
            for module in (io, builtins):
                patch.setattr(module, "open", lambda *args, **given: self._opened(opening, *args, **given))
            yield

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **given: Any) -> Any:
            self.meet()
            return function(*args, **given)

        return counted

    def _opened(self, opening: Callable[..., Any], *args: Any, **given: Any) -> Any:
        self.meet()
        file = opening(*args, **given)
        return _File(file, self)


class _File:
    """A file whose methods are counted."""

    def __init__(self, file: Any, faults: Faults) -> None:
        self._file, self._faults = file, faults

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._file, name)
        if name not in METHODS:
            return found

        def counted(*args: Any) -> Any:
            try:
                self._faults.meet()
            except BaseException:
                if name == "close":
                    # the system has closed it, whatever it says
                    self._file.close()
                raise
            return found(*args)

        return counted

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file)


class Forked:
    """In place of ``PythonChild``: the module runs in a fork of this process, which has imported PyTorch already."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._said = os.memfd_create("said")
        down, up = _pipe(), _pipe()
        pid = _fork()
        if not pid:
            self._become(module, arguments, down, up)
        os.close(down[0])
        os.close(up[1])
        self.process = _Process(pid, _open(down[1], "wb"), _open(up[0], "rb"))

    def _become(self, module: str, arguments: tuple[str, ...], down: tuple[int, int], up: tuple[int, int]) -> None:
        status = 1
        try:
            # what ends the process ends it without a report among those of the tests
            faulthandler.disable()
            # a group of its own, as of a child that was started
            os.setsid()
            _dup2(down[0], 0)
            _dup2(up[1], 1)
            _dup2(self._said, 2)
            for number in (*down, *up):
                os.close(number)
            # as in any process, what replaces them must not close them
            sys.stdin, sys.stdout, sys.stderr = (
                _open(number, mode, closefd=False) for number, mode in enumerate(("r", "w", "w"))
            )
            sys.argv = [module, *arguments]
            lifeline, _ = _pipe()
            importlib.import_module(module).main(lifeline)
            status = 0
        except SystemExit as error:
            os.write(2, f"{error.code}\n".encode())
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(status)

    def stderr_text(self) -> str:
        """What it said on standard error."""
        return quoted(os.pread(self._said, 4096, 0))

    def end(self) -> int:
        """End it."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        status = self.process.wait()
        os.close(self._said)
        for file in (self.process.stdin, self.process.stdout):
            with suppress(BrokenPipeError):
                file.close()
        return status


def fork_children(patch: pytest.MonkeyPatch) -> None:
    """Have the processes that check and record be forks of this one: each would import PyTorch for a second or two."""
    patch.setattr(process, "PythonChild", Forked)
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        # PyTorch warns of its own functions
        warnings.simplefilter("ignore")
        server.prepare()


class _Process:
    """As much of :class:`subprocess.Popen` as is asked for."""

    def __init__(self, pid: int, stdin: Any, stdout: Any) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self._status: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        if self._status is None:
            if timeout is not None:
                handle = os.pidfd_open(self.pid)
                try:
                    if not select.select([handle], [], [], timeout)[0]:
                        raise subprocess.TimeoutExpired("child", timeout)
                finally:
                    os.close(handle)
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status
