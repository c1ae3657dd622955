"""Child processes: isolated from the current folder, ended with this process or where they hang, their errors kept."""

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

#: The folder that processes run in: it is there, and nothing of the user's is in it.
NEUTRAL = os.path.abspath(os.sep)
#: The last bytes of a process's standard error that are kept.
KEPT = 8192
#: A quotation of it is not longer than this.
QUOTED = 400
#: So many lines of it are quoted.
LINES = 3
#: Seconds between two looks at whether a process hangs.
LOOK = 5.0
#: A process that uses less than this part of one processor, and waits for something else than a processor, hangs.
LEAST = 0.01
#: Where the system does not say what a process uses, it may take as many times longer.
BLIND = 10.0
_BEGINNING = Path(__file__).with_name("child.py")
_lock = threading.Lock()
_ends: list[Callable[[], None]] = []
_interrupted = False


class PythonChild:
    """A Python process that runs ``main`` of one of our modules (:mod:`derivlint.compiler.child`).

    Standard input and output are pipes.

    It sees the packages that this process sees, and nothing of the folder that this process was started in or of
    ``PYTHONPATH`` where that names it. It is in a process group of its own and ends with this process.

    Args:
        module: the name of the module.
        arguments: its arguments.

    Raises:
        OSError: it cannot be started.
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
                # Ctrl-C is for us alone; we end the whole group
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
                del self._tail[:-KEPT]

    def stderr_text(self) -> str:
        """Return the end of its standard error in one line that can be shown.

        Complete only after it has ended.
        """
        self._listener.join(timeout=1.0)
        return quoted(bytes(self._tail))

    def end(self) -> int:
        """End it with all that it started, where it has not ended; its status, negative for a signal."""
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
    # it may be deleted
    with contextlib.suppress(OSError):
        start_folder = os.path.realpath(os.getcwd())
    task = {
        "module": module,
        "lifeline": lifeline,
        "parent": os.getpid(),
        # an empty entry, and one that is not absolute, depend on the current folder
        "path": [path for path in sys.path if os.path.isabs(path)],
        "start_folder": start_folder,
        # empty if the user's own packages are not seen
        "user_site": site.getusersitepackages() if site.ENABLE_USER_SITE else "",
        "file": os.path.abspath(str(package.__file__)),
        "folders": [os.path.abspath(path) for path in package.__path__],
    }
    options = ["-I", *(["-B"] if sys.dont_write_bytecode else [])]
    if sys.pycache_prefix is not None:
        options += ["-X", f"pycache_prefix={os.path.abspath(sys.pycache_prefix)}"]
    return [sys.executable, *options, str(_BEGINNING.absolute()), json.dumps(task), *arguments]


class HungError(Exception):
    """A process neither ends nor sends anything, and uses no processor time."""


class HangDetector:
    """Decides whether a process hangs.

    Args:
        pid: the process.
        idle: seconds that it may go without a message and without using the processor.
    """

    def __init__(self, pid: int, idle: float) -> None:
        self._pid = pid
        self._idle = idle
        self.reset()

    def reset(self) -> None:
        """Start the interval again after a message of the process."""
        self._since = time.monotonic()
        self._used = _usage(self._pid)[0]

    def is_hanging(self) -> bool:
        """Whether the process hangs."""
        waited = time.monotonic() - self._since
        if waited < self._idle:
            return False
        used, is_runnable = _usage(self._pid)
        if used is None or self._used is None:
            return waited > BLIND * self._idle
        if is_runnable or used - self._used >= LEAST * waited:
            self.reset()
            return False
        return True


def _usage(pid: int) -> tuple[float | None, bool]:
    """The processor time of a process in seconds, None if that is not known; whether it waits for a processor."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # the name of the program may hold anything, blanks and brackets as well
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), fields[0] == b"R"
    except (OSError, ValueError, IndexError, AttributeError):
        return None, False


def lines_of(child: PythonChild, idle: float) -> Iterator[bytes]:
    """Yield the lines that a process writes until it closes its output, without an incomplete last line.

    Raises:
        HungError: the process hangs.
        OSError: it cannot be read.
    """
    assert child.process.stdout is not None
    pipe = child.process.stdout.fileno()
    hang_detector = HangDetector(child.process.pid, idle)
    rest = b""
    while True:
        if not select.select([pipe], [], [], LOOK)[0]:
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
    """Commands that run at the same time for one purpose, and are ended together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._is_over = False

    @contextmanager
    def running(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Have a process in the group while the block runs; it is ended at once if the others were."""
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
        """End all processes of the group, also those that are still to come."""
        with self._lock:
            self._is_over = True
            for process in self._processes:
                _kill(process)


@contextmanager
def running_command(command: Sequence[str], folder: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command without input and with messages in English; it ends with the block at the latest, or with us.

    Args:
        command: the command, with an absolute path.
        folder: where it runs; by default not in the current folder.

    Raises:
        OSError: it cannot be started.
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
    """End a process with its group, which may live on when its leader is gone."""
    if not hasattr(os, "killpg"):
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def _running(end: Callable[[], None]) -> Iterator[None]:
    """Have something ended once: with the block, or by an interrupt before that."""
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
    """While the block runs, Ctrl-C ends all processes that were started, also those that other threads wait for.

    Those threads would have to be waited for. An interrupt that is ignored, as in background jobs, stays ignored.
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
    """End all processes that were started, also those that other threads wait for; no more are started."""
    global _interrupted
    _interrupted = True
    # without the lock, which the interrupted code may hold
    for end in list(_ends):
        with contextlib.suppress(ValueError):
            _ends.remove(end)
            end()


def quoted(data: bytes) -> str:
    """Quote the last lines of a process's output in one line, without control characters.

    Of a traceback it is the error, which may have further lines.
    """
    lines = [line.rstrip() for line in data.decode(errors="replace").splitlines() if line.strip()]
    tracebacks = [place for place, line in enumerate(lines) if line.startswith("Traceback ")]
    after = lines[tracebacks[-1] + 1 :] if tracebacks else []
    error = next((place for place, line in enumerate(after) if not line[0].isspace()), None)
    chosen = lines[-LINES:] if error is None else after[error : error + LINES]
    text = "; ".join(map(str.strip, chosen))
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return shown if len(shown) <= QUOTED else f"{shown[:QUOTED]}..."


def ended(status: int) -> str:
    """The status or signal that ended a process.

    Args:
        status: as of :class:`subprocess.Popen`, negative for a signal.
    """
    return f"exit status {status}" if status >= 0 else signal_name(-status)


def signal_name(number: int) -> str:
    """The name of a signal; real-time signals have numbers only."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
