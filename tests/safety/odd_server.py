"""The process that checks, in which operators meet with mishaps: started in place of the real one by tests."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from derivlint.verify.code.functions import FunctionSpec
from derivlint.verify.processes import server
from derivlint.verify.processes.work import check_operator


def _crash() -> None:
    ctypes.string_at(0)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _exhaust() -> None:
    raise MemoryError


def _abort() -> None:
    os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n")
    os.abort()


def _spin() -> None:
    while True:
        pass


def _sleep() -> None:
    time.sleep(3600)


def _leave() -> None:
    os.write(2, b"\x1b[31mfarewell\n")
    os._exit(7)


def _fail() -> None:
    raise KeyError("what")


MISHAPS: dict[str, Callable[[], None]] = {
    "crash": _crash, "kill": _kill, "exhaust": _exhaust, "abort": _abort, "spin": _spin, "sleep": _sleep,
    "leave": _leave, "fail": _fail,
}  # fmt: skip


def main(lifeline: int) -> None:
    """Check as always, but for the operators that ``MISHAPS`` in the environment names: ``sin=crash,cos=kill``.

    The operator ``server`` stands for the process that forks the others.
    """
    wanted = dict(each.split("=") for each in os.environ["MISHAPS"].split(",") if each)

    def check_or_meet(functions: list[FunctionSpec], *rest: Any) -> None:
        mishap = wanted.get(functions[0].operator)
        if mishap is not None:
            MISHAPS[mishap]()
        check_operator(functions, *rest)

    setattr(server, "check_operator", check_or_meet)  # noqa: B010  # it is imported there
    if "server" in wanted:
        sys.stdin.readline()
        MISHAPS[wanted["server"]]()
    server.main(lifeline)
