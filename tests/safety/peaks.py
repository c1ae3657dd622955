"""Memory and time of a check of the largest files: ``python -m tests.safety.peaks --shapes entries,comments``.

Every shape of :mod:`tests.safety.shapes`, and PyTorch's own file, is repeated as often as is accepted, and checked by
the command. Exits with 1 where a check takes more memory or processor time than it may, or fails.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from derivlint.schema import installed_torch
from derivlint.source import SourceFile
from derivlint.source.file import MAX_SOURCE_BYTES
from derivlint.yaml_reader import read_yaml
from derivlint.yaml_reader.nodes import YamlProblemKind
from tests.safety.shapes import SHAPES, Shape

MEGABYTES = 600
#: Seconds of processor time after which a check is ended.
SECONDS = 120


def largest(shape: Shape) -> str:
    """Return nearly the largest text of a shape that is accepted."""
    low, high = 1, 2
    while _is_accepted(shape(high)):
        low, high = high, 2 * high
    while high - low > max(low // 32, 1):
        middle = (low + high) // 2
        low, high = (middle, high) if _is_accepted(shape(middle)) else (low, middle)
    return shape(low)


def _is_accepted(text: str) -> bool:
    if len(text) > MAX_SOURCE_BYTES:
        return False
    problems = read_yaml(SourceFile("derivatives.yaml", text)).problems
    return all(problem.kind is not YamlProblemKind.LIMIT for problem in problems)


def checked(path: Path, cache: Path) -> tuple[int, float, float]:
    """Check a file; return the exit status, the megabytes at its peak, and the seconds of processor time."""
    command = [sys.executable, "-m", "derivlint", "check", str(path), "--no-config", "--preview"]
    process = subprocess.Popen(
        [*command, "--min-confidence", "low"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "DERIVLINT_CACHE_DIR": str(cache)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS)),
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def main() -> int:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", default="", help="only those with one of these words, separated by commas")
    given = parser.parse_args()
    torch = installed_torch()
    assert torch is not None
    assert torch.derivatives is not None
    whole = torch.derivatives.read_text(encoding="utf-8")
    shapes = {**SHAPES, "PyTorch's file": lambda count: whole * count}
    words = given.shapes.split(",")
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "derivatives.yaml")
        for name, shape in shapes.items():
            if any(word in name for word in words):
                path.write_text(largest(shape), encoding="utf-8")
                status, megabytes, seconds = checked(path, Path(folder, "cache"))
                is_bad = status not in (0, 1) or megabytes > MEGABYTES
                failures += is_bad
                print(
                    f"{megabytes:6.0f} MB {seconds:6.1f} s, exit {status:3}, {'BAD' if is_bad else 'ok'}: {name}",
                    flush=True,
                )
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
