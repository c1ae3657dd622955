"""The projects of open files: configuration, rules and operators, cached until a file that they come from changes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from derivlint.lint import Diagnostic, Rule
from derivlint.project.errors import InputError
from derivlint.project.files import FILE_PATTERN
from derivlint.project.filtering.baselines import BaselineFile
from derivlint.project.filtering.findings import FindingFilter
from derivlint.project.operators import (
    LoadedOperators,
    Operators,
    load_operators,
    operators_for,
    problem_text,
    resolve_release,
)
from derivlint.project.settings import OWN_FILE, PYPROJECT, Settings, SettingsOfFiles
from derivlint.source import SourceFile, read_input
from derivlint.version import __version__

#: Patterns of watched files; files that a project names are watched as well.
WATCHED = ("**/native_functions.yaml", "**/tags.yaml", f"**/{OWN_FILE}", f"**/{PYPROJECT}", "**/FunctionsManual.h")


class Project(Struct, frozen=True):
    """The settings, rules and operators that a derivatives file is checked with.

    Attributes:
        settings: its settings.
        rules: the rules that run.
        operators: the source of its operators.
        loaded: the operators.
        finding_filter: selects the findings to show.
        key: a digest of the fields above.
    """

    settings: Settings
    rules: tuple[Rule, ...]
    operators: Operators
    loaded: LoadedOperators
    finding_filter: FindingFilter
    key: str

    @property
    def headers(self) -> tuple[Path, ...]:
        """The C++ headers that are files, and the source file with the bodies of their functions."""
        paths = (self.operators.functions_manual, *self.operators.headers, self.operators.bodies)
        return tuple(path for path in paths if path is not None)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files from which it was read."""
        more = (self.settings.baseline, self.settings.origin)
        return (*self.operators.files, *(path for path in more if path is not None))

    @property
    def untrusted_note(self) -> str:
        """A message about settings ignored in an untrusted workspace, or empty."""
        if not self.settings.untrusted_settings:
            return ""
        names = ", ".join(self.settings.untrusted_settings)
        return f'settings of an untrusted workspace are ignored: {names}; to use them, set "trusted": true'

    def problems(self) -> tuple[str, ...]:
        """The problems in the files of native functions."""
        return tuple(map(problem_text, self.loaded.natives.problems))


