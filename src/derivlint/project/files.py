"""Finding and reading derivatives files; lists of files and companion files as arguments."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from derivlint.operators.book import BOOK_OF_DERIVATIVES
from derivlint.project.errors import InputError, NothingFoundError, user_errors
from derivlint.project.globs import expanded
from derivlint.project.operator_files import NATIVE_FUNCTIONS, TAGS_NAME, declares_operators
from derivlint.project.operators import INSTALLED, installed
from derivlint.project.settings import Settings
from derivlint.project.settings.kinds import PRESETS
from derivlint.source import SourceError, SourceFile, read_bytes
from derivlint.source.reading import MAX_BYTES

if TYPE_CHECKING:
    from derivlint.schema import InstalledTorch


#: The prefix of an argument that names a list of paths, one per line.
LIST_MARK = "@"
#: The path of the derivatives file in a PyTorch checkout.
DERIVATIVES = Path("tools/autograd/derivatives.yaml")
#: The default pattern of derivatives files.
FILE_PATTERN = "*derivatives*.yaml"
#: The names of their companions: PyTorch's own, and those of projects with other conventions.
_COMPANIONS = frozenset(
    {
        NATIVE_FUNCTIONS.name,
        TAGS_NAME,
        "deprecated.yaml",
        *(name for preset in PRESETS.values() for name in preset.native_functions),
    }
)


def expand_lists(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments, with ``@FILE`` replaced by the nonempty lines of ``FILE``.

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
        # file names are bytes, and may contain Unicode line separators
        for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
            path = os.fsdecode(line.removesuffix(b"\r"))
            if path.strip():
                yield path


def is_companion(path: str) -> bool:
    """Whether a path is a companion of derivatives files: operators, tags, or deprecated signatures.

    Companions are recognized by name, and files of custom operators by content.
    """
    name = Path(path).name
    if name in _COMPANIONS:
        return os.path.isfile(path)
    return not fnmatchcase(name, FILE_PATTERN) and declares_operators(Path(path))


def derivatives_of(path: str, settings: Settings) -> tuple[Path, ...]:
    """Return the derivatives files that a file of operators belongs to.

    Hooks pass changed files: a change of operators requires a check of the derivatives file.

    Args:
        path: the file.
        settings: the settings of the working folder.

    Raises:
        InputError: no derivatives file belongs to the file.
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


STDIN = "-"
#: The example for machines without PyTorch; PyTorch's own file is not bundled.
EXAMPLE = Path(__file__).parent.parent / "examples" / "derivatives.yaml"


def derivatives_files(arguments: Sequence[str], settings: Settings) -> list[str]:
    """Return the derivatives files to check, without duplicates, in the order of the arguments.

    Args:
        arguments: files, folders, patterns, ``-``, or ``@FILE`` for the paths in FILE; a file of operators is replaced
            by its derivatives file.
        settings: the settings of the working folder, which may name files if no argument does.

    Raises:
        NothingFoundError: there are no arguments, and no file to check is found.
        InputError: a pattern matches nothing, or a folder has none.
    """
    paths: list[str] = []
    for argument in expand_lists(arguments):
        if argument == STDIN:
            paths.append(STDIN)
        # unlike the methods of Path, these functions accept overlong names
        elif os.path.isdir(argument):
            paths.extend(_in_folder(Path(argument)))
        elif glob.has_magic(argument) and not os.path.exists(argument):
            matches = expanded(argument)
            if not matches:
                raise InputError(f'no file matches "{argument}"')
            for match in matches:
                paths.extend(_in_folder(Path(match)) if Path(match).is_dir() else _companion_files(match, settings))
        else:
            paths.extend(_companion_files(argument, settings))
    if not arguments:
        paths.extend(_default_files(settings))
    by_file: dict[str, str] = {}
    for shown in paths:
        by_file.setdefault(shown if shown == STDIN else os.path.realpath(shown), shown)
    return list(by_file.values())


def _companion_files(path: str, settings: Settings) -> list[str]:
    if not is_companion(path):
        return [path]
    return derivatives_files([_shown(file) for file in derivatives_of(path, settings)], settings)


