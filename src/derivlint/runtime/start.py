"""The entry point of a process that runs a program with replaced kernels: run by path, without importing derivlint.

``start.py RECEIVER [ARGUMENT...]`` imports PyTorch, while its child or parent compiles the libraries and then writes
the task to the file descriptor ``RECEIVER``. It loads the libraries and runs the program as ``python`` does: a file, a
module or code, with the same ``sys.argv`` and ``sys.path``. With ``python -i`` and no program, an interactive shell
follows. The task is JSON: ``libraries``; ``kind`` (``file``, ``module``, ``code`` or empty) and ``program``; ``quiet``;
``compare``, whether to run the program first on stock PyTorch, and to compare losses and gradients. That run gets its
task in the place of the descriptor, with ``record``, the folder to write them to.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from types import ModuleType
from typing import Any

#: The exit status if a library cannot be loaded.
CANNOT_LOAD = 2
#: The maximum number of recorded calls of backward and grad.
MAX_RECORDED = 1000
#: The maximum number of printed differences.
MAX_SHOWN = 8
#: Runs a command that ends with this process (:mod:`derivlint.compiler.child`).
_CHILD = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "compiler", "child.py")
_OVERRIDING = "Overriding a previously registered kernel"


def say(text: str) -> None:
    """Print a message of derivlint to standard error."""
    print(f"derivlint: {text}", file=sys.stderr, flush=True)


def receive(receiver: int) -> str:
    """Import PyTorch and wait for the task; without one, exit with the status of the child that compiles."""
    task = bytearray()

    def listen() -> None:
        while data := os.read(receiver, 1 << 16):
            task.extend(data)
        if not task:
            status = 0
            # with --watch the sender is the parent, which was interrupted
            with suppress(ChildProcessError):
                status = os.waitstatus_to_exitcode(os.wait()[1])
            os._exit(status if status >= 0 else 128 - status)

    listener = threading.Thread(target=listen)
    listener.start()
    # where it fails, loading the libraries says so
    with suppress(Exception):
        import torch  # noqa: F401
    listener.join()
    with suppress(ChildProcessError):
        os.wait()
    os.close(receiver)
    return task.decode()


def run_on_stock(task: dict[str, Any], arguments: list[str], folder: str) -> None:
    """Run the program on stock PyTorch in a process that ends with this one.

    Args:
        task: the task of this process.
        arguments: the program's arguments.
        folder: the folder for its losses and gradients.
    """
    began = time.monotonic()
    stock = {**task, "libraries": [], "compare": False, "record": folder}
    reading, lifeline = os.pipe()
    command = [sys.executable, "-I", "-S", "-B", _CHILD, str(reading)]
    command += [sys.executable, __file__, json.dumps(stock), *arguments]
    if not task["quiet"]:
        say("running on stock first")
    status = subprocess.run(
        command, stdout=subprocess.DEVNULL, pass_fds=(reading,), start_new_session=True, check=False
    ).returncode
    os.close(reading)
    os.close(lifeline)
    if not task["quiet"]:
        say(f"ran on stock in {time.monotonic() - began:.1f} s")
    if status:
        say(f"on stock the program ends with status {status}")


def load(libraries: list[str]) -> None:
    """Load libraries, suppressing PyTorch's warning that kernels are overridden."""
    import torch

    load_library: Any = torch.ops.load_library
    sys.stderr.flush()
    with tempfile.TemporaryFile() as heard:
        before = os.dup(2)
        os.dup2(heard.fileno(), 2)
        try:
            for library in libraries:
                load_library(library)
        finally:
            os.dup2(before, 2)
            os.close(before)
            heard.seek(0)
            text = heard.read().decode(errors="replace")
            if text and _OVERRIDING not in text:
                sys.stderr.write(text)
    import ctypes

    for library in libraries:
        helpers_problem = ctypes.CDLL(library).derivlint_helpers_problem
        helpers_problem.restype = ctypes.c_char_p
        if problem := helpers_problem():
            raise RuntimeError(problem.decode(errors="replace"))


