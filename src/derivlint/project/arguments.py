"""Arguments of a command that are not derivatives files: lists of files, and the companions of derivatives files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from derivlint.project.errors import InputError
from derivlint.project.operators import NATIVE_FUNCTIONS, TAGS_NAME, declares_operators
from derivlint.project.presets import PRESETS
from derivlint.project.settings import Settings
from derivlint.source import SourceError, read_bytes

#: Begins an argument that names a file with paths, one a line.
LIST_MARK = "@"
#: Where a PyTorch checkout keeps its derivatives file.
DERIVATIVES = Path("tools/autograd/derivatives.yaml")
#: What derivatives files are called.
FILE_PATTERN = "*derivatives*.yaml"
#: The names of files that go with them: PyTorch's own, and those of projects with conventions of their own.
_COMPANIONS = frozenset(
    {
        NATIVE_FUNCTIONS.name,
        TAGS_NAME,
        "deprecated.yaml",
        *(name for preset in PRESETS.values() for name in preset.native_functions),
    }
)


def expand_lists(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments, with the lines of ``FILE`` instead of ``@FILE``, without empty lines.

    Raises:
        InputError: a list cannot be read.
    """
    for argument in arguments:
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


def goes_with_derivatives(path: str) -> bool:
    """Whether a path names a file that derivatives files are checked against: operators, tags, deprecated signatures.

    They are recognized by their names, and a file of own operators by its content.
    """
    name = Path(path).name
    if name in _COMPANIONS:
        return os.path.isfile(path)
    return not fnmatchcase(name, FILE_PATTERN) and declares_operators(Path(path))


def derivatives_of(path: str, settings: Settings) -> tuple[Path, ...]:
    """The derivatives files that a file of operators belongs to.

    Hooks and linters of repositories pass the files that changed; when operators change, what is to be checked again
    is the derivatives file.

    Args:
        path: the file.
        settings: those of the working folder.

    Raises:
        InputError: there is none.
    """
    place = Path(path).absolute()
    if place.parts[-len(NATIVE_FUNCTIONS.parts) : -1] == NATIVE_FUNCTIONS.parts[:-1]:
        derivatives = place.parents[len(NATIVE_FUNCTIONS.parts) - 1] / DERIVATIVES
        if os.path.isfile(derivatives):
            return (derivatives,)
    configured = tuple(file for file in settings.paths if file.name not in _COMPANIONS)
    if configured:
        return configured
    beside = tuple(sorted(file for file in place.parent.glob(FILE_PATTERN) if file.is_file()))
    if beside:
        return beside
    raise InputError(
        f'no derivatives file belongs to "{path}": none beside it, no {DERIVATIVES.as_posix()} in its checkout, '
        'no "paths" configured'
    )
