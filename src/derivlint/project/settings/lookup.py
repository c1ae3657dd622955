"""The settings of each derivatives file: of the configuration nearest to it, with the command line's on top."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from derivlint.project.errors import InputError
from derivlint.project.settings.document import ConfigurationError, Notes, SettingsMistake, SettingsValue
from derivlint.project.settings.reading import (
    OPTION,
    configuration_in,
    pair,
    read_document,
    read_settings,
    read_table,
)
from derivlint.project.settings.selection import resolve
from derivlint.project.settings.settings import Settings
from derivlint.project.untrusted import is_requested


class SettingsOfFiles:
    """The settings of each derivatives file.

    The command line comes before ``--config KEY=VALUE``, which comes before the configuration nearest to the file, or
    before the one file that ``--config PATH`` names.

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
        """Take the options of the command line.

        Args:
            no_config: whether no file is read.
            config: the values of ``--config``: the name of a file, or ``KEY=VALUE``.
            untrusted: whether the repository is not trusted, so that of the configurations that are found in it only
                stricter settings count; the environment may request that as well.
            config_name: what messages call ``config``.
            options: the values of options by field; None and empty ones are not set.

        Raises:
            InputError: two files are named, or one although none is to be read.
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
        self._named = self._read_named(Path(files[0])) if files else None
        self._by_folder: dict[Path, tuple[Settings, Notes]] = {}

    def _resolved(self, name: str, value: Any) -> Any:
        """The value of an option; the names of rules are looked up."""
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

    def _read_named(self, path: Path) -> tuple[Settings, Notes]:
        notes = Notes()
        document = read_document(path.absolute(), notes)
        return (Settings() if document is None else read_settings(document)), notes

    def _nearest(self, folder: Path) -> tuple[Settings, Notes]:
        """The settings of the configuration nearest to a folder."""
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
        """The warnings of all documents, each once."""
        notes = [self._notes, *(notes for _, notes in self._by_folder.values())]
        if self._named is not None:
            notes.append(self._named[1])
        return tuple(dict.fromkeys(str(item) for part in notes for item in part.warnings))

    def of_folder(self, folder: Path) -> Settings:
        """The settings of the files in a folder.

        Raises:
            ConfigurationError: a configuration cannot be read or has mistakes, or the command line has.
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
        """The settings of several folders.

        Raises:
            ConfigurationError: with the mistakes of all configurations.
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
    """The settings of the configuration nearest to a folder.

    Raises:
        ConfigurationError: it cannot be read, or has mistakes.
    """
    return SettingsOfFiles(no_config=False).of_folder(folder)
