"""The place where a process of ours begins: run by path with ``-I``, before anything else of derivlint is imported.

``child.py TASK ARGUMENT...`` is a Python process. It ends with the process that started it, gives itself the import
path of that process without the folder that it was started in, imports the very same derivlint, and calls ``main`` of
one of its modules with the number of the pipe that ends with the parent, for processes that it starts itself.

``child.py PIPE COMMAND...`` runs a command and ends as it ends, or with the process that started it: a compiler is a
driver that starts the program that works, and neither notices when the parent has gone.

Nothing of derivlint can be imported here at the top: whose derivlint that would be is what this file decides. Little
else is, since this starts with every run of the compiler.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable

#: The status of a command that cannot be run, as shells have it.
CANNOT_RUN = 127
#: The option of ``prctl`` that has a signal sent when the parent ends.
_PR_SET_PDEATHSIG = 1


def _watch(lifeline: int, end: Callable[[], None]) -> None:
    """Call ``end`` when nobody holds the other end of a pipe any more."""

    def wait() -> None:
        try:
            os.read(lifeline, 1)
        finally:
            end()

    threading.Thread(target=wait, daemon=True).start()


def end_with_parent(lifeline: int, parent: int) -> None:
    """Have this process ended when its parent ends, however that comes about.

    Args:
        lifeline: the reading end of a pipe whose other end the parent holds and no one writes to.
        parent: the process that started this one.
    """
    _watch(lifeline, lambda: os._exit(1))
    if sys.platform == "linux":
        # at once, also while a library holds the interpreter
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)


def _run_module(text: str) -> None:
    """Set up the process and call ``main`` of the module that the task names."""
    import json
    from importlib import import_module
    from importlib.util import module_from_spec, spec_from_file_location

    task = json.loads(text)
    end_with_parent(task["lifeline"], task["parent"])
    if task["user_site"]:
        import site

        site.addsitedir(task["user_site"])
    own = list(sys.path)
    # the folder that the parent was started in counts only if an installation put it on the path
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
