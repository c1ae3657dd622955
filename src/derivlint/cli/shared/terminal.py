"""Standard output and standard error, which no other module writes to; and exit statuses.

Control characters in text are escaped line by line (``derivlint.source.visible``), and in JSON by its own escapes; rich
renders styles. Only the contents of files are written unchanged.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import redirect_stdout, suppress
from typing import BinaryIO, TextIO, cast

import click
from click.exceptions import NoArgsIsHelpError

from derivlint.formats.text import Line, harmless, plain
from derivlint.project.errors import InputError
from derivlint.source import visible, visible_json, visible_line, visible_page

#: Seconds between progress lines if standard error is not a terminal.
PROGRESS_PERIOD = 3.0
#: Returns to the start of the line and clears it.
_ERASE = "\r\x1b[K"
#: Clears a terminal and its scrollback, and goes to the first line.
_CLEAR = "\x1b[H\x1b[2J\x1b[3J"


def warn(message: str) -> None:
    """Print a message about the run to standard error, as one line; standard output is for results."""
    _err(visible_line(f"derivlint: {message}") + "\n")


def report_usage_error(error: click.ClickException) -> None:
    """Report a usage error in click's form, on one line."""
    target = io.StringIO()
    message = error.format_message()
    if not isinstance(error, (click.MissingParameter, NoArgsIsHelpError)):
        # those have several lines and no text of the user; click would drop some control codes
        error.format_message = lambda: visible(message)  # type: ignore[method-assign]
    error.show(target)
    text = target.getvalue()
    _err(visible_page(text))


def print_traceback(error: BaseException) -> None:
    """Print the traceback of an error to standard error."""
    import traceback

    _err(visible_page("".join(traceback.format_exception(error))))


def _err(text: str) -> None:
    # errors of standard error cannot be reported
    with suppress(OSError):
        click.echo(text, err=True, nl=False)


def wants_color(choice: str) -> bool:
    """Whether to color standard output: by the option, else ``NO_COLOR``, ``FORCE_COLOR``, else if it is a terminal."""
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


def terminal_width() -> int | None:
    """Return the columns of the terminal, or None without one."""
    if not is_terminal():
        return None
    # shutil imports all compression modules
    import shutil

    return shutil.get_terminal_size((120, 24)).columns


def wants_links() -> bool:
    """Whether to write hyperlinks: on a terminal, unless its output is stored."""
    return is_terminal() and not automated() and os.environ.get("TERM") != "dumb"


def automated() -> bool:
    """Whether the run is unattended: pre-commit runs hooks on a terminal of its own, and stores the output."""
    return "CI" in os.environ or "PRE_COMMIT" in os.environ


def write_lines(lines: Iterable[Line], color: bool = False) -> None:
    """Print lines to standard output."""
    write_rendered(text_of(lines, color, links=color and wants_links()))


def text_of(lines: Iterable[Line], color: bool, links: bool = False) -> str:
    """Render lines as text, with styles and links if enabled."""
    if not color:
        return "".join(plain(line) + "\n" for line in lines)
    from rich.console import Console
    from rich.text import Text

    # rich only renders: its handling of closed pipes, and of NO_COLOR with "--color always", differs from ours
    target = io.StringIO()
    console = Console(
        file=target, force_terminal=True, color_system="standard", highlight=False, soft_wrap=True, no_color=False
    )
    for line in map(harmless, lines):
        text = Text()
        for piece in line:
            # rich writes OSC 8 links, which other terminals ignore
            style = f"{piece.style} link {piece.link}".strip() if links and piece.link else piece.style
            text.append(piece.text, style=style)
        console.print(text)
    return target.getvalue()


def write(text: str, utf8: bool = False) -> None:
    """Write lines of text; control characters in them are escaped.

    Pass names of the user through ``visible`` first, so that line ends in them are escaped.

    Raises:
        InputError: standard output cannot be written to.
    """
    write_rendered(visible_page(text), utf8)


def write_names(names: Iterable[str]) -> None:
    """Write names of the user, one per line.

    Raises:
        InputError: standard output cannot be written to.
    """
    write_rendered("".join(f"{visible_line(name)}\n" for name in names))


def write_json(text: str) -> None:
    """Write JSON as UTF-8, whatever the locale is.

    Raises:
        InputError: standard output cannot be written to.
    """
    write_rendered(visible_json(text), utf8=True)


def write_exactly(text: str) -> None:
    """Write the contents of a file or a patch, with its own line ends; on a terminal, control characters are escaped.

    Raises:
        InputError: standard output cannot be written to.
    """
    if is_terminal():
        write(text, utf8=True)
        return
    if text and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(newline="")
    write_rendered(text, utf8=True)


def results_to_stderr() -> None:
    """Redirect further results to standard error: standard output is taken by a fixed file or by a program."""
    click.get_current_context().with_resource(redirect_stdout(sys.stderr))


