"""Printing lines with styles: by rich on a terminal, plainly everywhere else."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable

from derivlint.formats.text import Line, plain


def wants_color(choice: str) -> bool:
    """Whether to colour standard output: what the option says, else ``NO_COLOR``, ``FORCE_COLOR``, else a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def terminal_width() -> int:
    """The columns of the terminal; 120 where there is none."""
    return shutil.get_terminal_size((120, 24)).columns if sys.stdout.isatty() else 120


def write_lines(lines: Iterable[Line], color: bool) -> None:
    """Print lines to standard output."""
    if not color:
        sys.stdout.write("".join(plain(line) + "\n" for line in lines))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(force_terminal=True, highlight=False, soft_wrap=True, no_color=False)
    for line in lines:
        text = Text()
        for piece in line:
            text.append(piece.text, style=piece.style)
        console.print(text)
