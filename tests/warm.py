"""Processes with PyTorch preloaded, which takes seconds: forks of a server that has only imported it.

Tests of process startup do not use it.
"""

from __future__ import annotations

import faulthandler
import importlib
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import Any

from derivlint.compiler.children import NEUTRAL, quoted

#: The modules that the server imports.
PRELOADED = ["torch", "torch.autograd.forward_ad", "derivlint.verify.processes.server", "derivlint.model"]


def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def _become(
    function: Callable[..., None],
    arguments: tuple[Any, ...],
    folder: str,
    environment: Mapping[str, str],
    streams: tuple[Connection, Connection, Connection],
) -> None:
    """Run a function in place of the forked test process, with streams, folder and environment of a new process."""
    status = 1
    try:
        # a crash of the process should not be reported among the tests'
        faulthandler.disable()
        os.setsid()
        for number, stream in enumerate(streams):
            os.dup2(stream.fileno(), number)
            stream.close()
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(number, mode, closefd=False) for number, mode in enumerate(("r", "w", "w"))
        )
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        function(*arguments)
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
        if not isinstance(error.code, int | None):
            print(error.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream_ in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream_.flush()
        os._exit(status)


def _start(
    function: Callable[..., None], arguments: tuple[Any, ...], folder: str, streams: tuple[int, int, int]
) -> ForkServerProcess:
    """Start a process, and close the file descriptors here."""
    ends = tuple(Connection(number) for number in streams)
    process = _context().Process(
        target=_become, args=(function, arguments, folder, dict(os.environ), ends), daemon=True
    )
    process.start()
    for end in ends:
        end.close()
    return process


def _module_main(module: str, arguments: tuple[str, ...]) -> None:
    sys.argv = [module, *arguments]
    lifeline, _ = os.pipe()
    importlib.import_module(module).main(lifeline)


class WarmChild:
    """A replacement for ``PythonChild`` that runs a module in a fork of the server."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._stderr = os.memfd_create("stderr")
        down, up = os.pipe(), os.pipe()
        streams = (down[0], up[1], os.dup(self._stderr))
        child = _start(_module_main, (module, arguments), NEUTRAL, streams)
        self.process = _Process(child, os.fdopen(down[1], "wb"), os.fdopen(up[0], "rb"))

    def stderr_text(self) -> str:
        """The end of its standard error."""
        return quoted(os.pread(self._stderr, 4096, 0))

    def end(self) -> int:
        """Kill it."""
        # it may not have its own process group yet
        for kill in (os.killpg, os.kill):
            with suppress(ProcessLookupError):
                kill(self.process.pid, signal.SIGKILL)
        status = self.process.wait()
        os.close(self._stderr)
        for file in (self.process.stdin, self.process.stdout):
            with suppress(BrokenPipeError):
                file.close()
        return status


class _Process:
    """The part of :class:`subprocess.Popen` that ``derivlint.verify`` uses."""

    def __init__(self, process: ForkServerProcess, stdin: Any, stdout: Any) -> None:
        self._process = process
        self.pid = process.pid or 0
        self.stdin, self.stdout = stdin, stdout

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its exit."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("child", timeout or 0.0)
        return self._process.exitcode


def script(path: str, arguments: Sequence[str]) -> None:
    """Run a file as a program."""
    sys.argv = [path, *arguments]
    runpy.run_path(path, run_name="__main__")


def module(name: str, arguments: Sequence[str]) -> None:
    """Run a module as a program."""
    sys.argv = [name, *arguments]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def text(program: str, arguments: Sequence[str]) -> None:
    """Run a text as a program."""
    sys.argv = ["-c", *arguments]
    exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})


def run(
    how: Callable[[str, Sequence[str]], None], program: str, *arguments: str, folder: str = "", timeout: float = 900
) -> str:
    """Run a program in a fork of the server, and return what it prints; it has to end with 0."""
    files = [os.memfd_create(name) for name in ("stdout", "stderr")]
    streams = (os.open(os.devnull, os.O_RDONLY), os.dup(files[0]), os.dup(files[1]))
    process = _start(how, (program, arguments), folder or os.getcwd(), streams)
    process.join(timeout)
    texts = []
    for number in files:
        with open(number, encoding="utf-8", errors="replace") as file:
            file.seek(0)
            texts.append(file.read())
    assert process.exitcode == 0, "".join(texts)[-4000:]
    return texts[0]
