"""The generated blocks of handwritten pages: tables, and commands with their output.

A block is between ``<!-- generated: WHAT -->`` and ``<!-- end of generated -->``. WHAT is ``contents``, the name of a
table, or a command line of derivlint. The command runs at the top of the repository; after ``in FOLDER:``, in a folder.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from derivlint.project.errors import InputError
from tools.tables import commands, findings_keys, formats, options_of_rules, public_names, settings

BEGIN = "<!-- generated: "
END = "<!-- end of generated -->"
#: The tables by name.
TABLES: dict[str, Callable[[], str]] = {
    "commands": commands,
    "findings": findings_keys,
    "formats": formats,
    "public-names": public_names,
    "rule-options": options_of_rules,
    "settings": settings,
}
#: The length in characters to which output lines are truncated.
MAX_LINE = 180
#: The path shown in place of the working folder.
SHOWN_FOLDER = "/path/to/repository"
_PLACE = re.compile(r"in ([^:]+): (.*)")
#: Environment variables that affect output; unset for commands.
_OUTPUT_VARIABLES = (
    "CI",
    "CI_PROJECT_DIR",
    "DERIVLINT_DEBUG",
    "DERIVLINT_OUTPUT_FORMAT",
    "FORCE_COLOR",
    "GITHUB_WORKSPACE",
)


def fill(text: str, path: Path, root: Path) -> str:
    """Return a page with its blocks generated again.

    Args:
        text: the page.
        path: the file of the page, for messages.
        root: the repository.

    Raises:
        InputError: a block has no end or no such table, or its command fails.
    """
    lines = iter(text.splitlines(keepends=True))
    result = []
    for line in lines:
        result.append(line)
        if not line.startswith(BEGIN):
            continue
        title = line.removeprefix(BEGIN).strip().removesuffix("-->").strip()
        for inner in lines:
            if inner.strip() == END:
                break
        else:
            raise InputError(f'"{path}": the block "{title}" has no end')
        result += ["\n", block(title, path, root), "\n", f"{END}\n"]
    return "".join(result)


def block(title: str, path: Path, root: Path) -> str:
    """Generate one block.

    Raises:
        InputError: there is no such table, or the command fails.
    """
    if title == "contents":
        return contents(root / path, root)
    table = TABLES.get(title)
    if table is not None:
        return table()
    place, command = match.groups() if (match := _PLACE.match(title)) is not None else (".", title)
    arguments = shlex.split(command)
    if arguments[:1] != ["derivlint"]:
        raise InputError(f'"{path}": no table is called "{title}"')
    return f"```console\n$ {command}\n{output(arguments[1:], path, root / place)}```\n"


def pages(root: Path) -> list[Path]:
    """Return the handwritten pages below ``docs``, the guides first."""
    folder = root / "docs"
    return [*sorted((folder / "guides").glob("*.md")), *sorted(folder.glob("*.md"))]


def contents(path: Path, root: Path) -> str:
    """Return a list of links from a page to all others, each with its title and first paragraph."""
    lines = []
    for page in (*pages(root), root / "docs" / "rules" / "README.md"):
        if page == path:
            continue
        title, _, rest = page.read_text(encoding="utf-8").partition("\n\n")
        about = " ".join(rest.partition("\n\n")[0].split())
        about = "" if about.startswith(("|", "#")) else f": {about}"
        lines.append(f"- [{title.removeprefix('# ')}]({page.relative_to(path.parent).as_posix()}){about}\n")
    return "".join(lines)


def output(arguments: list[str], path: Path, folder: Path, limit: int = MAX_LINE) -> str:
    """Run derivlint in a child process and return its output.

    Args:
        arguments: the arguments of the command.
        path: the page, for messages.
        folder: the working folder.
        limit: the length to which lines are truncated.

    Raises:
        InputError: the command fails.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _OUTPUT_VARIABLES}
    process = subprocess.run(
        [sys.executable, "-m", "derivlint", *arguments],
        cwd=folder,
        env={**environment, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=False,
    )
    if process.returncode not in (0, 1):
        last_line = process.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise InputError(f'"{path}": "derivlint {shlex.join(arguments)}" fails: {last_line}')
    text = process.stdout.decode("utf-8").replace(str(folder.resolve()), SHOWN_FOLDER)
    return "".join(f"{_cut(line, limit)}\n" for line in text.split("\n")[:-1])


def _cut(line: str, limit: int) -> str:
    line = line.rstrip()
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
