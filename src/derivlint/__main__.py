"""The command ``derivlint``, also as ``python -m derivlint``."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from derivlint.version import version_text

#: The status of a run that was interrupted.
INTERRUPTED = 130
#: Seconds that a run has to clear up when a signal ends it.
PATIENCE = 1.0
#: The signals that ended the run.
_signals: list[int] = []


def _leave_current_folder(*, started_as_module: bool) -> None:
    """Have nothing imported from the current folder, which holds what is checked.

    ``python -m`` has put it on the import path, from where it is removed. Where ``PYTHONPATH`` names it, it comes last:
    a PyTorch that was built in place may be there.
    """
    if started_as_module and not getattr(sys.flags, "safe_path", False) and _is_current(sys.path[0]):
        del sys.path[0]
    current = [path for path in sys.path if _is_current(path)]
    if current:
        sys.path[:] = [path for path in sys.path if path not in current] + current


def _is_current(path: str) -> bool:
    try:
        return os.path.samefile(path or os.curdir, os.curdir)
    except (OSError, ValueError):
        return False


def main() -> None:
    """Run the command line; never shows a traceback unless ``DERIVLINT_DEBUG`` is set."""
    _leave_current_folder(started_as_module=False)
    _open_streams()
    # the version alone needs none of the imports of the commands, unless it has to be said why it cannot be printed
    if sys.argv[1:] in (["--version"], ["-V"]) and _is_printed(f"{version_text()}\n"):
        return
    # Trees and schemas live to the end of the process: looking for garbage cycles among them costs a third of the time.
    import gc

    gc.disable()
    import signal

    # SIGTERM as SIGINT: what was started is ended, and what was begun is cleared up
    for number in (signal.SIGINT, signal.SIGTERM):
        # in background jobs an interrupt is ignored, and stays so
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, _interrupt)
    try:
        from derivlint.cli.main import run
        from derivlint.cli.shared.terminal import watch_streams

        watch_streams()
        status = run(sys.argv[1:])
    except KeyboardInterrupt:
        status = INTERRUPTED
    if _signals:
        # what threads still do, no one waits for
        os._exit(128 + _signals[0])
    # else the interpreter looks for garbage once more when it ends, switched off or not: a fifth of the time
    gc.freeze()
    _leave(status)


def _interrupt(number: int, frame: object) -> None:
    _signals.append(number)
    import threading

    # who waits for a thread, or is interrupted where exceptions are ignored, does not end by the exception
    leaving = threading.Timer(PATIENCE, os._exit, [128 + number])
    leaving.daemon = True
    leaving.start()
    children = sys.modules.get("derivlint.compiler.children")
    if children is not None:
        children.end_all()
    raise KeyboardInterrupt


def _leave(status: int) -> NoReturn:
    """End the process, at once where nothing is left to do: to take all objects apart takes time."""
    import atexit

    threading = sys.modules.get("threading")
    if not atexit._ncallbacks() and (threading is None or threading.active_count() == 1):
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except (OSError, ValueError):
            # the interpreter says so when it ends
            sys.exit(status)
        os._exit(status)
    sys.exit(status)


def _open_streams() -> None:
    """See that no file of ours gets the number of a standard stream that is closed: messages would go into it."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # the lowest number that is free is this one
            os.open(os.devnull, os.O_RDWR)


def _is_printed(text: str) -> bool:
    """Whether a text could be printed."""
    try:
        if sys.stdout is None:
            return False
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    _leave_current_folder(started_as_module=__spec__ is not None)
    main()