class Gradients:
    """The losses and gradients of each call of backward and grad, recorded or compared with recorded ones.

    Args:
        folder: the folder of records.
        compares: whether to compare with the records.
    """

    def __init__(self, folder: str, *, compares: bool) -> None:
        self._folder, self._compares = folder, compares
        self._calls = self._tensors = self._equal = 0
        self._differences: list[str] = []

    def install(self) -> None:
        """Hook all calls of backward and grad, and seed the random number generators."""
        import torch

        torch.manual_seed(0)
        backward, grad = torch.autograd.backward, torch.autograd.grad

        def noticed_backward(tensors: Any, *arguments: Any, **options: Any) -> None:
            roots = (tensors,) if isinstance(tensors, torch.Tensor) else tuple(tensors)
            leaves = self._leaves(roots)
            backward(tensors, *arguments, **options)
            self._notice("backward", roots, [leaf.grad for leaf in leaves])

        def noticed_grad(outputs: Any, *arguments: Any, **options: Any) -> Any:
            gradients = grad(outputs, *arguments, **options)
            roots = (outputs,) if isinstance(outputs, torch.Tensor) else tuple(outputs)
            self._notice("grad", roots, list(gradients))
            return gradients

        torch.autograd.backward, torch.autograd.grad = noticed_backward, noticed_grad

    @staticmethod
    def _leaves(roots: tuple[Any, ...]) -> list[Any]:
        """Return the leaf tensors of a graph, in traversal order."""
        leaves: dict[int, Any] = {}
        pending = [root.grad_fn for root in roots if root.grad_fn is not None]
        seen = set(pending)
        while pending:
            node = pending.pop()
            if hasattr(node, "variable"):
                leaves[id(node.variable)] = node.variable
            following = [function for function, _ in node.next_functions if function is not None]
            pending += [function for function in following if function not in seen]
            seen.update(following)
        return list(leaves.values())

    def _notice(self, kind: str, losses: tuple[Any, ...], gradients: list[Any]) -> None:
        self._calls += 1
        if self._calls > MAX_RECORDED:
            return
        values = {f"loss {place}": loss for place, loss in enumerate(losses)}
        values |= {f"gradient {place}": gradient for place, gradient in enumerate(gradients)}
        tensors = {name: None if value is None else _plain(value) for name, value in values.items()}
        path = os.path.join(self._folder, str(self._calls))
        if not self._compares:
            _write(path, tensors)
            return
        stock = _read(path) if os.path.exists(path) else {}
        for name, tensor in tensors.items():
            self._tensors += 1
            difference = _difference(stock[name], tensor) if name in stock else "stock has none"
            if difference:
                self._differences.append(f"{kind} {self._calls}, {name}: {difference}")
            else:
                self._equal += 1

    def report(self) -> None:
        """Print the result of the comparison."""
        recorded = len(os.listdir(self._folder))
        if recorded != min(self._calls, MAX_RECORDED):
            say(f"stock called backward or grad {recorded} times, and this run {self._calls} times")
        for line in self._differences[:MAX_SHOWN]:
            say(line)
        if len(self._differences) > MAX_SHOWN:
            say(f"{len(self._differences) - MAX_SHOWN} more differences")
        calls = f"{self._calls} call{'s' if self._calls != 1 else ''} of backward and grad"
        if self._calls > MAX_RECORDED:
            calls += f" (the first {MAX_RECORDED} were compared)"
        say(f"{calls}: {self._equal} of {self._tensors} losses and gradients equal stock's bit for bit")


def _plain(tensor: Any) -> Any:
    """Return a dense tensor on the CPU without lazy conjugation."""
    import torch

    dense = tensor.detach().to_dense() if tensor.layout != torch.strided else tensor.detach()
    return dense.cpu().resolve_conj().resolve_neg().contiguous()


def _bytes(tensor: Any) -> bytes:
    import torch

    values = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    content: bytes = values.reshape(-1).view(torch.uint8).numpy().tobytes()
    return content


def _write(path: str, tensors: dict[str, Any]) -> None:
    """Write tensors: a line of JSON with names, types and sizes, then their bytes."""
    rows = [
        [name] if tensor is None else [name, str(tensor.dtype).removeprefix("torch."), list(tensor.shape)]
        for name, tensor in tensors.items()
    ]
    with open(path, "wb") as file:
        file.write(json.dumps(rows).encode() + b"\n")
        for tensor in tensors.values():
            if tensor is not None:
                file.write(_bytes(tensor))


