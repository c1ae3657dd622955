"""Child processes: isolated from the current folder, ended with this process or on hangs, with captured errors."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import site
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

#: The working folder of processes, which exists and has no files of the user.
NEUTRAL = os.path.abspath(os.sep)
#: The number of retained bytes of a process's standard error.
STDERR_BYTES = 8192
#: The maximum number of characters and of lines in a quotation of standard error.
MAX_QUOTED, MAX_QUOTED_LINES = 400, 3
#: Seconds between two checks whether a process hangs.
HANG_PERIOD = 5.0
#: The fraction of a processor below which a silent process counts as idle.
IDLE_USAGE = 0.01
#: The factor on the idle limit if the system does not report processor usage.
UNKNOWN_USAGE_FACTOR = 10.0
_BEGINNING = Path(__file__).with_name("child.py")
_lock = threading.Lock()
_ends: list[Callable[[], None]] = []
_interrupted = False


class PythonChild:
    """A Python process that runs ``main`` of a module of derivlint (:mod:`derivlint.compiler.child`).

    Standard input and output are pipes.

    It has the packages of this process, but not its start folder, even if that is in ``PYTHONPATH``. It has its own
    process group and ends with this process.

    Args:
        module: the name of the module.
        arguments: its arguments.

    Raises:
        OSError: the process cannot be started.
    """

    def __init__(self, module: str, *arguments: str) -> None:
        self._tail = bytearray()
        self._end = ExitStack()
        reading, lifeline = os.pipe()
        self._end.callback(os.close, lifeline)
        try:
            self.process = subprocess.Popen(
                _command(module, arguments, reading),
                cwd=NEUTRAL,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(reading,),
                # only this process handles Ctrl-C; it ends the whole group
                start_new_session=True,
            )
            self._end.enter_context(_running(partial(_kill, self.process)))
        except BaseException:
            self._end.close()
            raise
        finally:
            os.close(reading)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        with contextlib.suppress(OSError, ValueError):
            while data := os.read(self.process.stderr.fileno(), 1 << 16):
                self._tail += data
                del self._tail[:-STDERR_BYTES]

    def stderr_text(self) -> str:
        """Return the end of its standard error as one printable line; complete only after the process has ended."""
        self._listener.join(timeout=1.0)
        return quoted(bytes(self._tail))

    def end(self) -> int:
        """End the process group if it still runs, and return the exit status, negative for a signal."""
        self._end.close()
        status = self.process.wait()
        self._listener.join(timeout=1.0)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        return status


def _command(module: str, arguments: Sequence[str], lifeline: int) -> list[str]:
    package = sys.modules[__name__.partition(".")[0]]
    start_folder = ""
    # the current folder may have been deleted
    with contextlib.suppress(OSError):
        start_folder = os.path.realpath(os.getcwd())
    task = {
        "module": module,
        "lifeline": lifeline,
        "parent": os.getpid(),
        # empty and relative entries depend on the current folder
        "path": [path for path in sys.path if os.path.isabs(path)],
        "start_folder": start_folder,
        # empty if the user's own packages are disabled
        "user_site": site.getusersitepackages() if site.ENABLE_USER_SITE else "",
        "file": os.path.abspath(str(package.__file__)),
        "folders": [os.path.abspath(path) for path in package.__path__],
    }
    options = ["-I", *(["-B"] if sys.dont_write_bytecode else [])]
    if sys.pycache_prefix is not None:
        options += ["-X", f"pycache_prefix={os.path.abspath(sys.pycache_prefix)}"]
    return [sys.executable, *options, str(_BEGINNING.absolute()), json.dumps(task), *arguments]


class HungError(Exception):
    """A process that neither ends nor sends messages nor uses processor time."""


class HangDetector:
    """Detects whether a process hangs.

    Args:
        pid: the process.
        idle: the number of seconds without messages and processor usage after which it counts as hung.
    """

    def __init__(self, pid: int, idle: float) -> None:
        self._pid = pid
        self._idle = idle
        self.reset()

    def reset(self) -> None:
        """Restart the interval after a message of the process."""
        self._since = time.monotonic()
        self._used = _usage(self._pid)[0]

    def is_hanging(self) -> bool:
        """Whether the process hangs."""
        waited = time.monotonic() - self._since
        if waited < self._idle:
            return False
        used, is_runnable = _usage(self._pid)
        if used is None or self._used is None:
            return waited > UNKNOWN_USAGE_FACTOR * self._idle
        if is_runnable or used - self._used >= IDLE_USAGE * waited:
            self.reset()
            return False
        return True


def _usage(pid: int) -> tuple[float | None, bool]:
    """Return the processor time of a process in seconds, or None if unknown, and whether it waits for a processor."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # the program name may contain any characters, including blanks and brackets
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), fields[0] == b"R"
    except (OSError, ValueError, IndexError, AttributeError):
        return None, False


