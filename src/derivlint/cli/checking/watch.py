"""Watch mode: run a command again when a file that it read changes, by polling modification times."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from derivlint.cli.shared.terminal import clear_terminal, warn
from derivlint.lint.wording import counted
from derivlint.project.errors import InputError
from derivlint.project.files import STDIN
from derivlint.project.operators import operators_for
from derivlint.project.settings import OWN_FILE, PYPROJECT, Settings

#: The number of seconds between polls.
INTERVAL = 0.25
#: The number of seconds without a change before a run: editors write files in several steps, and git writes many.
QUIET = 0.1

_KEY = "derivlint.watch"
Stamp = tuple[int, int, int] | None


def is_watched() -> bool:
    """Whether the command runs in watch mode."""
    return _KEY in click.get_current_context().meta


def remember(files: Sequence[str], folders: Mapping[str, Path], settings: Mapping[str, Settings]) -> None:
    """Record the files that the command reads.

    Args:
        files: the derivatives files.
        folders: their folders.
        settings: their settings.

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
    """Watch these files as well, in watch mode."""
    if is_watched():
        meta = click.get_current_context().meta
        meta[_KEY] = tuple(dict.fromkeys((*meta[_KEY], *map(Path, paths))))


def configurations(folder: Path) -> list[Path]:
    """Return the paths of configurations for the files of a folder, existing or not."""
    return [parent / name for parent in (folder, *folder.parents) for name in (OWN_FILE, PYPROJECT)]


def run_and_watch(context: click.Context, run: Callable[[], object]) -> NoReturn:
    """Run a command after each change, until it is interrupted.

    Args:
        context: the context of the command.
        run: runs the command once.

    Raises:
        InputError: the command reads standard input, which cannot be read again.
        KeyboardInterrupt: always.
    """
    paths: tuple[str, ...] = context.params.get("paths", ())
    if STDIN in paths:
        raise InputError("--watch cannot be used with standard input")
    context.meta[_KEY] = tuple(configurations(Path.cwd()))
    while True:
        since = time.time_ns()
        _run_once(run)
        # the command line disables garbage collection, which does not pay in a single run
        gc.collect()
        watched: tuple[Path, ...] = context.meta[_KEY]
        # a change after the message must not be missed
        before = stamps(watched)
        warn(f"watching {counted(sum(path.is_file() for path in watched), 'file')}; press Ctrl-C to stop")
        wait_for_change(watched, before, since)
        clear_terminal()


def _run_once(run: Callable[[], object]) -> None:
    try:
        run()
    except InputError as error:
        for message in error.messages:
            warn(message)
    except click.exceptions.Exit:
        # findings do not end the watch
        return


def stamps(paths: Iterable[Path]) -> list[Stamp]:
    """Return the stamps of files, which differ if the files have changed."""
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
    """Wait until a file has changed and no more changes follow.

    Args:
        paths: the files, existing or not.
        before: their stamps before the run.
        since: a time in nanoseconds; changes after it, during the run, count as well.
        sleep: the function that waits.
    """
    # a modification time in the future is not a change, or each poll would report one
    now_ns = time.time_ns()
    if not any(stamp is not None and 0 < since < stamp[0] <= now_ns for stamp in before):
        while stamps(paths) == before:
            sleep(INTERVAL)
    last = None
    while (now := stamps(paths)) != last:
        last = now
        sleep(QUIET)
