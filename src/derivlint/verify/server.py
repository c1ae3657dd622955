"""The process that checks: it loads PyTorch, the recorded inputs and the compiled functions, and forks for the checks.

Run as ``python -m derivlint.verify.server``. It reads one JSON object from standard input and writes one JSON object a
line to standard output. Formulas run in children, so that one that crashes or hangs costs its operator only.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
import warnings
from collections import deque
from pathlib import Path
from typing import Any

from derivlint.source.records import dataclass
from derivlint.verify.functions import Described
from derivlint.verify.stored import StoredInputs
from derivlint.verify.work import Work, check_operator, not_checked

#: Operators that one child checks.
CHUNK = 12


@dataclass(slots=True)
class Child:
    """A child that checks some operators.

    Attributes:
        pid: the process.
        pipe: where it writes.
        operators: what it has still to check, the current one first.
        since: when it began with that.
        rest: the beginning of a line.
        function: the number of the function that it is about to call.
    """

    pid: int
    pipe: int
    operators: deque[str]
    since: float
    rest: bytes = b""
    function: int = -1


def say(message: dict[str, Any], to: int | None = None) -> None:
    """Write one line."""
    data = (json.dumps(message) + "\n").encode()
    target = sys.stdout.fileno() if to is None else to
    while data:
        data = data[os.write(target, data) :]


def main() -> None:
    """Load what is needed, read the task, and work on it."""
    warnings.simplefilter("ignore")
    # what libraries print must not be read as messages
    out = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(out, "w")
    import torch
    import torch.autograd.forward_ad

    if "--many" in sys.argv:
        # decompositions of forward mode import it in every child that needs it, for two seconds each
        import torch._dynamo

    torch.set_num_threads(1)
    task = json.loads(sys.stdin.readline())
    inputs = {dtype: StoredInputs(Path(path)) for dtype, path in task["samples"].items()}
    described = [Described.from_json(content) for content in task["functions"]]
    if "formulas" in task:
        from derivlint.verify.interpreter import Interpreter

        namespace: Any = Interpreter(task["formulas"], described)
    else:
        load_library: Any = torch.ops.load_library
        load_library(task["library"])
        namespace = torch.ops.derivlint_verify
        problem = _helpers_problem(task["library"])
        if problem:
            say({"fatal": problem})
            return
    functions: dict[str, list[Described]] = {}
    for each in described:
        functions.setdefault(each.operator, []).append(each)
    run(functions, Work(namespace, inputs, task))
    say({"end": True})


def _helpers_problem(library: str) -> str:
    import ctypes

    question = ctypes.CDLL(library).derivlint_helpers_problem
    question.restype = ctypes.c_char_p
    answer = question()
    return answer.decode(errors="replace") if answer else ""


def run(functions: dict[str, list[Described]], work: Work) -> None:
    """Check all operators, in several children at a time."""
    waiting = deque(functions)
    children: dict[int, Child] = {}
    limit = float(work.task["timeout"])
    while waiting or children:
        while waiting and len(children) < work.task["jobs"]:
            chunk = [waiting.popleft() for _ in range(min(CHUNK, len(waiting)))]
            child = start([functions[each] for each in chunk], work)
            children[child.pipe] = child
        ready, _, _ = select.select(list(children), [], [], 0.5)
        for pipe in ready:
            data = os.read(pipe, 1 << 16)
            child = children[pipe]
            if data:
                receive(child, data)
                continue
            del children[pipe]
            os.close(pipe)
            _, status = os.waitpid(child.pid, 0)
            waiting.extendleft(reversed(buried(child, status)))
        for child in children.values():
            if time.monotonic() - child.since > limit:
                child.since = time.monotonic()
                os.kill(child.pid, signal.SIGKILL)


def buried(child: Child, status: int) -> list[str]:
    """The operators that a child left unchecked; the one at which it died is told."""
    if not child.operators:
        return []
    current = child.operators.popleft()
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    reason = signal.Signals(number).name if number else f"exit status {status >> 8}"
    say({"died": current, "function": child.function, "reason": "no end in time" if number == 9 else reason})
    return list(child.operators)


def receive(child: Child, data: bytes) -> None:
    """Take what a child wrote: it is passed on, but for what is only for the case of a crash."""
    *lines, child.rest = (child.rest + data).split(b"\n")
    for line in lines:
        message = json.loads(line)
        if "at" in message:
            child.function = message["at"]
            continue
        if "checked" in message:
            child.operators.popleft()
            child.since = time.monotonic()
            child.function = -1
        say(message)


def start(chunk: list[list[Described]], work: Work) -> Child:
    """Fork a child that checks some operators."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return Child(pid, reading, deque(each[0].operator for each in chunk), time.monotonic())
    status = 1
    try:
        os.close(reading)
        # a crash is told by the parent
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        for functions in chunk:
            try:
                check_operator(functions, work, lambda message: say(message, writing))
            except Exception as error:
                reason = f"the checks do not know what to do: {type(error).__name__}: {error}"[:300]
                say(not_checked(functions[0].operator, reason), writing)
        status = 0
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
