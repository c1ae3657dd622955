"""Settings of a run: what ``[tool.derivlint]`` says, and what the command line says instead."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from derivlint.cli.exits import InputError
from derivlint.lint import Confidence, Rule, Severity
from derivlint.lint.wording import did_you_mean, quoted_list

PYPROJECT = "pyproject.toml"
OWN_FILE = "derivlint.toml"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run checks, and what counts.

    Attributes:
        origin: the configuration file, None where there is none.
        paths: the derivatives files to check where the command names none.
        native_functions: files of native functions.
        tags: the file of tags.
        torch: a version of the bundled index, or ``installed``.
        select: the only rules to run; empty for the default ones.
        ignore: rules not to run.
        extend_select: rules to run besides.
        preview: whether rules in preview run.
        min_severity: the lowest severity shown.
        min_confidence: the lowest confidence shown.
        fail_level: the lowest severity that makes the command fail.
    """

    origin: Path | None = None
    paths: tuple[Path, ...] = ()
    native_functions: tuple[Path, ...] = ()
    tags: Path | None = None
    torch: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    preview: bool = False
    min_severity: Severity = Severity.INFO
    min_confidence: Confidence = Confidence.HIGH
    fail_level: Severity = field(default=Severity.WARNING)

    def overridden(self, **given: Any) -> Settings:
        """The settings with those of the command line that were given."""
        return replace(self, **{name: value for name, value in given.items() if value not in (None, ())})

    def selected(self, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        """The rules that run.

        Raises:
            InputError: a rule is named that does not exist.
        """
        known = {rule.name for rule in rules}
        for name in (*self.select, *self.ignore, *self.extend_select):
            if name not in known:
                raise InputError(unknown_rule(name, known))
        wanted = set(self.select) or {rule.name for rule in rules if self.preview or rule.meta.status == "stable"}
        wanted |= set(self.extend_select)
        wanted -= set(self.ignore)
        return tuple(rule for rule in rules if rule.name in wanted)


def unknown_rule(name: str, known: set[str]) -> str:
    """What to say of a rule that does not exist."""
    question = did_you_mean(name, known)
    return f'unknown rule "{name}"' + (f"; {question}" if question else '; "derivlint rules" lists them')


def find_settings(start: Path) -> Settings:
    """The settings of the nearest ``derivlint.toml``, or ``pyproject.toml`` with a table for derivlint."""
    folder = start.resolve()
    for parent in (folder, *folder.parents):
        own = parent / OWN_FILE
        if own.is_file():
            return read_settings(own, _load(own))
        pyproject = parent / PYPROJECT
        if pyproject.is_file():
            table = _load(pyproject).get("tool", {}).get("derivlint")
            if isinstance(table, dict):
                return read_settings(pyproject, table)
    return Settings()


def _load(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        with open(path, "rb") as stream:
            return tomllib.load(stream)
    except (OSError, ValueError) as error:
        raise InputError(f'cannot read "{path}": {error}') from error


def read_settings(path: Path, table: dict[str, Any]) -> Settings:
    """The settings of a table; paths are relative to the file.

    Raises:
        InputError: a key is unknown, or a value has the wrong type.
    """
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _KEYS:
            question = did_you_mean(key, _KEYS)
            allowed = question or f"allowed are {quoted_list(sorted(_KEYS))}"
            raise InputError(f'unknown key "{key}" in "{path}"; {allowed}')
        read, expected = _KEYS[key]
        try:
            values[key.replace("-", "_")] = read(value, path.parent)
        except (TypeError, ValueError) as error:
            raise InputError(f'"{key}" in "{path}" must be {expected}') from error
    return Settings(origin=path, **values)


def _text(value: object, folder: Path) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _texts(value: object, folder: Path) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(_text(item, folder) for item in value)


def _path(value: object, folder: Path) -> Path:
    return folder / _text(value, folder)


def _paths(value: object, folder: Path) -> tuple[Path, ...]:
    return tuple(folder / item for item in _texts(value, folder))


def _flag(value: object, folder: Path) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _severity(value: object, folder: Path) -> Severity:
    return Severity(value)


def _confidence(value: object, folder: Path) -> Confidence:
    return Confidence(value)


_SEVERITY_WORDS = 'one of "error", "warning", "info"'
_KEYS: dict[str, tuple[Any, str]] = {
    "paths": (_paths, "a list of paths"),
    "native-functions": (_paths, "a list of paths"),
    "tags": (_path, "a path"),
    "torch": (_text, 'a version, or "installed"'),
    "select": (_texts, "a list of rule names"),
    "ignore": (_texts, "a list of rule names"),
    "extend-select": (_texts, "a list of rule names"),
    "preview": (_flag, "true or false"),
    "min-severity": (_severity, _SEVERITY_WORDS),
    "min-confidence": (_confidence, 'one of "high", "medium", "low"'),
    "fail-level": (_severity, _SEVERITY_WORDS),
}
