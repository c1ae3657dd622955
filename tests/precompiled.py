"""A compiler that finds PyTorch's headers precompiled: reading them takes most of the time of most units.

As a script it stands in front of the real compiler. What it compiles is the same, but for headers that a unit forgets;
campaigns compile without it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
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
NAME = "precompiled.h"


def compiler(cache: Path) -> Path:
    """Return the path of the compiler, whose headers a folder keeps from run to run."""
    from derivlint.compiler.gxx import compile_command, find_toolchain, run

    toolchain = find_toolchain()
    lines = "".join(f"#include <{name}>\n" for name in HEADERS)
    library = (toolchain.includes[0].parent / "lib" / "libtorch_cpu.so").stat()
    made_of = (lines, toolchain, library.st_size, library.st_mtime_ns)
    folder = cache / hashlib.sha256(repr(made_of).encode()).hexdigest()[:20]
    header, front = folder / NAME, folder / "g++"
    # one of the workers makes it, and the others wait
    with open(cache / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not front.exists():
            for old in cache.iterdir():
                if old.is_dir():
                    shutil.rmtree(old)
            folder.mkdir()
            header.write_text(lines, encoding="utf-8")
            command = compile_command(toolchain, *FLAGS, "-O0", "-x", "c++-header", NAME, "-o", f"{NAME}.gch")
            done = run(command, folder)
            assert done.status == 0, done.stderr
            front.write_text(
                f'#!/bin/sh\nexec {sys.executable} {Path(__file__)} {toolchain.compiler.path} {header} "$@"\n',
                encoding="utf-8",
            )
            front.chmod(0o755)
    return front


def begin(cache: Path) -> subprocess.Popen[bytes]:
    """Compile the headers in the background."""
    program = f"import pathlib, tests.precompiled; tests.precompiled.compiler(pathlib.Path({str(cache)!r}))"
    return subprocess.Popen([sys.executable, "-c", program], cwd=Path(__file__).parents[1])


def main() -> None:
    """Run the compiler: with the headers first, where it compiles a unit without optimization and macros of its own."""
    path, header, *arguments = sys.argv[1:]
    own = any(each.startswith("-DAT_PER_OPERATOR_HEADERS") for each in arguments)
    optimizes = any(each in ("-O1", "-O2", "-O3") for each in arguments)
    if any(each.endswith(".cpp") for each in arguments) and not own and not optimizes:
        arguments = [*FLAGS, "-include", header, *arguments]
    os.execv(path, [path, *arguments])


if __name__ == "__main__":
    main()
