"""The restrictions for untrusted repositories: no file outside of the repository is read.

A check of a pull request trusts the command line and the environment, not the files of the repository; see
``SECURITY.md``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from derivlint.project.errors import InputError

#: The name of the option in messages.
OPTION = "--untrusted"
#: The environment variable that restricts every command, set once in a workflow.
VARIABLE = "DERIVLINT_UNTRUSTED"
_OFF = ("", "0", "false", "no", "off")
_MARK = ".git"


def is_requested() -> bool:
    """Whether the environment requests the restrictions."""
    return os.environ.get(VARIABLE, "").strip().lower() not in _OFF


def repository_of(folder: Path) -> Path:
    """Return the repository that holds a folder, with links resolved, or the folder itself."""
    real = Path(os.path.realpath(folder))
    return next((parent for parent in (real, *real.parents) if (parent / _MARK).exists()), real)


def is_inside(path: Path, repository: Path) -> bool:
    """Whether a path, with links followed, is inside a repository."""
    return Path(os.path.realpath(path)).is_relative_to(repository)


def escapes_repository(path: Path) -> bool:
    """Whether a path is inside a repository or the working folder by name, but links lead elsewhere."""
    place = Path(os.path.abspath(path))
    working_folder = Path.cwd()
    roots = [parent for parent in place.parents if parent == working_folder or (parent / _MARK).exists()]
    return any(not is_inside(place, Path(os.path.realpath(root))) for root in roots)


def require_inside(paths: Iterable[Path | None]) -> None:
    """Reject files outside of the repository that links lead to.

    Raises:
        InputError: a file is outside; the message names all such files.
    """
    wrong = [path for path in dict.fromkeys(paths) if path is not None and escapes_repository(path)]
    if wrong:
        raise InputError(*map(escape_message, wrong))


def escape_message(path: Path) -> str:
    """Return the message about a file outside of the repository that a link leads to."""
    return f'"{path}" links outside of the repository, which {OPTION} forbids'
