"""What the benchmarks share: processes as the operating system accounts them, torchgen's files, and larger ones."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True)
class Run:
    """One finished process: seconds of processor time and of wall time, and peak memory in MiB."""

    cpu: float
    wall: float
    memory: float


@dataclass(frozen=True)
class Files:
    """The three files that both programs read."""

    derivatives: Path
    native_functions: Path
    tags: Path


def run_process(command: list[str], expected: tuple[int, ...]) -> Run:
    """Run a command to its end and measure it as the operating system accounts it."""
    # both programs may keep their compiled modules, as they do when they are installed
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in expected:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {errors.decode()}")
    return Run(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024)


def installed_files() -> Files:
    spec = find_spec("torchgen")
    if spec is None or spec.origin is None:
        raise SystemExit("torchgen is not installed; install the extra dev")
    root = Path(spec.origin).parent / "packaged"
    native = root / "ATen" / "native"
    return Files(root / "autograd" / "derivatives.yaml", native / "native_functions.yaml", native / "tags.yaml")


def describe(name: str, runs: list[Run]) -> str:
    def spread(values: list[float], unit: str) -> str:
        return f"{min(values):7.2f} {statistics.median(values):7.2f} {max(values):7.2f} {unit}"

    cpu, wall, memory = ([getattr(run, field) for run in runs] for field in ("cpu", "wall", "memory"))
    return f"{name:12} cpu {spread(cpu, 's')}   wall {spread(wall, 's')}   memory {spread(memory, 'MiB')}"


def ratios(ours: Sequence[Run], theirs: Sequence[Run]) -> str:
    """The ratios of runs that were made in turn, for each thing that is measured."""
    lines = []
    for field in ("cpu", "wall", "memory"):
        found = [getattr(a, field) / getattr(b, field) for a, b in zip(ours, theirs, strict=True)]
        lines.append(f"ratio of {field}: {min(found):.2f} {statistics.median(found):.2f} {max(found):.2f}")
    return "\n".join(lines)


def renamed(operator: str, copy: int) -> str:
    """The name of an operator's copy; the prefixes and suffixes that mean something stay where they are."""
    private = "_" if operator.startswith("_") else ""
    return f"{private}c{copy}_{operator.removeprefix(private)}"


def multiplied(files: Files, factor: int, folder: Path) -> Files:
    """Files that hold every operator and every entry so many times, under other names.

    Foreach functions are there once: some of them have their derivatives by exceptions for their names.
    """

    def is_item(line: str, key: str) -> bool:
        return line.startswith(f"- {key}: ") and not line.startswith(f"- {key}: __")

    def is_copied(line: str) -> bool:
        return not line.partition(": ")[2].strip().startswith("_foreach_")

    def copied(text: str, key: str, references: tuple[str, ...]) -> str:
        items: list[list[str]] = []
        for line in text.splitlines():
            if line.startswith("- "):
                items.append([])
            if items:
                items[-1].append(line)
        items = [item for item in items if is_item(item[0], key)]
        lines = [line for item in items if is_copied(item[0]) for line in item]
        out = [line for item in items for line in item]
        for copy in range(1, factor):
            for line in lines:
                head, colon, value = line.partition(": ")
                if line.startswith("- "):
                    value = renamed(value.strip(), copy)
                elif head.strip() in references:
                    value = ", ".join(renamed(name, copy) for name in value.split(", "))
                out.append(head + colon + value)
        return "\n".join(out) + "\n"

    derivatives = folder / f"derivatives-{factor}.yaml"
    natives = folder / f"native_functions-{factor}.yaml"
    derivatives.write_text(copied(files.derivatives.read_text(), "name", ()))
    natives.write_text(copied(files.native_functions.read_text(), "func", ("structured_delegate", "autogen")))
    return Files(derivatives, natives, files.tags)
