"""The checking process: loads PyTorch, the recorded inputs and the compiled functions, and forks for checks.

Started by :mod:`derivlint.verify.processes.process`. It reads one JSON object from standard input and writes one JSON
object a line to standard output. Formulas run in children, so that a crash or hang only affects its operator.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import select
import signal
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from math import ceil
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import Struct

from derivlint.compiler.child import end_with_parent
from derivlint.compiler.children import HangDetector, quoted
from derivlint.verify.code.functions import FunctionSpec
from derivlint.verify.inputs.stored import StoredInputs
from derivlint.verify.processes.process import send
from derivlint.verify.processes.work import CheckContext, check_operator, not_checked
from derivlint.verify.processes.workdir import first_foreign_path
from derivlint.verify.unchecked import SkipReason, exit_reason

#: The number of operators per child.
CHUNK = 12
#: The number of seconds between heartbeats, and between checks for hung children.
BEAT = 2.0
#: The number of retained bytes of a child's standard error.
STDERR_BYTES = 4096


_NAME = "torch._dynamo"


class _DynamoStub(ModuleType):
    """A stub for ``torch._dynamo`` with ``disable``; replaced by the real module on access to any other attribute."""

    @staticmethod
    def disable(function: Any = None, recursive: bool = True, **options: Any) -> Any:
        """Return the function unchanged; follows torch._compile._disable_dynamo, which calls this."""
        return function

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(_NAME) is self:
            del sys.modules[_NAME]
        return getattr(importlib.import_module(_NAME), name)


def replace_compiler_by_stub() -> None:
    """Replace ``torch._dynamo`` by a stub in this process, unless it is imported already."""
    sys.modules.setdefault(_NAME, _DynamoStub(_NAME))


class Child(Struct):
    """A child that checks some operators.

    Attributes:
        pid: the process.
        pipe: the pipe for its messages.
        errors: the pipe for its standard error.
        operators: the remaining operators, the current one first.
        hang_detector: detects whether it hangs.
        rest: an incomplete line.
        stderr_tail: the end of what it wrote to standard error.
        function: the number of the current function.
        inputs: the current inputs, as text; empty between operators.
        hangs: whether it was killed because it hung.
        is_silent: whether its standard error is closed.
    """

    pid: int
    pipe: int
    errors: int
    operators: deque[str]
    hang_detector: HangDetector
    rest: bytes = b""
    stderr_tail: bytes = b""
    function: int = -1
    inputs: str = ""
    hangs: bool = False
    is_silent: bool = False

    @property
    def pipes(self) -> tuple[int, ...]:
        """The open pipes to poll."""
        return (self.pipe,) if self.is_silent else (self.pipe, self.errors)

    def read_stderr(self) -> None:
        """Read the child's standard error without waiting."""
        try:
            data = os.read(self.errors, 1 << 16)
        except BlockingIOError:
            return
        self.stderr_tail = (self.stderr_tail + data)[-STDERR_BYTES:]
        self.is_silent = not data


def main(lifeline: int) -> None:
    """Load the modules, read the task, and execute it.

    Args:
        lifeline: the pipe whose closing ends this process.
    """
    warnings.simplefilter("ignore")
    # output of libraries must not be read as messages
    out = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(out, "w")
    import torch
    import torch.autograd.forward_ad

    replace_compiler_by_stub()
    torch.set_num_threads(1)
    task = json.loads(sys.stdin.readline())
    inputs = {dtype: StoredInputs(Path(path)) for dtype, path in task["samples"].items()}
    spec = [FunctionSpec.from_json(content) for content in task["functions"]]
    base = _base(task)
    arms: list[Callable[[int, int], int]] = []
    if "formulas" in task:
        from derivlint.verify.code.interpreter import InterpretedFunctions

        earlier = (function for functions in (base or {}).values() for function in functions)
        namespace: Any = InterpretedFunctions(task["formulas"], [*spec, *earlier])
    else:
        from derivlint.runtime.load import load_library

        for library in map(Path, task["libraries"]):
            stranger = first_foreign_path(library, Path(task["place"]))
            if stranger is not None:
                send({"fatal": f'"{stranger}" is not this user\'s alone; nothing is loaded from there'})
                return
            problem = load_library(library)
            if problem:
                send({"fatal": problem})
                return
            arms.append(_arms_of(str(library)))
        namespace = torch.ops.derivlint_verify
    functions: dict[str, list[FunctionSpec]] = {}
    for function in spec:
        functions.setdefault(function.operator, []).append(function)
    run(functions, CheckContext(namespace, inputs, task, base, arms[0] if arms else None), lifeline)
    send({"end": True})


def _base(task: dict[str, Any]) -> dict[str, list[FunctionSpec]] | None:
    """The functions of an earlier version of the file, by operator, or None."""
    if task.get("base") is None:
        return None
    return {
        name: [FunctionSpec.from_json(function) for function in functions] for name, functions in task["base"].items()
    }


def _arms_of(library: str) -> Callable[[int, int], int]:
    """Return the function of a library that reports the taken branches of its formulas."""
    import ctypes

    reached = ctypes.CDLL(library).derivlint_reached
    reached.argtypes, reached.restype = (ctypes.c_int64, ctypes.c_int64), ctypes.c_int
    return lambda function, site: int(reached(function, site))


