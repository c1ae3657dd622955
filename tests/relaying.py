"""The server for :mod:`tests.relay`, one in each test process that starts commands."""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from pkgutil import iter_modules
from select import select
from typing import NoReturn

from tests.relay import SIZE

RELAY = Path(__file__).with_name("relay.py")
#: The modules to preload, including all of the language server.
PRELOADED = ("derivlint.__main__", "derivlint.cli.main", "derivlint.cli.lsp", "derivlint.project.check")


def command(*arguments: str) -> tuple[str, ...]:
    """The command line prefix that runs the command, for :mod:`subprocess`."""
    if sys.platform != "linux":
        return sys.executable, "-m", "derivlint", *arguments
    return sys.executable, "-I", "-S", str(RELAY), _server(), *arguments


@cache
def _server() -> str:
    """Start the server, which exits at the end of its standard input; return the path of its socket."""
    # socket paths have a short length limit
    path = str(Path(tempfile.mkdtemp(prefix="relay-")) / "socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        number = listener.fileno()
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.relaying", str(number)],
            stdin=subprocess.PIPE,
            pass_fds=[number],
            cwd=Path(__file__).parents[1],
        )
    atexit.register(_ended, process, Path(path).parent)
    return path


def _ended(process: subprocess.Popen[bytes], folder: Path) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait()
    shutil.rmtree(folder, ignore_errors=True)


def serve(listener: socket.socket) -> None:
    """Fork for each connection, report the exit status, and kill the fork if its relay exits."""
    for name in PRELOADED:
        importlib.import_module(name)
    package = importlib.import_module("derivlint.lsp")
    for item in iter_modules(package.__path__, "derivlint.lsp."):
        importlib.import_module(item.name)
    importlib.import_module("derivlint.rules").load_rules()
    importlib.import_module("derivlint.schema").load_index()
    gc.collect()
    gc.freeze()
    relays: dict[int, socket.socket] = {}
    forks: dict[int, int] = {}
    #: the relay's handle, by the fork's handle
    ends: dict[int, int] = {}
    while True:
        ready, _, _ = select([0, listener.fileno(), *relays, *ends], [], [])
        if 0 in ready:
            return
        for handle in ready:
            if handle == listener.fileno():
                connection, _ = listener.accept()
                relay = connection.fileno()
                relays[relay], forks[relay] = connection, _forked(connection, listener)
                ends[os.pidfd_open(forks[relay])] = relay
            elif handle in ends:
                relay = ends.pop(handle)
                os.close(handle)
                _, status = os.waitpid(forks.pop(relay), 0)
                code = os.waitstatus_to_exitcode(status)
                with suppress(BrokenPipeError), relays.pop(relay) as connection:
                    connection.sendall((code if code >= 0 else 128 - code).to_bytes(SIZE, "big"))
            elif handle in relays:
                # end of file: the relay has exited
                os.kill(forks[handle], signal.SIGKILL)


def _forked(connection: socket.socket, listener: socket.socket) -> int:
    head, streams, _, _ = socket.recv_fds(connection, SIZE, 3)
    length = int.from_bytes(head, "big")
    message = b""
    while len(message) < length:
        message += connection.recv(length - len(message))
    pid = os.fork()
    if not pid:
        connection.close()
        listener.close()
        _become(json.loads(message), streams)
    for number in streams:
        os.close(number)
    return pid


def _become(message: tuple[list[str], str, dict[str, str]], streams: list[int]) -> NoReturn:
    arguments, folder, environment = message
    status = 1
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        opened = [os.fdopen(number, mode, closefd=False) for number, mode in enumerate(("r", "w", "w"))]
        sys.stdin, sys.stdout, sys.stderr = opened
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["derivlint", *arguments]
        gc.unfreeze()
        importlib.import_module("derivlint.__main__").main()
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        for file in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                file.flush()
        os._exit(status)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
