"""Input of the public API: texts, files, settings and operators."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from derivlint.project.errors import InputError
from derivlint.project.files import folder_of
from derivlint.project.loading import Loaded, load_source
from derivlint.project.settings import Settings, SettingsOfFiles
from derivlint.project.settings.keys import toml
from derivlint.source import SourceError, SourceFile

#: A derivatives file: a path, or its text, which is a string with a line break.
TextOrPath: TypeAlias = str | os.PathLike[str]
#: Settings on top of the configuration, by the keys of ``[tool.derivlint]``; or the configuration file to read.
SettingsLike: TypeAlias = Mapping[str, object] | os.PathLike[str]
#: A release (``"2.13"``), ``"installed"``, or files of native functions.
OperatorsLike: TypeAlias = str | os.PathLike[str] | Sequence[os.PathLike[str]]
#: The maximum order of a derivative: the expressions grow exponentially.
MAX_ORDER = 6
#: The name of a text in findings.
TEXT_NAME = "<text>"


def load(text_or_path: TextOrPath, settings: SettingsLike | None, operators: OperatorsLike | None) -> Loaded:
    """Load a derivatives file.

    Raises:
        InputError: the file, its settings or operators cannot be used.
        TypeError: an argument has another type.
    """
    source, folder = _read(text_or_path)
    return load_source(source, folder, settings_of(folder, settings, operators)).require_operators()


def _read(text_or_path: TextOrPath) -> tuple[SourceFile, Path | None]:
    if isinstance(text_or_path, str) and ("\n" in text_or_path or "\r" in text_or_path):
        # lone surrogates are replaced, as invalid UTF-8 is in a file
        return SourceFile.from_bytes(TEXT_NAME, text_or_path.encode("utf-8", "surrogatepass")), None
    path = os.fspath(text_or_path)
    if not isinstance(path, str):
        raise TypeError(f"a derivatives file is a text or a path, not {type(path).__name__}")
    try:
        return SourceFile.read(path), folder_of(path)
    except SourceError as error:
        raise InputError(str(error)) from error
    except ValueError as error:
        raise InputError(f"cannot read {path!r}: {error}") from error


def settings_of(folder: Path | None, settings: SettingsLike | None, operators: OperatorsLike | None) -> Settings:
    """Return the settings of a file.

    Args:
        folder: the folder of the file, or None for a text, which has no configuration.
        settings: settings on top of the configuration, or the configuration file.
        operators: the operators.

    Raises:
        InputError: the settings have mistakes.
        TypeError: an argument has another type.
    """
    config: list[str] = []
    if isinstance(settings, Mapping):
        config = [f"{_key(key)} = {toml(_plain(value))}" for key, value in settings.items()]
    elif settings is not None:
        config = [os.fspath(settings)]
    options: dict[str, Any] = {}
    if isinstance(operators, str):
        options["torch"] = operators
    elif isinstance(operators, os.PathLike):
        options["native_functions"] = (Path(operators),)
    elif operators is not None:
        options["native_functions"] = tuple(map(Path, operators))
    is_named = settings is not None and not isinstance(settings, Mapping)
    lookup = SettingsOfFiles(folder is None and not is_named, config, config_name="settings", **options)
    return lookup.of_folder(folder or Path.cwd())


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key of settings is a string, not {type(key).__name__}")
    return toml(key)


def _plain(value: object) -> object:
    """Convert a value to one that TOML can represent."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return tuple(_plain(item) for item in value)
    if isinstance(value, (str, bool, int)):
        return value
    raise TypeError(f"a setting is a string, number, list or mapping, not {type(value).__name__}")