def _read(path: str) -> dict[str, Any]:
    """Read a file written by :func:`_write`."""
    import torch

    tensors: dict[str, Any] = {}
    with open(path, "rb") as file:
        for name, *form in json.loads(file.readline()):
            tensors[name] = None
            if form:
                empty = torch.empty(form[1], dtype=getattr(torch, form[0]))
                data = bytearray(file.read(empty.numel() * empty.element_size()))
                tensors[name] = torch.frombuffer(data, dtype=empty.dtype).reshape(empty.shape) if data else empty
    return tensors


def _difference(stock: Any, ours: Any) -> str:
    """Describe the difference of two tensors; empty if they are bitwise equal."""
    import torch

    if stock is None or ours is None:
        return "" if stock is ours else ("stock has none" if stock is None else "stock has one, and this run none")
    if (stock.dtype, stock.shape) != (ours.dtype, ours.shape):
        shapes = [f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}" for tensor in (stock, ours)]
        return f"stock {shapes[0]}, here {shapes[1]}"
    if _bytes(stock) == _bytes(ours):
        return ""
    distance = (stock.to(torch.complex128) - ours.to(torch.complex128)).abs().nan_to_num(nan=float("inf")).reshape(-1)
    place = int(distance.argmax())
    position = torch.unravel_index(torch.tensor(place), stock.shape)
    index = f"[{', '.join(str(int(part)) for part in position)}]" if stock.dim() else ""
    stock_value, value = stock.reshape(-1)[place].item(), ours.reshape(-1)[place].item()
    return f"stock {stock_value!r}, here {value!r}" + (f" at {index}" if index else "")


def run(kind: str, program: str, arguments: list[str]) -> None:
    """Run a program in a fresh main module, as the interpreter does."""
    # keeps the replaced main module alive
    sys.modules["derivlint_start"] = sys.modules["__main__"]
    if kind == "module":
        sys.argv = [program, *arguments]
        sys.path[0] = os.getcwd()
        runpy.run_module(program, run_name="__main__", alter_sys=True)
        return
    module = sys.modules["__main__"] = ModuleType("__main__")
    path = "<string>"
    source: str | bytes = program
    if kind == "file":
        path = module.__file__ = program
        with open(program, "rb") as file:
            source = file.read()
    sys.argv = [program if kind == "file" else "-c", *arguments]
    sys.path[0] = os.path.dirname(os.path.realpath(program)) if kind == "file" else ""
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)


def main(text: str, arguments: list[str]) -> None:
    """Load the task's libraries and run its program; exit with the program's status."""
    # until the program runs, there is nothing to tell of an interrupt
    interrupt = signal.getsignal(signal.SIGINT)
    if interrupt is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    task = json.loads(receive(int(text)) if text.isdecimal() else text)
    with ExitStack() as stack:
        folder = task.get("record")
        if task["compare"]:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="derivlint-", ignore_cleanup_errors=True))
            run_on_stock(task, arguments, folder)
        began = time.monotonic()
        try:
            load(task["libraries"])
        except Exception as error:
            say(f"cannot load the compiled library: {error}")
            sys.exit(CANNOT_LOAD)
        if task["libraries"] and not task["quiet"]:
            say(f"loaded the replacement in {time.monotonic() - began:.1f} s")
        gradients = Gradients(folder, compares=task["compare"]) if folder else None
        if gradients is not None:
            gradients.install()
            if task["compare"]:
                stack.callback(gradients.report)
        signal.signal(signal.SIGINT, interrupt)
        if not task["kind"]:
            sys.argv, sys.path[0] = [""], ""
            return
        try:
            run(task["kind"], task["program"], arguments)
        except Exception as error:
            # without the frames outside of the program
            trace = error.__traceback__
            ours = (__file__, runpy.__file__, "<frozen runpy>")
            while trace is not None and trace.tb_frame.f_code.co_filename in ours:
                trace = trace.tb_next
            sys.excepthook(type(error), error.with_traceback(trace), trace)
            sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
    # an interactive shell starts with an empty namespace
    for _name in [name for name in globals() if not name.startswith("__")]:
        del globals()[_name]
    del _name
