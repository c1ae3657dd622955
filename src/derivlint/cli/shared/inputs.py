"""The inputs of a command line: files, their folders and their settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from derivlint.cli.shared.terminal import automated, warn
from derivlint.project.errors import InputError, NothingFoundError
from derivlint.project.files import STDIN, derivatives_files, expand_lists, folder_of
from derivlint.project.operators import OF_FRAMEWORK, Operators, load_operators, operators_for, resolve_release
from derivlint.project.settings import ConfigurationError, Settings, SettingsOfFiles
from derivlint.project.untrusted import is_requested, require_inside
from derivlint.source import SourceError, SourceFile


class FallbackPolicy(Enum):
    """The conditions for using a default file if no file is named or found."""

    WHEREVER_NONE_IS_FOUND = 1
    #: For checks: never on build servers or in projects with a configuration, where the file should exist.
    OUTSIDE_OF_PROJECTS = 2
    #: For commands that write a file or compare it with an earlier state.
    NEVER = 3
    #: For look-ups of derivatives: the operator book if PyTorch is not installed.
    BOOK = 4


class ResolvedInputs(Struct, frozen=True):
    """The files to check.

    Attributes:
        files: the files, as shown in messages.
        folders: the folder of each.
        settings: the settings of each.
    """

    files: list[str]
    folders: dict[str, Path]
    settings: dict[str, Settings]


def resolve_inputs(
    lookup: SettingsOfFiles,
    paths: Sequence[str],
    stdin_filename: str | None,
    fallback: FallbackPolicy = FallbackPolicy.WHEREVER_NONE_IS_FOUND,
) -> ResolvedInputs:
    """Return the files that the arguments of a command name, except excluded ones, and their settings.

    All configurations are read first, so that their errors are reported before any check. If no file is named or found,
    the default is that of the installed PyTorch, or an example.

    Args:
        lookup: the settings of each file.
        paths: the arguments of the command.
        stdin_filename: the path that stands for standard input.
        fallback: the condition for using a default file.

    Raises:
        InputError: there is no file, or configurations have errors; it lists all of them.
    """
    working_folder = Path.cwd()
    mistake: ConfigurationError | None = None
    try:
        settings_here = lookup.of_folder(working_folder)
    except ConfigurationError as error:
        # the files may have other configurations, whose errors are reported as well
        mistake = error
        settings_here = Settings()
    try:
        files = derivatives_files(paths, settings_here)
    except NothingFoundError as error:
        if mistake is not None or not _may_fall_back(settings_here, fallback):
            raise mistake or error from error
        return _default_inputs(settings_here, fallback)
    except InputError as error:
        raise mistake or error from error
    if lookup.untrusted:
        require_inside(Path(path) for path in files if path != STDIN)
    folders = {path: folder_of(path, stdin_filename) for path in files}
    of_all = lookup.of_folders([working_folder, *folders.values()] if mistake is not None else folders.values())
    settings = dict(zip(files, of_all, strict=True))
    for warning in lookup.warnings:
        warn(warning)
    named = {os.path.realpath(path) for path in expand_lists(paths)}
    files = [path for path in files if not _is_excluded(path, settings[path], stdin_filename, named)]
    if not files and not any(of_file.force_exclude for of_file in settings.values()):
        warn('nothing to check: "exclude" matches every file')
    return ResolvedInputs(files, folders, settings)


def _may_fall_back(settings: Settings, fallback: FallbackPolicy) -> bool:
    """Whether a default file may be used; never with operators from a given file."""
    if fallback is FallbackPolicy.NEVER or settings.untrusted or is_requested() or settings.native_functions:
        return False
    return fallback is not FallbackPolicy.OUTSIDE_OF_PROJECTS or (settings.origin is None and not automated())


def _default_inputs(settings: Settings, fallback: FallbackPolicy) -> ResolvedInputs:
    """Return the default file, with the settings of the command line."""
    from derivlint.project.files import default_file

    default = default_file(for_derivatives=fallback is FallbackPolicy.BOOK)
    warn(default.note)
    path = str(default.path)
    if settings.torch is None and default.torch is not None:
        settings = replace(settings, torch=default.torch, operators_from="the installed PyTorch")
    return ResolvedInputs([path], {path: folder_of(path)}, {path: settings})


def _is_excluded(path: str, settings: Settings, stdin_filename: str | None, named: set[str]) -> bool:
    """Whether a file is excluded; files named on the command line only with ``force-exclude``."""
    real = os.path.realpath(stdin_filename or path if path == STDIN else path)
    if not settings.force_exclude and (path == STDIN or real in named):
        return False
    return settings.excludes(Path(real))


def settings_lines(inputs: ResolvedInputs, rules: dict[str, list[str]]) -> Iterator[str]:
    """Format the settings of each file with their origins, and the resulting operators and rules.

    Args:
        inputs: the files.
        rules: the names of the rules that run over each file.
    """
    from derivlint.project.settings.keys import described

    for path in inputs.files:
        of_file = inputs.settings[path]
        operators = _operators_of(path, inputs.folders[path], of_file)
        yield f"file: {path}"
        yield f"  configuration: {of_file.origin or 'none'}"
        if of_file.untrusted:
            ignored = ", ".join(of_file.untrusted_settings) or "nothing"
            yield f"  ignored, since the repository is not trusted: {ignored}"
        yield f"  operators: {operators.describe()}"
        yield f"  tags: {operators.tags or ('of the index' if operators.bundled else 'none')}"
        yield f"  C++ functions: {operators.functions_manual or ('of the index' if operators.bundled else 'unknown')}"
        yield f"  headers: {', '.join(map(str, operators.headers)) or 'none'}"
        yield f"  bodies of C++ functions: {operators.bodies or 'unknown'}"
        facts = "none" if operators.reason == OF_FRAMEWORK else operators.describe_facts()
        yield f"  facts by release: {facts}"
        yield "  settings:"
        yield from (f"    {key} = {value}  # {origin}" for key, value, origin in described(of_file))
        yield f"  rules: {len(rules[path])}"
        yield from (f"    {name}" for name in rules[path])


def _operators_of(path: str, folder: Path, settings: Settings) -> Operators:
    """Describe the operators that a file is checked against, without reading standard input."""
    operators = operators_for(folder, settings)
    if path == STDIN:
        return operators
    try:
        operators = resolve_release(operators, SourceFile.read(path), load_operators)
    except SourceError:
        return operators
    if load_operators(operators).natives.are_of_framework:
        return replace(operators, reason=OF_FRAMEWORK, bundled=False)
    return operators
