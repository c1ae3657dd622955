"""Recording inputs in a process of its own; the arguments are a type and a file, operators come on standard input."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from derivlint.verify.inputs.samples import record
from derivlint.verify.inputs.stored import write_inputs


def main(lifeline: int) -> None:
    """Record, say how far it is on standard output, and write the file as a whole or not at all.

    Args:
        lifeline: the pipe whose end ends this process, which starts no other.
    """
    dtype, target = sys.argv[1], Path(sys.argv[2])
    out = os.dup(1)
    os.dup2(2, 1)
    wanted = {name.strip().partition(".")[0] for name in sys.stdin}

    def tell(number: int, count: int) -> None:
        os.write(out, f"{number} {count}\n".encode())

    found = record(dtype, wanted, tell)
    if not found:
        sys.exit("none of PyTorch's samples runs")
    write_inputs(target, found)
    os.write(out, b"done\n")
