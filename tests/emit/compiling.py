"""The compiler's errors in emitted text, and scripts that run in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import derivlint
from derivlint.compiler.gxx import compile_command, find_toolchain, run

#: The folders of the package and of the tests.
ROOTS = (Path(derivlint.__file__).parents[1], Path(__file__).parents[2])


def errors(files: dict[str, str], main: str, folder: Path, *flags: str) -> list[str]:
    """What the compiler refuses in a file, with the place that it gives.

    Args:
        files: texts by name, which come before the headers of the installed torch.
        main: the name of the one to compile.
        folder: where to write them.
        flags: more options.
    """
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    command = compile_command(find_toolchain(), "-O0", "-fsyntax-only", *flags, main)
    command.insert(1, f"-I{folder}")
    done = run(command, folder)
    found = [line for line in done.stderr.splitlines() if "error:" in line]
    assert bool(found) == bool(done.status)
    return found


def run_script(script: ModuleType | str, *arguments: Path) -> Any:
    """Return the JSON that a script prints as its last line; it may load an extension, which no process forgets.

    Args:
        script: the module, or its text.
        arguments: its arguments.
    """
    path = os.pathsep.join([*map(str, ROOTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = ["-c", script] if isinstance(script, str) else [script.__file__ or ""]
    done = subprocess.run(
        [sys.executable, *command, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])
