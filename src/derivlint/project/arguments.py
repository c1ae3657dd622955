"""What the arguments of a command stand for beside files: lists of files, and files of native functions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from derivlint.project.errors import InputError
from derivlint.project.operators import NATIVE_FUNCTIONS
from derivlint.project.settings import Settings
from derivlint.source import SourceError, read_bytes

#: Begins an argument that names a file with paths, one a line.
LIST_MARK = "@"
#: Where a PyTorch checkout keeps its derivatives file.
DERIVATIVES = Path("tools/autograd/derivatives.yaml")


def with_lists(given: Sequence[str]) -> Iterator[str]:
    """The arguments, with the lines of ``FILE`` instead of ``@FILE``; empty lines are left out.

    Raises:
        InputError: a list cannot be read.
    """
    for argument in given:
        if not argument.startswith(LIST_MARK) or argument == LIST_MARK:
            yield argument
            continue
        name = argument[len(LIST_MARK) :]
        try:
            data = read_bytes(name, name)
        except SourceError as error:
            raise InputError(str(error).replace("cannot read", "cannot read the list of paths", 1)) from error
        # names are bytes; what ends a line in Unicode may be part of one
        for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
            path = os.fsdecode(line.removesuffix(b"\r"))
            if path.strip():
                yield path


def is_native_functions(path: str) -> bool:
    """Whether a path names a file of native functions, which derivatives files are checked against."""
    return Path(path).name == NATIVE_FUNCTIONS.name and os.path.isfile(path)


def derivatives_of(native: str, settings: Settings) -> tuple[Path, ...]:
    """The derivatives files that belong to a file of native functions.

    Hooks and linters of repositories pass the files that changed; when operators change, what is to be checked again
    is the derivatives file.

    Args:
        native: the file of native functions.
        settings: those of the working folder.

    Raises:
        InputError: there is none.
    """
    place = Path(native).absolute()
    if place.parts[-len(NATIVE_FUNCTIONS.parts) :] == NATIVE_FUNCTIONS.parts:
        derivatives = place.parents[len(NATIVE_FUNCTIONS.parts) - 1] / DERIVATIVES
        if os.path.isfile(derivatives):
            return (derivatives,)
    configured = tuple(path for path in settings.paths if path.name != NATIVE_FUNCTIONS.name)
    if configured:
        return configured
    raise InputError(
        f'no derivatives file belongs to "{native}": no {DERIVATIVES.as_posix()} in its checkout, no "paths" configured'
    )
