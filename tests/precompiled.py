"""A compiler wrapper with precompiled PyTorch headers, whose parsing dominates most compilations.

As a script, it wraps the real compiler. The result is the same, except that missing includes go unnoticed; campaigns
compile without it.
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
#: Options that must match those of the headers; they do not affect units that are only parsed.
FLAGS = ("-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden")


def compiler(cache: Path) -> Path:
    """Return the path of the wrapper; the folder caches headers between runs."""
    from derivlint.compiler.gxx import find_toolchain
    from derivlint.compiler.precompiled import precompiled_header
    from derivlint.source import replace_file

    toolchain = find_toolchain()
    lines = "".join(f"#include <{name}>\n" for name in HEADERS)
    # one worker compiles it, the others wait
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

    Each unit instantiates the templates of precompiled headers, which takes five seconds; ``c10`` has few.
    """
    if not argument.endswith(".cpp"):
        return False
    includes = re.findall(r"^#include (.*)", Path(argument).read_text(encoding="utf-8"), re.MULTILINE)
    return any(name.startswith(('"', "<ATen/", "<torch/")) for name in includes)


def main() -> None:
    """Run the compiler, with precompiled headers if the unit has neither optimization nor its own macros."""
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
