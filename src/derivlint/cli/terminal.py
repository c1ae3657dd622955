"""Writing to standard output: with styles by rich on a terminal, plainly everywhere else."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable

import click

from derivlint.formats.styles import Line, plain
from derivlint.project.errors import InputError


def wants_color(choice: str) -> bool:
    """Whether to colour standard output: what the option says, else ``NO_COLOR``, ``FORCE_COLOR``, else a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal() and os.environ.get("TERM") != "dumb"


def is_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def terminal_width() -> int:
    """The columns of the terminal; 120 where there is none."""
    if not is_terminal():
        return 120
    # shutil imports every kind of compression
    import shutil

    return shutil.get_terminal_size((120, 24)).columns


def wants_links() -> bool:
    """Whether pieces of text may link to pages: on a terminal, unless its text is kept for a report."""
    return is_terminal() and not automated() and os.environ.get("TERM") != "dumb"


def automated() -> bool:
    """Whether nobody watches: pre-commit runs hooks on a terminal of its own, whose text it keeps."""
    return "CI" in os.environ or "PRE_COMMIT" in os.environ


def write_lines(lines: Iterable[Line], color: bool = False) -> None:
    """Print lines to standard output."""
    write(text_of(lines, color, links=color and wants_links()))


def text_of(lines: Iterable[Line], color: bool, links: bool = False) -> str:
    """Lines as text, with the styles and links that are wanted."""
    return _styled(lines, links) if color else "".join(plain(line) + "\n" for line in lines)


def _styled(lines: Iterable[Line], links: bool) -> str:
    from rich.console import Console
    from rich.text import Text

    # rich only renders: what it would make of a closed pipe or of NO_COLOR beside "--color always" is not wanted here
    target = io.StringIO()
    console = Console(
        file=target, force_terminal=True, color_system="standard", highlight=False, soft_wrap=True, no_color=False
    )
    for line in lines:
        text = Text()
        for piece in line:
            # rich writes the link as OSC 8, which terminals that do not know it leave out
            style = f"{piece.style} link {piece.link}".strip() if links and piece.link else piece.style
            text.append(piece.text, style=style)
        console.print(text)
    return target.getvalue()


def write(text: str, utf8: bool = False) -> None:
    """Write to standard output and flush it; a reader that went away is no error.

    Args:
        text: what to write; characters that the encoding lacks are escaped.
        utf8: whether to write UTF-8 whatever the locale says, as JSON must be.

    Raises:
        InputError: it cannot be written, on a full disk for example.
    """
    stream = sys.stdout
    if stream is None:
        return
    if isinstance(stream, io.TextIOWrapper):
        # in JSON, "backslashreplace" makes of a lone surrogate its JSON escape
        stream.reconfigure(encoding="utf-8" if utf8 else None, errors="backslashreplace")
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _discard_the_rest()
    except OSError as error:
        _discard_the_rest()
        raise InputError(f"cannot write the output: {error.strerror or error}") from error


def _discard_the_rest() -> None:
    """Give standard output another end, since the interpreter flushes it once more when it exits."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def show_progress(what: str) -> None:
    """Say on a terminal what is being done, in a line that the next one replaces; empty text clears it."""
    if not automated() and sys.stderr is not None and sys.stderr.isatty():
        click.echo(f"\r\x1b[K{what}", err=True, nl=False)
