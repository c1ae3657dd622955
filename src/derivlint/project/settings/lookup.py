"""Reading configurations, and the settings of each file, from the nearest configuration and the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from derivlint.lint.wording import quoted, quoted_list, unknown_name
from derivlint.project.errors import InputError
from derivlint.project.settings.document import (
    ConfigurationError,
    Notes,
    SettingsDocument,
    SettingsMistake,
    SettingsValue,
    load_toml,
)
from derivlint.project.settings.keys import FORMER, KEYS
from derivlint.project.settings.selection import resolve
from derivlint.project.settings.settings import Settings
from derivlint.project.settings.trusted_subset import trusted_subset
from derivlint.project.untrusted import escape_message, is_inside, is_requested, repository_of
from derivlint.source import SourceError, read_bytes

#: The maximum size of a file.
MAX_BYTES = 256 * 1024
PYPROJECT = "pyproject.toml"
OWN_FILE = "derivlint.toml"
#: The table of derivlint in a file that configures other tools as well.
TABLE = ("tool", "derivlint")
#: The option for a configuration, and the name in messages of one written as ``KEY=VALUE``.
OPTION = "--config"


def configuration_in(folder: Path, notes: Notes, *, untrusted: bool = False) -> SettingsDocument | None:
    """Return the configuration in a folder, or None.

    The file is ``derivlint.toml``, or a ``pyproject.toml`` with a table for derivlint.

    Args:
        folder: the folder.
        notes: the notes that mistakes are added to.
        untrusted: whether a link out of the repository is a mistake.
    """
    own = folder / OWN_FILE
    pyproject = folder / PYPROJECT
    path = own if os.path.lexists(own) else pyproject
    if untrusted and os.path.lexists(path) and not is_inside(path, repository_of(folder)):
        notes.mistakes.append(SettingsMistake("", 0, 0, escape_message(path)))
        return None
    if os.path.exists(own):
        return read_document(own, notes)
    if not os.path.isfile(pyproject):
        return None
    # most projects configure only other tools: search the text before parsing it
    document = read_document(pyproject, notes, if_it_mentions=b"derivlint")
    return document if document is not None and document.value(*TABLE) is not None else None


def read_document(path: Path, notes: Notes, if_it_mentions: bytes = b"") -> SettingsDocument | None:
    """Read a file, or return None if it lacks the required text or cannot be read, which is recorded."""
    name = shown(path)
    try:
        data = read_bytes(path, name, MAX_BYTES)
    except SourceError as error:
        notes.mistakes.append(SettingsMistake("", 0, 0, str(error)))
        return None
    if if_it_mentions not in data:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line = before.count("\n") + 1
        column = len(before) - (before.rfind("\n") + 1) + 1
        message = f"is not UTF-8: byte 0x{data[error.start]:02x}"
        notes.mistakes.append(SettingsMistake(name, line, column, message))
        return None
    return SettingsDocument(name, text, path.parent, notes, path)


def shown(path: Path) -> str:
    """Format a path for messages: relative if it is below the working folder."""
    working_folder = Path.cwd()
    return str(path.relative_to(working_folder)) if path.is_relative_to(working_folder) else str(path)


def table_of(document: SettingsDocument) -> SettingsValue | None:
    """Return the table ``[tool.derivlint]``, or the whole document of a file of derivlint's own.

    None if a requested ``pyproject.toml`` has no such table, which is recorded.
    """
    name = Path(document.name).name
    table = document.value(*TABLE) if name != OWN_FILE else None
    if table is not None or name != PYPROJECT:
        return table or SettingsValue(document, (), document.data)
    if not document.notes.mistakes:
        document.notes.mistakes.append(SettingsMistake(document.name, 1, 1, f'has no table "[{".".join(TABLE)}]"'))
    return None


def pair(text: str, notes: Notes, name: str = OPTION) -> SettingsDocument:
    """Parse a configuration written as ``KEY=VALUE``; ``name`` is its name in messages."""
    key, _, value = text.partition("=")
    value = value.strip()
    if value and all(char.isalnum() or char in "-_./*" for char in value) and not _is_toml(f"x = {value}"):
        # the shell has removed the quotes
        message = f"{quoted(value)} is not a TOML value; write {OPTION} '{key.strip()}={quoted(value)}'"
        notes.mistakes.append(SettingsMistake(name, 1, len(text) - len(value) + 1, message))
        text = ""
    return SettingsDocument(name, text, Path.cwd(), notes)


def _is_toml(text: str) -> bool:
    try:
        load_toml(text)
    except ValueError:
        return False
    return True


def read_table(table: SettingsValue) -> tuple[dict[str, Any], dict[str, SettingsValue]]:
    """Return the settings in a table and their positions, by fields of ``Settings``; mistakes are recorded."""
    values: dict[str, Any] = {}
    origins: dict[str, SettingsValue] = {}
    if not isinstance(table.data, dict):
        table.wrong(f"{quoted(table.key)} must be a table")
        return values, origins
    for item in table.items():
        present = FORMER.get(item.key, item.key)
        if present != item.key:
            item.warn(f'"{item.key}" is deprecated; use "{present}"', key=True)
        key = KEYS.get(present)
        if key is None:
            fact, allowed = f"unknown key {quoted(item.key)}", f"allowed are {quoted_list(sorted(KEYS))}"
            item.wrong(unknown_name(fact, item.key, KEYS, allowed), key=True)
            continue
        values[key.field] = key.kind.read(item)
        origins[key.field] = item
    return values, origins


def read_settings(document: SettingsDocument, *, untrusted: bool = False) -> Settings:
    """Return the settings of a configuration file; mistakes are recorded in the document's notes.

    Args:
        document: the file.
        untrusted: whether only settings that make a check stricter count.
    """
    table = table_of(document)
    values, origins = read_table(table) if table is not None else ({}, {})
    if document.notes.mistakes:
        return Settings()
    origin = document.path
    settings = Settings(origin=origin, operators_from=str(origin))
    if untrusted:
        values, left_out = trusted_subset(values, origins, document.folder)
        origins = {field: origins[field] for field in values}
        settings = replace(settings, untrusted_settings=tuple(left_out))
    return settings.with_layer(values, origins, str(origin))


class SettingsOfFiles:
    """The settings of each derivatives file.

    The order of precedence is: the command line, ``--config KEY=VALUE``, then the configuration nearest to the file or
    the one of ``--config PATH``.

    Attributes:
        untrusted: whether the repository is not trusted.
    """

    def __init__(
        self,
        no_config: bool,
        config: Sequence[str] = (),
        *,
        untrusted: bool = False,
        config_name: str = OPTION,
        **options: Any,
    ) -> None:
        """Create the settings from the options of the command line.

        Args:
            no_config: whether to read no configuration file.
            config: the values of ``--config``: a path, or ``KEY=VALUE``.
            untrusted: whether the repository is not trusted, so that only stricter settings of its configurations
                count; the environment may request that as well.
            config_name: the name of ``config`` in messages.
            options: the values of options by field; None and empty values are unset.

        Raises:
            InputError: two files are named, or one together with ``no_config``.
        """
        files = [item for item in config if "=" not in item or os.path.isfile(item)]
        if len(files) > 1:
            raise InputError(f"{OPTION} accepts one file, not {len(files)}")
        if files and no_config:
            raise InputError(f"{OPTION} FILE and --isolated exclude each other")
        self.untrusted = untrusted or is_requested()
        self._no_config = no_config
        self._notes = Notes()
        self._options = {name: self._resolved(name, value) for name, value in options.items()}
        self._config_name = config_name
        documents = [pair(item, self._notes, config_name) for item in config if item not in files]
        self._pairs = [read_table(SettingsValue(document, (), document.data)) for document in documents]
        self._named: tuple[Settings, Notes] | None = None
        if files:
            notes = Notes()
            document = read_document(Path(files[0]).absolute(), notes)
            self._named = (Settings() if document is None else read_settings(document)), notes
        self._by_folder: dict[Path, tuple[Settings, Notes]] = {}

    def _resolved(self, name: str, value: Any) -> Any:
        """Return the value of an option, with rule names resolved."""
        if name not in ("select", "ignore", "extend_select"):
            return value
        selectors = [resolve(text) for text in value or ()]
        self._notes.mistakes += [
            SettingsMistake("", 0, 0, item.mistake) for item in selectors if item.mistake is not None
        ]
        self._notes.warnings += [
            SettingsMistake("", 0, 0, item.warning) for item in selectors if item.warning is not None
        ]
        return tuple(item.selector for item in selectors)

    def _nearest(self, folder: Path) -> tuple[Settings, Notes]:
        """Return the settings of the configuration nearest to a folder."""
        nearest = self._by_folder.get(folder)
        if nearest is None:
            notes = Notes()
            document = configuration_in(folder, notes, untrusted=self.untrusted)
            if document is not None:
                nearest = read_settings(document, untrusted=self.untrusted), notes
            elif notes.mistakes or folder.parent == folder:
                nearest = Settings(), notes
            else:
                nearest = self._nearest(folder.parent)
            self._by_folder[folder] = nearest
        return nearest

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of all documents, without duplicates."""
        notes = [self._notes, *(notes for _, notes in self._by_folder.values())]
        if self._named is not None:
            notes.append(self._named[1])
        return tuple(dict.fromkeys(str(item) for part in notes for item in part.warnings))

    def of_folder(self, folder: Path) -> Settings:
        """Return the settings of the files in a folder.

        Raises:
            ConfigurationError: a configuration cannot be read, or it or the command line has mistakes.
        """
        settings, notes = self._named or ((Settings(), Notes()) if self._no_config else self._nearest(folder.resolve()))
        mistakes = [*self._notes.mistakes, *notes.mistakes]
        if mistakes:
            raise ConfigurationError(mistakes)
        for values, origins in self._pairs:
            settings = settings.with_layer(values, origins, self._config_name)
        if self.untrusted:
            settings = replace(settings, untrusted=True)
        return settings.overridden(**self._options)

    def of_folders(self, folders: Iterable[Path]) -> list[Settings]:
        """Return the settings of several folders.

        Raises:
            ConfigurationError: a configuration has mistakes; the error lists those of all.
        """
        settings: list[Settings] = []
        mistakes: list[SettingsMistake] = []
        for folder in folders:
            try:
                settings.append(self.of_folder(folder))
            except ConfigurationError as error:
                mistakes += error.mistakes
        if mistakes:
            raise ConfigurationError(mistakes)
        return settings


def find_settings(folder: Path) -> Settings:
    """Return the settings of the configuration nearest to a folder.

    Raises:
        ConfigurationError: the configuration cannot be read, or has mistakes.
    """
    return SettingsOfFiles(no_config=False).of_folder(folder)
