"""Running a command again whenever a file that it read changes, by looking at the files' times."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from derivlint.cli.shared.exits import warn
from derivlint.cli.shared.terminal import clear_terminal
from derivlint.lint.wording import counted
from derivlint.project.errors import InputError
from derivlint.project.files import STDIN
from derivlint.project.operators import operators_for
from derivlint.project.settings import OWN_FILE, PYPROJECT, Settings

#: Seconds between two looks.
INTERVAL = 0.25
#: Seconds without a change before a run: editors write a file in several steps, git many files.
QUIET = 0.1

_KEY = "derivlint.watch"
Stamp = tuple[int, int, int] | None


def is_watched() -> bool:
    """Whether the command runs again and again."""
    return _KEY in click.get_current_context().meta


def remember(files: Sequence[str], folders: Mapping[str, Path], settings: Mapping[str, Settings]) -> None:
    """Keep which files the command reads.

    Args:
        files: the derivatives files.
        folders: where each stands.
        settings: those of each.

    Raises:
        InputError: the requested operators do not exist.
    """
    if not is_watched():
        return
    read: dict[Path, None] = {}
    for path in files:
        if path != STDIN:
            read[Path(path)] = None
        operators = operators_for(folders[path], settings[path])
        read.update(dict.fromkeys(operators.files))
        more = (settings[path].origin, *configurations(folders[path]))
        read.update({place: None for place in more if place is not None})
    click.get_current_context().meta[_KEY] = tuple(read)


def watch_paths(paths: Iterable[str]) -> None:
    """Have the command run again when one of these files changes, where it is watched."""
    if is_watched():
        click.get_current_context().meta[_KEY] = tuple(map(Path, paths))


def configurations(folder: Path) -> list[Path]:
    """Every place where a configuration for the files of a folder may be, or may come to be."""
    return [parent / name for parent in (folder, *folder.parents) for name in (OWN_FILE, PYPROJECT)]


def run_and_watch(context: click.Context, run: Callable[[], object]) -> NoReturn:
    """Run a command again and again, until the user interrupts it.

    Args:
        context: the context of the command.
        run: runs it once.

    Raises:
        InputError: standard input is to be checked, which cannot be read again.
        KeyboardInterrupt: the user interrupts it.
    """
    paths: tuple[str, ...] = context.params.get("paths", ())
    if STDIN in paths:
        raise InputError("--watch cannot be used with standard input")
    context.meta[_KEY] = tuple(configurations(Path.cwd()))
    while True:
        since = time.time_ns()
        _run_once(run)
        # the command line switches collection off, since other runs end before it pays
        gc.collect()
        watched: tuple[Path, ...] = context.meta[_KEY]
        # a change after the message must not be missed
        before = stamps(watched)
        warn(f"watching {counted(sum(path.is_file() for path in watched), 'file')}; Ctrl-C ends")
        wait_for_change(watched, before, since)
        clear_terminal()


def _run_once(run: Callable[[], object]) -> None:
    try:
        run()
    except InputError as error:
        for message in error.messages:
            warn(message)
    except click.exceptions.Exit:
        # findings end no watch
        return


def stamps(paths: Iterable[Path]) -> list[Stamp]:
    """The stamps of files, which differ if the files have changed."""
    return [_stamp(path) for path in paths]


def _stamp(path: Path) -> Stamp:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def wait_for_change(
    paths: Sequence[Path], before: list[Stamp], since: int, sleep: Callable[[float], Any] = time.sleep
) -> None:
    """Return when a file has changed and changes no more.

    Args:
        paths: the files; one that is not there may come.
        before: their stamps before any change that counts.
        since: a time in nanoseconds; a file that changed after it, while the command ran, has changed already.
        sleep: waits.
    """
    # a time in the future is not a change: the file has it in every round
    now_ns = time.time_ns()
    if not any(stamp is not None and 0 < since < stamp[0] <= now_ns for stamp in before):
        while stamps(paths) == before:
            sleep(INTERVAL)
    last = None
    while (now := stamps(paths)) != last:
        last = now
        sleep(QUIET)
