"""Finding and reading the files of a run: derivatives files and the operators they are judged against."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from derivlint.cli.exits import InputError
from derivlint.cli.settings import Settings
from derivlint.lint.wording import quoted_list
from derivlint.source import SourceError, SourceFile

if TYPE_CHECKING:
    from derivlint.schema import NativeFunctions

STDIN = "-"
INSTALLED = "installed"
FILE_PATTERN = "derivatives*.yaml"
NATIVE_FUNCTIONS = Path("aten/src/ATen/native/native_functions.yaml")
TAGS = Path("aten/src/ATen/native/tags.yaml")
IN_CHECKOUT = Path("tools/autograd/derivatives.yaml")


@dataclass(frozen=True, slots=True)
class Operators:
    """Where the operators for a derivatives file come from.

    Attributes:
        native_functions: the files, empty for the bundled index.
        tags: the file of tags, if known.
        version: the version of the bundled index; None for the newest.
        reason: why these, for ``--show-settings``.
    """

    native_functions: tuple[Path, ...]
    tags: Path | None
    version: str | None
    reason: str

    def describe(self) -> str:
        """What was found and why, in one line."""
        if not self.native_functions:
            return f"{self.version or 'newest'} bundled operator index ({self.reason})"
        files = ", ".join(str(path) for path in self.native_functions)
        return f"{files} ({self.reason})"


def derivatives_files(given: Sequence[str], settings: Settings) -> list[str]:
    """The derivatives files to check, each once, in the order of the arguments.

    Raises:
        InputError: a pattern matches nothing, a folder holds none, or nothing is there to check.
    """
    paths: list[str] = []
    for argument in given:
        if argument == STDIN:
            paths.append(STDIN)
            continue
        path = Path(argument)
        if path.is_dir():
            paths.extend(_in_folder(path))
        elif glob.has_magic(argument) and not path.exists():
            matches = sorted(glob.glob(argument, recursive=True))
            if not matches:
                raise InputError(f'no file matches "{argument}"')
            for match in matches:
                paths.extend(_in_folder(Path(match)) if Path(match).is_dir() else [match])
        else:
            paths.append(argument)
    if not given:
        paths.extend(_default_files(settings))
    return list(dict.fromkeys(paths))


def _in_folder(folder: Path) -> list[str]:
    found = sorted(str(path) for path in folder.rglob(FILE_PATTERN) if path.is_file())
    if not found:
        raise InputError(f'no file called "{FILE_PATTERN}" in "{folder}"')
    return found


def _default_files(settings: Settings) -> Iterator[str]:
    if settings.paths:
        yield from map(str, settings.paths)
        return
    if settings.torch == INSTALLED:
        from derivlint.schema import installed_torch

        torch = installed_torch()
        if torch is None:
            raise InputError("no torch is installed in this Python")
        yield str(torch.derivatives)
        return
    here = Path.cwd()
    for folder in (here, *here.parents):
        for candidate in (*sorted(folder.glob(FILE_PATTERN)), folder / IN_CHECKOUT):
            if candidate.is_file():
                yield str(candidate)
                return
    raise InputError(f'nothing to check: no "{FILE_PATTERN}" here or above; name a file, or use --torch installed')


def operators_for(path: str, settings: Settings) -> Operators:
    """Where the operators for a file come from: options and configuration, the checkout around it, the bundled index.

    Raises:
        InputError: an installed torch is asked for and there is none.
    """
    if settings.native_functions:
        reason = "--native-functions" if settings.origin is None else f"--native-functions or {settings.origin}"
        return Operators(settings.native_functions, settings.tags, None, reason)
    if settings.torch == INSTALLED:
        from derivlint.schema import installed_torch

        torch = installed_torch()
        if torch is None:
            raise InputError("no torch is installed in this Python")
        return Operators((torch.native_functions,), torch.tags, None, f"installed torch {torch.version}")
    if settings.torch is not None:
        return Operators((), None, settings.torch, "--torch")
    start = Path.cwd() if path == STDIN else Path(path).resolve().parent
    for folder in (start, *start.parents):
        native = folder / NATIVE_FUNCTIONS
        if native.is_file():
            tags = folder / TAGS
            return Operators((native,), tags if tags.is_file() else None, None, f"PyTorch checkout {folder}")
    return Operators((), None, None, "no PyTorch checkout around the file")


@cache
def load_operators(operators: Operators) -> NativeFunctions:
    """Read the operators.

    Raises:
        InputError: a file cannot be read, or there is no bundled index of that version.
    """
    from derivlint.schema import available_versions, load_index, read_native_functions

    if not operators.native_functions:
        try:
            return load_index(operators.version)
        except LookupError as error:
            known = quoted_list(available_versions())
            raise InputError(
                f'no bundled operator index of version "{operators.version}"; there is {known}, or "installed"'
            ) from error
    try:
        sources = [SourceFile.read(path) for path in operators.native_functions]
        tags = SourceFile.read(operators.tags) if operators.tags is not None else None
    except SourceError as error:
        raise InputError(str(error)) from error
    return read_native_functions(sources, tags=tags)


def read_source(path: str, stdin_filename: str | None) -> SourceFile:
    """Read a derivatives file, or standard input for ``-``.

    Raises:
        SourceError: it cannot be read.
    """
    if path != STDIN:
        return SourceFile.read(path)
    import sys

    return SourceFile.from_bytes(stdin_filename or "<stdin>", sys.stdin.buffer.read())
