"""Asking the compiler about emitted text."""

from __future__ import annotations

from pathlib import Path

from derivlint.compiler.gxx import compile_command, find_toolchain, run


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