class Projects:
    """A cache of projects by folder and by file."""

    def __init__(self, config: Sequence[str] = (), *, trusted: bool = False) -> None:
        """Create an empty cache.

        Args:
            config: the values of ``--config``: file names, or ``KEY=VALUE``.
            trusted: whether the workspace is trusted; if not, its configurations are read as with ``--untrusted``.
        """
        self._config = tuple(config)
        self.trusted = trusted
        self._loaded: dict[Operators, tuple[str, LoadedOperators]] = {}
        self._by_folder: dict[Path, Project | InputError] = {}
        self._by_file: dict[Path, Project] = {}
        self._made: dict[Path, tuple[Project | InputError, list[str]]] = {}
        self._settings: SettingsOfFiles | None = None

    def settings_of(self, folder: Path) -> Settings:
        """Return the settings of the files in a folder.

        Raises:
            InputError: a configuration has errors.
        """
        if self._settings is None:
            self._settings = SettingsOfFiles(False, self._config, untrusted=not self.trusted)
        return self._settings.of_folder(folder)

    def is_derivatives_file(self, path: Path) -> bool:
        """Whether a file is to be checked: by its name, or because the configuration names it."""
        try:
            settings = self.settings_of(path.parent)
        except InputError:
            return path.match(FILE_PATTERN)
        real = Path(os.path.realpath(path))
        if settings.excludes(real):
            return False
        return path.match(FILE_PATTERN) or real in {Path(os.path.realpath(named)) for named in settings.paths}

    def of(self, path: Path, source: SourceFile) -> Project:
        """Return the project of a file.

        The release of a standalone file is detected when the file is opened or saved, not after each edit.

        Args:
            path: the file.
            source: its text.

        Raises:
            InputError: a configuration, the operators or the baseline cannot be read.
        """
        project = self._by_file.get(path)
        if project is None:
            project = self._of_folder(path)
            loaded = project.loaded
            operators = resolve_release(project.operators, source, lambda _: loaded)
            if operators != project.operators:
                project = self._make(path.parent, operators)
            self._by_file[path] = project
        return project

    def forget_file(self, path: Path) -> None:
        """Forget the release of a standalone file."""
        self._by_file.pop(path, None)

    def redetect_release(self, path: Path, source: SourceFile) -> bool:
        """Detect the release of a standalone file again; return whether it has changed."""
        before = self._by_file.pop(path, None)
        return before is not None and self.of(path, source).operators != before.operators

    def _of_folder(self, path: Path) -> Project:
        folder = path.parent
        project = self._by_folder.get(folder)
        if project is None:
            try:
                project = self._make(folder)
            except InputError as error:
                project = error
            self._by_folder[folder] = project
            self._made[folder] = (project, _stamps(_sources(folder, project)))
        if isinstance(project, InputError):
            raise project
        return project

    def _make(self, folder: Path, operators: Operators | None = None) -> Project:
        from derivlint.rules import load_rules

        settings = self.settings_of(folder)
        operators = operators or operators_for(folder, settings)
        # projects may share operators, which outlive a change of the configuration
        cached = self._loaded.get(operators)
        stamp = _digest(map(str, (operators, *_stamps(operators.files))))
        if cached is None or cached[0] != stamp:
            cached = self._loaded[operators] = (stamp, load_operators(operators))
        baseline = BaselineFile.read(settings.baseline) if settings.baseline is not None else None
        rules = settings.selected(load_rules())
        key = _digest([__version__, stamp, repr(settings), *_stamps([settings.baseline] if settings.baseline else [])])
        return Project(settings, rules, operators, cached[1], FindingFilter(baseline=baseline, finds_stale=False), key)

    def is_stale(self) -> bool:
        """Whether a file of a project has changed, was added or was removed."""
        return any(_is_stale(folder, project, stamps) for folder, (project, stamps) in self._made.items())

    def forget(self) -> None:
        """Discard configurations, and operators that are unused or whose files changed."""
        projects = [*self._by_folder.values(), *self._by_file.values()]
        used = {project.operators for project in projects if isinstance(project, Project)}
        self._loaded = {operators: cached for operators, cached in self._loaded.items() if operators in used}
        self._by_folder.clear()
        self._by_file.clear()
        self._made.clear()
        self._settings = None


def _is_stale(folder: Path, project: Project | InputError, stamps: list[str]) -> bool:
    """Whether the project of a folder is out of date."""
    if isinstance(project, InputError):
        # the missing file is unknown
        return True
    try:
        return (
            _stamps(_sources(folder, project)) != stamps or operators_for(folder, project.settings) != project.operators
        )
    except InputError:
        return True


def _sources(folder: Path, project: Project | InputError) -> list[Path]:
    """Return the files of a project, and the paths of configurations that may be added."""
    places = [parent / name for parent in (folder, *folder.parents) for name in (OWN_FILE, PYPROJECT)]
    return places if isinstance(project, InputError) else [*project.files, *places]


def _stamps(paths: Iterable[Path]) -> list[str]:
    """Return the digests of files."""
    return [f"{path}: {_stamp(path)}" for path in paths]


def _stamp(path: Path) -> str:
    try:
        status = os.stat(path)
        return _digest_at(path, status.st_mtime_ns, status.st_size, status.st_ino)
    except (OSError, ValueError):
        return "none"


@lru_cache(maxsize=1024)
def _digest_at(path: Path, *state: int) -> str:
    """Return the digest of a file; it is read again only if its time or size has changed."""
    return hashlib.sha256(read_input(path)).hexdigest()


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def result_id(source: SourceFile, project: Project, shown: Iterable[Diagnostic]) -> str:
    """Return an identifier of a check's result: a digest of the text, the project and the findings.

    The version of the document is not used: it restarts when a file is reopened.
    """
    return _digest([project.key, source.text, *map(repr, shown)])[:32]
