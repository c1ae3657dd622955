"""The entry point of child processes: run by path with ``-I``, before anything else of derivlint is imported.

``child.py TASK ARGUMENT...`` is a Python process. It ends with its parent, sets the parent's import path without the
start folder, imports the same derivlint, and calls ``main`` of one of its modules with the number of the pipe that
closes with the parent, for its own children.

``child.py PIPE COMMAND...`` runs a command and ends with its status, or with the parent: a compiler is a driver that
starts the actual program, and neither notices the end of the parent.

This module cannot import derivlint at the top, since it determines which one is imported. It imports little else, since
it runs for every compiler call.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable

#: The exit status for a command that cannot be run, as in shells.
CANNOT_RUN = 127
#: The option of ``prctl`` for the signal sent when the parent ends.
_PR_SET_PDEATHSIG = 1


def _watch(lifeline: int, end: Callable[[], None]) -> None:
    """Call ``end`` when the other end of a pipe is closed."""

    def wait() -> None:
        try:
            os.read(lifeline, 1)
        finally:
            end()

    threading.Thread(target=wait, daemon=True).start()


def end_with_parent(lifeline: int, parent: int) -> None:
    """Make this process end when its parent ends, for any reason.

    Args:
        lifeline: the reading end of a pipe that the parent keeps open without writing.
        parent: the process that started this one.
    """
    _watch(lifeline, lambda: os._exit(1))
    if sys.platform == "linux":
        # works even while a library holds the GIL
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)


def _run_module(text: str) -> None:
    """Set up the process and call ``main`` of the task's module."""
    import json
    from importlib import import_module
    from importlib.util import module_from_spec, spec_from_file_location

    task = json.loads(text)
    end_with_parent(task["lifeline"], task["parent"])
    if task["user_site"]:
        import site

        site.addsitedir(task["user_site"])
    own = list(sys.path)
    # the parent's start folder only counts if an installation put it on the path
    inherited = [path for path in task["path"] if path in own or os.path.realpath(path) != task["start_folder"]]
    sys.path[:] = dict.fromkeys(inherited + own)
    spec = spec_from_file_location("derivlint", task["file"], submodule_search_locations=task["folders"])
    if spec is None or spec.loader is None:
        sys.exit(f'cannot import "{task["file"]}"')
    package = module_from_spec(spec)
    sys.modules["derivlint"] = package
    spec.loader.exec_module(package)
    import_module(task["module"]).main(task["lifeline"])


def _run_command(lifeline: int, command: list[str]) -> None:
    pid = os.fork()
    if not pid:
        try:
            os.close(lifeline)
            os.execv(command[0], command)
        except OSError as error:
            os.write(2, f"cannot run {command[0]}: {error.strerror}\n".encode())
        finally:
            os._exit(CANNOT_RUN)
    _watch(lifeline, lambda: os.killpg(0, signal.SIGKILL))
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    first = sys.argv.pop(1)
    if first.isdecimal():
        _run_command(int(first), sys.argv[1:])
    else:
        _run_module(first)