def run(functions: dict[str, list[FunctionSpec]], work: CheckContext, lifeline: int) -> None:
    """Check all operators in several parallel children."""
    if len(functions) > CHUNK:
        prepare()
    waiting = deque(functions)
    children: list[Child] = []
    beat = time.monotonic()
    while waiting or children:
        while waiting and len(children) < work.task["jobs"]:
            chunk = [waiting.popleft() for _ in range(min(CHUNK, len(waiting)))]
            children.append(start([functions[operator] for operator in chunk], work, lifeline, children))
        ready, _, _ = select.select([pipe for child in children for pipe in child.pipes], [], [], BEAT)
        for child in list(children):
            if child.errors in ready:
                child.read_stderr()
            if child.pipe not in ready:
                continue
            data = os.read(child.pipe, 1 << 16)
            if data:
                receive(child, data)
            else:
                children.remove(child)
                waiting.extendleft(reversed(reap(child, work.task["processor"])))
        if time.monotonic() - beat >= BEAT:
            beat = time.monotonic()
            send({"alive": True})
            for child in children:
                if child.hang_detector.is_hanging():
                    child.hangs = True
                    os.kill(child.pid, signal.SIGKILL)


def prepare() -> None:
    """Preload the modules that PyTorch imports late for forward mode, since each child would import them again."""
    import torch
    from torch.autograd import forward_ad

    one = torch.ones(1, dtype=torch.float64)
    make_dual: Any = forward_ad.make_dual
    with forward_ad.dual_level():
        make_dual(one, one)
    one.mul(torch._efficientzerotensor((1,), dtype=torch.float64))


def reap(child: Child, limit: float) -> list[str]:
    """Wait for a child that has ended, report its current operator, and return the unchecked ones.

    Args:
        child: the child, whose pipe is closed.
        limit: the processor time limit for each operator, in seconds.
    """
    os.close(child.pipe)
    _, ending = os.waitpid(child.pid, 0)
    status = os.waitstatus_to_exitcode(ending)
    child.read_stderr()
    os.close(child.errors)
    if not child.operators:
        return []
    current = child.operators.popleft()
    why, reason = exit_reason(status, quoted(child.stderr_tail), limit)
    if child.hangs:
        why, reason = SkipReason.HUNG, "it waits for something, and uses no processor time"
    death = {"died": current, "function": child.function, "inputs": child.inputs, "why": why.value, "reason": reason}
    send(death)
    return list(child.operators)


def receive(child: Child, data: bytes) -> None:
    """Process messages of a child: forward all except the marks that locate a crash."""
    child.hang_detector.reset()
    *lines, child.rest = (child.rest + data).split(b"\n")
    for line in lines:
        message = json.loads(line)
        if "at" in message:
            child.function = message["at"]
            child.inputs = message.get("inputs", child.inputs)
            continue
        if "checked" in message:
            child.operators.popleft()
            child.function, child.inputs = -1, ""
        send(message)


def start(chunk: list[list[FunctionSpec]], work: CheckContext, lifeline: int, siblings: Sequence[Child] = ()) -> Child:
    """Fork a child that checks some operators; it closes the pipes of its siblings."""
    reading, writing = os.pipe()
    hearing, complaining = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid:
        os.close(writing)
        os.close(complaining)
        os.set_blocking(hearing, False)
        operators = deque(functions[0].operator for functions in chunk)
        return Child(pid, reading, hearing, operators, HangDetector(pid, work.task["idle"]))
    status = 1
    try:
        end_with_parent(lifeline, parent)
        for inherited in (reading, hearing, *(end for child in siblings for end in (child.pipe, child.errors))):
            os.close(inherited)
        os.dup2(complaining, 1)
        os.dup2(complaining, 2)
        for functions in chunk:
            limit_processor_time(work.task["processor"])
            check_or_report_error(functions, work, writing)
        status = 0
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="backslashreplace"))
    finally:
        os._exit(status)


def check_or_report_error(functions: list[FunctionSpec], work: CheckContext, to: int) -> None:
    """Check an operator; an error of the checks themselves becomes its result."""
    try:
        check_operator(functions, work, lambda message: send(message, to))
    except MemoryError as error:
        detail = f": {error}" if str(error) else ""
        send(not_checked(functions[0].operator, SkipReason.OUT_OF_MEMORY, f"memory ran out{detail}"[:300]), to)
    except Exception as error:
        reason = f"the checks themselves fail: {type(error).__name__}: {error}"[:300]
        send(not_checked(functions[0].operator, SkipReason.FAILED, reason), to)


def limit_processor_time(seconds: float) -> None:
    """Limit the remaining processor time of this process, in seconds; a signal ends a process that exceeds it."""
    _, hard_limit = resource.getrlimit(resource.RLIMIT_CPU)
    limit = ceil(time.process_time() + seconds)
    resource.setrlimit(
        resource.RLIMIT_CPU, (limit if hard_limit == resource.RLIM_INFINITY else min(limit, hard_limit), hard_limit)
    )