def lines_of(child: PythonChild, idle: float) -> Iterator[bytes]:
    """Yield the lines that a process writes until it closes its output, without an incomplete last line.

    Raises:
        HungError: the process hangs.
        OSError: the output cannot be read.
    """
    assert child.process.stdout is not None
    pipe = child.process.stdout.fileno()
    hang_detector = HangDetector(child.process.pid, idle)
    rest = b""
    while True:
        if not select.select([pipe], [], [], HANG_PERIOD)[0]:
            if hang_detector.is_hanging():
                raise HungError
            continue
        data = os.read(pipe, 1 << 16)
        if not data:
            return
        hang_detector.reset()
        *lines, rest = (rest + data).split(b"\n")
        yield from lines


def processors() -> int:
    """Return the number of processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


class ProcessGroup:
    """Concurrent commands that are ended together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._is_over = False

    @contextmanager
    def running(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Add a process to the group while the block runs; if the group has been ended, end it at once."""
        with self._lock:
            self._processes.add(process)
            if self._is_over:
                _kill(process)
        try:
            yield
        finally:
            with self._lock:
                self._processes.discard(process)

    def end(self) -> None:
        """End all processes of the group, including future ones."""
        with self._lock:
            self._is_over = True
            for process in self._processes:
                _kill(process)


@contextmanager
def running_command(command: Sequence[str], folder: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command without input, with messages in English; it ends with the block or with this process.

    Args:
        command: the command, with an absolute path.
        folder: its working folder; by default a neutral one.

    Raises:
        OSError: the process cannot be started.
    """
    with ExitStack() as stack:
        line, inherited = list(command), tuple[int, ...]()
        if hasattr(os, "fork"):
            reading, lifeline = os.pipe()
            stack.callback(os.close, reading)
            stack.enter_context(_running(partial(os.close, lifeline)))
            line = [sys.executable, "-I", "-S", "-B", str(_BEGINNING.absolute()), str(reading), *line]
            inherited = (reading,)
        process = subprocess.Popen(
            line,
            cwd=folder or NEUTRAL,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=inherited,
            start_new_session=True,
        )
        stack.enter_context(process)
        try:
            yield process
        finally:
            if process.poll() is None:
                _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with its group, which may outlive its leader."""
    if not hasattr(os, "killpg"):
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def _running(end: Callable[[], None]) -> Iterator[None]:
    """Call a function once: after the block, or on an interrupt."""
    with _lock:
        if _interrupted:
            end()
            raise InterruptedError("interrupted")
        _ends.append(end)
    try:
        yield
    finally:
        with _lock:
            is_left = end in _ends
            if is_left:
                _ends.remove(end)
        if is_left:
            end()


@contextmanager
def ended_by_interrupt() -> Iterator[None]:
    """End all started processes on Ctrl-C while the block runs, including those that other threads wait for.

    Otherwise the program would wait for these threads. An ignored interrupt, as in background jobs, stays ignored.
    """
    global _interrupted
    is_ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not is_ours:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _interrupted = False


def _interrupt(number: int, frame: object) -> None:
    end_all()
    raise KeyboardInterrupt


def end_all() -> None:
    """End all started processes, including those that other threads wait for, and start no more."""
    global _interrupted
    _interrupted = True
    # without the lock, which the interrupted code may hold
    for end in list(_ends):
        with contextlib.suppress(ValueError):
            _ends.remove(end)
            end()


def quoted(data: bytes) -> str:
    """Quote the last lines of a process's output in one line, without control characters.

    For a traceback, the quotation is the error, which may have several lines.
    """
    lines = [line.rstrip() for line in data.decode(errors="replace").splitlines() if line.strip()]
    tracebacks = [place for place, line in enumerate(lines) if line.startswith("Traceback ")]
    after = lines[tracebacks[-1] + 1 :] if tracebacks else []
    error = next((place for place, line in enumerate(after) if not line[0].isspace()), None)
    chosen = lines[-MAX_QUOTED_LINES:] if error is None else after[error : error + MAX_QUOTED_LINES]
    text = "; ".join(map(str.strip, chosen))
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return shown if len(shown) <= MAX_QUOTED else f"{shown[:MAX_QUOTED]}..."


def ended(status: int) -> str:
    """Describe the status or signal that ended a process.

    Args:
        status: as of :class:`subprocess.Popen`, negative for a signal.
    """
    return f"exit status {status}" if status >= 0 else signal_name(-status)


def signal_name(number: int) -> str:
    """Return the name of a signal; real-time signals have only numbers."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
