"""What a command line asks for, with the configurations that hold for it: files, their folders and their settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from derivlint.cli.exits import tell
from derivlint.project.arguments import with_lists
from derivlint.project.errors import InputError
from derivlint.project.files import STDIN, derivatives_files, folder_of
from derivlint.project.operators import Operators, fitted, load_operators, operators_for
from derivlint.project.settings import ConfigurationError, Settings, SettingsOfFiles
from derivlint.project.untrusted import require_inside
from derivlint.source import SourceError, SourceFile


class Configured(Struct, frozen=True):
    """The files to check.

    Attributes:
        files: the files, as messages show them.
        folders: where each stands.
        settings: what is configured for each.
    """

    files: list[str]
    folders: dict[str, Path]
    settings: dict[str, Settings]


def configured(lookup: SettingsOfFiles, paths: Sequence[str], stdin_filename: str | None) -> Configured:
    """The files that a command names, without those that are excluded, and their settings.

    Every configuration is read, so that a mistake in one is told before anything is checked.

    Args:
        lookup: what knows the settings.
        paths: the arguments of the command.
        stdin_filename: what standard input is called.

    Raises:
        InputError: there is nothing to check, or configurations have mistakes, all of which it tells.
    """
    here = Path.cwd()
    mistake: ConfigurationError | None = None
    try:
        settings_here = lookup.of_folder(here)
    except ConfigurationError as error:
        # the files may have other configurations, whose mistakes are told as well
        mistake = error
        settings_here = Settings()
    try:
        files = derivatives_files(paths, settings_here)
    except InputError as error:
        raise mistake or error from error
    if lookup.untrusted:
        require_inside(Path(path) for path in files if path != STDIN)
    folders = {path: folder_of(path, stdin_filename) for path in files}
    of_all = lookup.of_folders([here, *folders.values()] if mistake is not None else folders.values())
    settings = dict(zip(files, of_all, strict=True))
    for warning in lookup.warnings:
        tell(warning)
    named = {os.path.realpath(path) for path in with_lists(paths)}
    files = [path for path in files if not _is_excluded(path, settings[path], stdin_filename, named)]
    if not files and not any(of_file.force_exclude for of_file in settings.values()):
        tell('nothing to check: "exclude" matches every file')
    return Configured(files, folders, settings)


def _is_excluded(path: str, settings: Settings, stdin_filename: str | None, named: set[str]) -> bool:
    """Whether a file is left out; one that the command names is only where that is forced."""
    real = os.path.realpath(stdin_filename or path if path == STDIN else path)
    if not settings.force_exclude and (path == STDIN or real in named):
        return False
    return settings.excludes(Path(real))


def settings_lines(configured: Configured, rules: dict[str, list[str]]) -> Iterator[str]:
    """The settings of each file, with where they come from, and the operators and rules that follow.

    Args:
        configured: the files.
        rules: the names of the rules that run over each file.
    """
    from derivlint.project.settings.described import described

    for path in configured.files:
        of_file = configured.settings[path]
        operators = _operators_of(path, configured.folders[path], of_file)
        yield f"file: {path}"
        yield f"  configuration: {of_file.origin or 'none'}"
        if of_file.untrusted:
            yield f"  not honoured, since the repository is not trusted: {', '.join(of_file.not_honoured) or 'nothing'}"
        yield f"  operators: {operators.describe()}"
        yield f"  tags: {operators.tags or ('of the index' if operators.bundled else 'none')}"
        yield f"  C++ functions: {operators.functions_manual or ('of the index' if operators.bundled else 'unknown')}"
        yield f"  headers: {', '.join(map(str, operators.headers)) or 'none'}"
        yield f"  facts by release: {operators.describe_facts()}"
        yield "  settings:"
        yield from (f"    {key} = {value}  # {origin}" for key, value, origin in described(of_file))
        yield f"  rules: {len(rules[path])}"
        yield from (f"    {name}" for name in rules[path])


def _operators_of(path: str, folder: Path, settings: Settings) -> Operators:
    """The operators that a file is judged against; standard input is not read for that."""
    operators = operators_for(folder, settings)
    if path == STDIN:
        return operators
    try:
        return fitted(operators, SourceFile.read(path), load_operators)
    except SourceError:
        return operators
