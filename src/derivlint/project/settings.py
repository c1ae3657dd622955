"""Settings of a run: what ``[tool.derivlint]`` says, and what the command line says instead."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from derivlint.lint import Confidence, Diagnostic, Rule, Severity
from derivlint.lint.wording import did_you_mean, quoted_list
from derivlint.project.errors import InputError

PYPROJECT = "pyproject.toml"
OWN_FILE = "derivlint.toml"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run checks, and what counts.

    Attributes:
        origin: the configuration file, None where there is none.
        operators_from: who says where the operators come from: the configuration file or the command line.
        paths: the derivatives files to check where the command names none.
        native_functions: files of native functions.
        tags: the file of tags.
        headers: C++ headers with functions that formulas call.
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
    operators_from: str = ""
    paths: tuple[Path, ...] = ()
    native_functions: tuple[Path, ...] = ()
    tags: Path | None = None
    headers: tuple[Path, ...] = ()
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
        values = {name: value for name, value in given.items() if value not in (None, ())}
        settings = self
        if "torch" in values or "native_functions" in values:
            # the configuration's operators and those of the command line would mix badly
            values["operators_from"] = "the command line"
            settings = replace(self, torch=None, native_functions=(), tags=None)
        return replace(settings, **values)

    def shows(self, diagnostic: Diagnostic) -> bool:
        """Whether a diagnostic is shown."""
        return diagnostic.severity >= self.min_severity and diagnostic.confidence >= self.min_confidence

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


class SettingsOfFiles:
    """The settings of each derivatives file: of the configuration nearest to it, with the command line's on top."""

    def __init__(self, no_config: bool, **given: Any) -> None:
        self._no_config = no_config
        self._given = given
        self._by_folder: dict[Path, Settings] = {}

    def of_folder(self, folder: Path) -> Settings:
        """The settings of the files in a folder.

        Raises:
            InputError: the configuration file cannot be read, or holds something that is no setting.
        """
        folder = folder.resolve()
        found = self._by_folder.get(folder)
        if found is None:
            found = Settings() if self._no_config else find_settings(folder)
            found = self._by_folder[folder] = found.overridden(**self._given)
        return found


def unknown_rule(name: str, known: set[str]) -> str:
    """What to say of a rule that does not exist."""
    question = did_you_mean(name, known)
    return f'unknown rule "{name}"' + (f"; {question}" if question else '; "derivlint rules" lists them')


def find_settings(folder: Path) -> Settings:
    """The settings of the nearest ``derivlint.toml``, or ``pyproject.toml`` with a table for derivlint.

    Args:
        folder: where to begin, an absolute path.

    Raises:
        InputError: the file cannot be read, or holds something that is no setting.
    """
    for parent in (folder, *folder.parents):
        own = parent / OWN_FILE
        if own.is_file():
            text = _read(own)
            return read_settings(own, _parsed(own, text), text)
        pyproject = parent / PYPROJECT
        # most projects configure other tools only; parsing their files to learn that would be a waste
        if pyproject.is_file() and "derivlint" in (text := _read(pyproject)):
            tool = _parsed(pyproject, text).get("tool")
            table = tool.get("derivlint") if isinstance(tool, dict) else None
            if table is not None:
                return read_settings(pyproject, table, text, "[tool.derivlint]")
    return Settings()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f'cannot read "{path}": {getattr(error, "strerror", None) or error}') from error


def _parsed(path: Path, text: str) -> dict[str, Any]:
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        parsed: dict[str, Any] = toml.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f'cannot read "{path}": {error}') from error
    return parsed


def read_settings(path: Path, table: object, text: str = "", header: str = "") -> Settings:
    """The settings of a table; paths are relative to the file.

    Args:
        path: the file.
        table: the parsed table.
        text: the file's text, for the lines of messages.
        header: the line that begins the table; empty where the table is the whole file.

    Raises:
        InputError: a key is unknown, or a value has the wrong type.
    """
    if not isinstance(table, dict):
        raise InputError(f'"derivlint" in "{path}" must be a table')
    values: dict[str, Any] = {}
    for key, value in table.items():
        where = f"{path}{_line_of(key, text, header)}"
        if key not in _KEYS:
            question = did_you_mean(key, _KEYS)
            allowed = question or f"allowed are {quoted_list(sorted(_KEYS))}"
            raise InputError(f'{where}: unknown key "{key}"; {allowed}')
        read, expected = _KEYS[key]
        try:
            values[key.replace("-", "_")] = read(value, path.parent)
        except (TypeError, ValueError) as error:
            raise InputError(f'{where}: "{key}" must be {expected}') from error
    return Settings(origin=path, operators_from=str(path), **values)


def _line_of(key: str, text: str, header: str) -> str:
    """The line of a key as ``:3``, found by looking for it at the beginning of lines; empty where it is not there."""
    inside = not header
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            inside = stripped.partition("#")[0].replace(" ", "") == header
        elif inside and stripped.partition("=")[0].strip().strip("\"'") == key:
            return f":{number}"
    return ""


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
    "headers": (_paths, "a list of paths"),
    "torch": (_text, 'a version, or "installed"'),
    "select": (_texts, "a list of rule names"),
    "ignore": (_texts, "a list of rule names"),
    "extend-select": (_texts, "a list of rule names"),
    "preview": (_flag, "true or false"),
    "min-severity": (_severity, _SEVERITY_WORDS),
    "min-confidence": (_confidence, 'one of "high", "medium", "low"'),
    "fail-level": (_severity, _SEVERITY_WORDS),
}
