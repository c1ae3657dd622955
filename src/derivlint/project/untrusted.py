"""The profile for untrusted repositories: no file outside of the repository is read.

Who runs derivlint over a pull request trusts the command line and the environment, not the files of the repository.
``SECURITY.md`` says what follows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from derivlint.project.errors import InputError

#: The option, as messages name it.
OPTION = "--untrusted"
#: Asks for the profile in every command, as workflows do once for all their steps.
VARIABLE = "DERIVLINT_UNTRUSTED"
_OFF = ("", "0", "false", "no", "off")
_MARK = ".git"


def is_requested() -> bool:
    """Whether the environment requests the profile."""
    return os.environ.get(VARIABLE, "").strip().lower() not in _OFF


def repository_of(folder: Path) -> Path:
    """The repository that holds a folder, with links resolved; the folder itself where there is none."""
    real = Path(os.path.realpath(folder))
    return next((parent for parent in (real, *real.parents) if (parent / _MARK).exists()), real)


def is_inside(path: Path, repository: Path) -> bool:
    """Whether a path, with links followed, lies in a repository."""
    return Path(os.path.realpath(path)).is_relative_to(repository)


def escapes_repository(path: Path) -> bool:
    """Whether a path lies in a repository, or in the working folder, by its name only: links lead elsewhere."""
    place = Path(os.path.abspath(path))
    working_folder = Path.cwd()
    roots = [parent for parent in place.parents if parent == working_folder or (parent / _MARK).exists()]
    return any(not is_inside(place, Path(os.path.realpath(root))) for root in roots)


def require_inside(paths: Iterable[Path | None]) -> None:
    """Refuse files that links lead out of the repository to.

    Raises:
        InputError: there are some; the message names all of them.
    """
    wrong = [path for path in dict.fromkeys(paths) if path is not None and escapes_repository(path)]
    if wrong:
        raise InputError(*map(escape_message, wrong))


def escape_message(path: Path) -> str:
    """The message about a file that links lead out of the repository to."""
    return f'"{path}" leads out of the repository, which {OPTION} does not follow'