def _in_folder(folder: Path) -> list[str]:
    files = []
    for parent, folders, names in os.walk(folder):
        # hidden folders hold version control data and environments, whose copies of PyTorch must not be fixed
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(parent, name) for name in names if Path(name).match(FILE_PATTERN)]
    if not files:
        raise InputError(f'no file called "{FILE_PATTERN}" in "{folder}"')
    return sorted(map(str, files))


def _default_files(settings: Settings) -> Iterator[str]:
    if settings.paths:
        yield from derivatives_files([_shown(path) for path in settings.paths], settings)
        return
    if settings.torch == INSTALLED:
        derivatives = installed().derivatives
        if derivatives is None:
            raise InputError("the installed torch ships no derivatives.yaml")
        yield str(derivatives)
        return
    working_folder = Path.cwd()
    for folder in (working_folder, *working_folder.parents):
        # prefers "derivatives.yaml" to others such as "aclnn_derivatives.yaml"
        named = sorted(folder.glob(FILE_PATTERN), key=lambda path: (not path.name.startswith("derivatives"), path))
        for candidate in (*named, folder / DERIVATIVES):
            if os.path.isfile(candidate):
                yield _shown(candidate)
                return
    raise NothingFoundError(
        f'nothing to check: no "{FILE_PATTERN}" or {DERIVATIVES.as_posix()} in "{working_folder}" or above it; '
        "name a file or a folder, or use --torch installed"
    )


def _shown(path: Path) -> str:
    """Format a path for messages: relative if it is below the working folder."""
    working_folder = Path.cwd()
    shown = str(path.relative_to(working_folder)) if path.is_relative_to(working_folder) else str(path)
    # as an argument, this name would be read as a list of paths
    return os.path.join(os.curdir, shown) if shown.startswith(LIST_MARK) else shown


def folder_of(path: str, stdin_filename: str | None = None) -> Path:
    """Return the folder of a derivatives file; for standard input, of ``--stdin-filename`` or the working folder."""
    if path == STDIN:
        return Path(os.path.realpath(stdin_filename)).parent if stdin_filename is not None else Path.cwd()
    # unlike Path.resolve, this accepts cycles of links, which are reported when the file is read
    return Path(os.path.realpath(path)).parent


def read_source(path: str, stdin_filename: str | None) -> SourceFile:
    """Read a derivatives file, or standard input for ``-``.

    Raises:
        InputError: the file cannot be read.
    """
    if path != STDIN:
        with user_errors(SourceError):
            return SourceFile.read(path)
    if sys.stdin is None:
        raise InputError("cannot read standard input: it is closed")
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError(f"cannot read standard input: it is larger than {MAX_BYTES // 2**20} MiB")
    return SourceFile.from_bytes(stdin_filename or "<stdin>", data)


# ---- the default file


class DefaultFile(Struct, frozen=True):
    """A derivatives file that is used if none is named or found.

    Attributes:
        path: the file.
        description: a description for messages.
        torch: the value of ``--torch`` for its operators, or None for those of a standalone file.
    """

    path: Path
    description: str
    torch: str | None = None

    @property
    def note(self) -> str:
        """A line that names the file and the way to choose another one."""
        return (
            f"no derivatives file is named or found: using {self.description}, {self.path}; name a file to use another"
        )


def default_file(*, for_derivatives: bool = False) -> DefaultFile:
    """Return the file of the installed PyTorch, without importing it, or a bundled file.

    Args:
        for_derivatives: whether its derivatives are used: then the bundled file is the operator book's, else an example
            with errors.
    """
    from derivlint.schema import installed_torch

    torch = installed_torch()
    if torch is None or torch.derivatives is None:
        if for_derivatives:
            return DefaultFile(BOOK_OF_DERIVATIVES, "that of derivlint's operator book (no PyTorch is installed)")
        return DefaultFile(EXAMPLE, "derivlint's example (no PyTorch is installed)")
    description = "the one of the installed PyTorch" + (f" {torch.version}" if torch.version is not None else "")
    return DefaultFile(torch.derivatives, description, _operators_of(torch))


def _operators_of(torch: InstalledTorch) -> str:
    """Return the release of an installed PyTorch if it is bundled, since that loads faster than PyTorch's files."""
    from derivlint.operators.book import bundled_releases, release_number

    release = release_number(torch.release)
    return ".".join(map(str, release)) if release is not None and release in bundled_releases() else INSTALLED
