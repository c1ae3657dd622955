"""A compiler that finds PyTorch's headers precompiled: reading them takes most of the time of most units.

As a script it stands in front of the real compiler. What it compiles is the same, but for headers that a unit forgets;
campaigns compile without it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

HEADERS = (
    "ATen/ATen.h", "ATen/FunctionalStorageImpl.h", "ATen/NestedTensorImpl.h", "ATen/Operators.h",
    "ATen/RedispatchFunctions.h", "ATen/SparseCsrTensorUtils.h", "ATen/native/nested/NestedTensorUtils.h",
    "torch/csrc/autograd/FunctionsManual.h", "torch/csrc/autograd/VariableTypeUtils.h",
    "torch/csrc/dynamo/compiled_autograd.h", "torch/library.h",
)  # fmt: skip
#: Options that have to be those of the headers; for a unit that is only read they change nothing.
FLAGS = ("-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden")


def compiler(cache: Path) -> Path:
    """Return the path of the compiler, whose headers a folder keeps from run to run."""
    from derivlint.compiler.gxx import find_toolchain
    from derivlint.compiler.precompiled import precompiled_header
    from derivlint.source import replace_file

    toolchain = find_toolchain()
    lines = "".join(f"#include <{name}>\n" for name in HEADERS)
    # one of the workers makes it, and the others wait
    options = precompiled_header(cache / "headers", toolchain, lines, (*FLAGS, "-O0"))
    assert options
    front = cache / "g++"
    words = (sys.executable, str(Path(__file__)), str(toolchain.compiler.path), *options)
    replace_file(front, f'#!/bin/sh\nexec {shlex.join(words)} -- "$@"\n'.encode(), mode=0o755)
    return front


def begin(cache: Path) -> subprocess.Popen[bytes]:
    """Compile the headers in the background."""
    program = f"import pathlib, tests.precompiled; tests.precompiled.compiler(pathlib.Path({str(cache)!r}))"
    return subprocess.Popen([sys.executable, "-c", program], cwd=Path(__file__).parents[1])


def needs_headers(argument: str) -> bool:
    """Whether an argument is a unit that includes headers of operators.

    Templates that precompiled headers use are instantiated in every unit, for five seconds; those of ``c10`` have few.
    """
    if not argument.endswith(".cpp"):
        return False
    includes = re.findall(r"^#include (.*)", Path(argument).read_text(encoding="utf-8"), re.MULTILINE)
    return any(name.startswith(('"', "<ATen/", "<torch/")) for name in includes)


def main() -> None:
    """Run the compiler: with the headers first, where it compiles a unit without optimization and macros of its own."""
    place = sys.argv.index("--")
    path, *options = sys.argv[1:place]
    arguments = sys.argv[place + 1 :]
    own = any(argument.startswith("-DAT_PER_OPERATOR_HEADERS") for argument in arguments)
    optimizes = any(argument in ("-O1", "-O2", "-O3") for argument in arguments)
    if any(map(needs_headers, arguments)) and not own and not optimizes:
        arguments = [*FLAGS, *options, *arguments]
    os.execv(path, [path, *arguments])


if __name__ == "__main__":
    main()
