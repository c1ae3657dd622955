r"""Sessions: files and commands with all that they print and write, each in a text below ``ok`` or ``err``.

A line is known by how it begins. ``# `` is a comment and ``@ `` names a fixture. ``--- NAME`` is a file that is there
before the next command, its lines indented by four, or a folder, whose name ends with a slash. ``< `` is standard
input, and ``$ `` a command line, in which ``\n`` is a line break. ``===`` empties the folder.

``pytest --update`` makes what follows a command: ``| `` is standard output, ``! `` standard error, ``? `` the exit
status where it is not 0, ``+++ NAME`` a file that the command wrote.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.cli.conftest import Run

REMOVED = " (removed)"


def played(text: str, run: Run, here: Path) -> str:
    """Run the commands of a session; return it as it would be written."""
    stdin: list[str] = []
    lines: list[str] = []
    for line, body in _items(text):
        mark, _, rest = line.partition(" ")
        if mark in ("|", "!", "?", "+++"):
            continue
        lines += [line, *body]
        match mark:
            case "---":
                _put(here, rest, body)
            case "===":
                for path in here.iterdir():
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            case "<":
                stdin.append(rest)
            case "$":
                arguments = shlex.split(rest.replace("\\n", "\n"))
                lines += _outcome(arguments, "".join(f"{item}\n" for item in stdin) or None, run, here)
                stdin = []
    return "".join(f"{line}\n" for line in lines)


def _items(text: str) -> Iterator[tuple[str, list[str]]]:
    """The lines with a mark, each with those of the file that it names."""
    items: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line and not line.startswith("    "):
            items.append((line, []))
        else:
            items[-1][1].append(line)
    return iter(items)


def _put(here: Path, name: str, body: list[str]) -> None:
    path = here / name.removesuffix(REMOVED)
    if name.endswith(REMOVED):
        path.unlink()
    elif name.endswith("/"):
        path.mkdir(parents=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line[4:]}\n" for line in body), encoding="utf-8")


def _outcome(arguments: list[str], stdin: str | None, run: Run, here: Path) -> Iterator[str]:
    before = _files(here)
    outcome = run(*arguments, stdin=stdin)
    for mark, text in (("|", outcome.out), ("!", outcome.err)):
        assert not text or text.endswith("\n")
        text = re.sub(r"\b\d+\.\d\d s\b", "$SECONDS", text.replace(str(here), "$HERE"))
        yield from (f"{mark} {line}".rstrip() for line in text.splitlines())
    if outcome.status:
        yield f"? {outcome.status}"
    after = _files(here)
    yield from (f"+++ {name}{REMOVED}" for name in before.keys() - after.keys())
    for name, text in after.items():
        if before.get(name) != text:
            yield f"+++ {name}"
            yield from (f"    {line}".rstrip() for line in text.splitlines())


def _files(here: Path) -> dict[str, str]:
    paths = sorted(path for path in here.rglob("*") if path.is_file())
    return {path.relative_to(here).as_posix(): path.read_text(encoding="utf-8") for path in paths}
