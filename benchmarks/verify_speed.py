"""Whole-process time and memory of ``derivlint verify``: one changed entry, and the whole file.

One changed formula is compiled each time, with its inputs recorded before. It is compared with what a rebuild of
PyTorch does for each file at least: the compiler reads the header that declares what formulas call
(``FunctionsManual.h``). No precompiled header is used.

    python benchmarks/verify_speed.py [--runs 5] [--operator sinh] [--whole]

Needs the extra ``dev`` and a C++ compiler.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from measuring import Run, describe, installed_files, ratios, run_process

from derivlint.compiler.gxx import compile_command, find_toolchain

HEADER = "torch/csrc/autograd/FunctionsManual.h"
EFFORTS = {"quick": ["--quick"], "ordinary": [], "thorough": ["--thorough"]}


def verify(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "derivlint", "verify", "--no-config", "--no-resume", *arguments]


def entry_of(operator: str, text: str) -> str:
    """The text of an entry."""
    start = text.index(f"- name: {operator}(")
    return text[start : text.index("\n- name: ", start)] + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--operator", default="sinh")
    parser.add_argument("--whole", action="store_true", help="the whole file, too: some minutes")
    arguments = parser.parse_args()
    derivatives = installed_files().derivatives
    toolchain = find_toolchain()
    entry = entry_of(arguments.operator, derivatives.read_text(encoding="utf-8"))
    # another number each time, so that no run finds the library of an earlier benchmark
    number = time.time_ns() % 10**9
    ours: list[Run] = []
    header: list[Run] = []
    with tempfile.TemporaryDirectory() as folder:
        path, source = Path(folder, "derivatives.yaml"), Path(folder, "header.cpp")
        source.write_text(f"#include <{HEADER}>\n", encoding="utf-8")
        reading = compile_command(toolchain, "-fsyntax-only", str(source))
        for index in range(arguments.runs + 1):
            changed = entry.replace("self: ", f"self: (0 * 1.{number}{index} + 1) * ", 1)
            path.write_text(changed, encoding="utf-8")
            own = run_process(verify(str(path), "--ops", arguments.operator), (0,))
            other = run_process(reading, (0,))
            if index:  # the first records inputs and compiles what is the same for all formulas
                ours.append(own)
                header.append(other)
    print(describe("one entry", ours))
    print(describe("the header", header))
    print(ratios(ours, header))
    for name, options in EFFORTS.items() if arguments.whole else ():
        command = verify(str(derivatives), "--all", *options)
        run_process(command, (0,))
        again = run_process(command, (0,))
        print(f"{name:12} wall {again.wall:7.1f} s, {again.wall / statistics.median(each.wall for each in header):.1f}")


if __name__ == "__main__":
    main()
