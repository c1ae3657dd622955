"""The compiler's errors in emitted text, and scripts that run in a process of their own."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

from derivlint.compiler.gxx import compile_command, find_toolchain, run
from derivlint.emit.places import without_marks
from tests import warm


def errors(files: dict[str, str], main: str, folder: Path, *flags: str) -> list[str]:
    """What the compiler rejects in a file, with the place that it gives.

    Args:
        files: texts by name, which come before the headers of the installed torch.
        main: the name of the one to compile.
        folder: where to write them.
        flags: more options.
    """
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(without_marks(text), encoding="utf-8")
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
    how, program = (warm.text, script) if isinstance(script, str) else (warm.script, script.__file__ or "")
    return json.loads(warm.run(how, program, *map(str, arguments)).splitlines()[-1])