def take_stdout() -> BinaryIO:
    """Return standard output for a protocol, and redirect all other output to standard error.

    Raises:
        InputError: standard output is closed.
    """
    stream = sys.stdout
    if not isinstance(stream, io.TextIOWrapper):
        raise InputError("cannot write the output: standard output is closed")
    sys.stdout = sys.stderr
    # a discarded text stream would close its byte stream
    return cast("BinaryIO", stream.detach())


def write_rendered(text: str, utf8: bool = False) -> None:
    """Write the output of a format, which is escaped already and may have styles.

    Raises:
        InputError: standard output cannot be written to.
    """
    stream = sys.stdout
    if stream is None:
        return
    if isinstance(stream, io.TextIOWrapper):
        # in JSON, "backslashreplace" writes a lone surrogate as its JSON escape
        stream.reconfigure(encoding="utf-8" if utf8 else None, errors="backslashreplace")
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        # a closed pipe is not an error
        _redirect_to_null(stream)
    except OSError as error:
        _redirect_to_null(stream)
        raise InputError(f"cannot write the output: {error.strerror or error}") from error


class WatchedStream(io.TextIOWrapper):
    """A standard stream that records write errors.

    Attributes:
        problem: the last error, or None.
    """

    problem: OSError | None = None

    def write(self, text: str, /) -> int:
        """Write a text."""
        try:
            return super().write(text)
        except OSError as error:
            self.problem = error
            raise

    def flush(self) -> None:
        """Flush the buffer."""
        try:
            super().flush()
        except OSError as error:
            self.problem = error
            raise


class ClosedStream(io.TextIOBase):
    """A standard output that was closed before the program started: writing to it is an error.

    Attributes:
        problem: the error, or None before anything is written.
    """

    problem: OSError | None = None

    def write(self, text: str, /) -> int:
        """Record the error."""
        if text:
            self.problem = OSError(errno.EBADF, "standard output is closed")
            raise self.problem
        return 0


def watch_streams() -> None:
    """Make standard output and standard error record write errors.

    If standard error is closed, messages are discarded without an error.
    """
    # the interpreter has no stream for a closed file descriptor
    sys.stdout = _watched(sys.stdout or cast("TextIO", ClosedStream()))
    if sys.stderr is not None:
        sys.stderr = _watched(sys.stderr)


def _watched(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    return WatchedStream(
        stream.buffer,
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def failed_stream() -> OSError | None:
    """Return the error of writing to standard output or standard error, or None.

    After an error, their buffers are discarded.
    """
    failure: OSError | None = None
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        with suppress(OSError):
            stream.flush()
        problem = getattr(stream, "problem", None)
        if problem is not None:
            failure = failure or problem
            _redirect_to_null(stream)
    return failure


def _redirect_to_null(stream: TextIO) -> None:
    """Redirect a stream to the null device, because the interpreter flushes it again on exit."""
    with suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def show_progress(task: str) -> None:
    """Show a step of the run on a terminal, in place of the previous one; an empty text clears the line."""
    if _shows_progress():
        _err(f"{_ERASE}{visible(task)}")


def _shows_progress() -> bool:
    return not automated() and sys.stderr is not None and sys.stderr.isatty()


class Progress:
    """Progress of a long command: a line that is updated on a terminal, else a line every few seconds.

    Args:
        is_quiet: whether to show nothing.
    """

    def __init__(self, *, is_quiet: bool = False) -> None:
        self._is_quiet = is_quiet
        self._is_shown_at_once = _shows_progress()
        self._what = "starting"
        self._began = time.monotonic()
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    def __call__(self, task: str) -> None:
        """Show a step of the run."""
        self._what = task
        if not self._is_quiet:
            show_progress(task)

    def __enter__(self) -> Progress:
        if not self._is_quiet and not self._is_shown_at_once:
            self._thread = threading.Thread(target=self._warn, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
        self("")

    def _warn(self) -> None:
        while not self._is_over.wait(PROGRESS_PERIOD):
            warn(f"{self._what} ({time.monotonic() - self._began:.0f} s)")


def clear_terminal() -> None:
    """Clear the screen, if standard output is a terminal."""
    if is_terminal():
        write_rendered(_CLEAR)


# ---- exit statuses


CLEAN = 0
FINDINGS = 1
USAGE = 2
INTERNAL = 3
#: Something requested could not be checked.
UNCHECKED = 4
INTERRUPTED = 130

DEBUG_VARIABLE = "DERIVLINT_DEBUG"
REPORT_HINT = f"this is a bug of derivlint; set {DEBUG_VARIABLE}=1 for the traceback and please report it"


def debugging() -> bool:
    """Whether tracebacks are requested."""
    return bool(os.environ.get(DEBUG_VARIABLE))


def internal_error(error: Exception) -> str:
    """Return the message of an unexpected exception."""
    return f"internal error: {type(error).__name__}: {error}"
