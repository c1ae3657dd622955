"""Runs a command that is killed when its parent ends: ``python -I -S guard.py PIPE COMMAND...``.

A compiler is a driver that starts the program that works; neither notices when the parent has gone. This process does,
by the end of a pipe that the parent holds, and then kills its process group.
Imports nothing of derivlint, and little else: it starts with every run of the compiler.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

#: The status of a command that cannot be run, as shells have it.
CANNOT_RUN = 127


def _end_all(lifeline: int) -> None:
    try:
        os.read(lifeline, 1)
    finally:
        os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Run the command and end as it ends."""
    lifeline, command = int(sys.argv[1]), sys.argv[2:]
    pid = os.fork()
    if not pid:
        try:
            os.close(lifeline)
            os.execv(command[0], command)
        except OSError as error:
            os.write(2, f"cannot run {command[0]}: {error.strerror}\n".encode())
        finally:
            os._exit(CANNOT_RUN)
    threading.Thread(target=_end_all, args=(lifeline,), daemon=True).start()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main()
