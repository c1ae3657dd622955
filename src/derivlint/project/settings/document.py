"""A configuration document: its values with their positions, and its mistakes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from derivlint.project.errors import InputError
from derivlint.project.settings.positions import KeyPlace, Way, places
from derivlint.source import SourceFile, Span
from derivlint.source.file import BOM
from derivlint.source.lazy import cached_property

#: The maximum number of mistakes and of warnings in a configuration.
MAX_MISTAKES = 50
#: The maximum number of dots in a line: the parser takes quadratic time in the parts of a key.
MAX_DOTS = 1000


class SettingsMistake(Struct, frozen=True):
    """A mistake in a configuration.

    Attributes:
        document: the name of its document; empty for options of the command line.
        line: the line, counted from 1.
        column: the column in code points, counted from 1.
        message: the message.
    """

    document: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.document}:{self.line}:{self.column}: {self.message}" if self.document else self.message


class ConfigurationError(InputError):
    """A configuration with mistakes, all reported at once.

    Attributes:
        mistakes: the mistakes.
    """

    def __init__(self, mistakes: Iterable[SettingsMistake]) -> None:
        self.mistakes = tuple(dict.fromkeys(mistakes))
        super().__init__(*map(str, self.mistakes))


def load_toml(text: str) -> dict[str, Any]:
    """Parse TOML.

    Raises:
        ValueError: the text is not TOML.
        RecursionError: the text is nested too deeply.
    """
    if any(line.count(".") > MAX_DOTS for line in text.split("\n")):
        raise RecursionError
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    parsed: dict[str, Any] = toml.loads(text)
    return parsed


class Notes(Struct, eq=False):
    """The mistakes and warnings of documents.

    Attributes:
        mistakes: the errors.
        warnings: the warnings.
    """

    mistakes: list[SettingsMistake] = field(default_factory=list)
    warnings: list[SettingsMistake] = field(default_factory=list)

    def check(self) -> None:
        """Raise if there are mistakes.

        Raises:
            ConfigurationError: there are mistakes.
        """
        if self.mistakes:
            raise ConfigurationError(self.mistakes)


class SettingsDocument:
    """The text of a configuration, parsed.

    Attributes:
        name: its name in messages.
        folder: the folder that its paths are relative to.
        data: the whole document.
        path: the file, or None for a document without one.
        notes: the collected mistakes and warnings.
    """

    def __init__(self, name: str, text: str, folder: Path, notes: Notes, path: Path | None = None) -> None:
        """Parse a text; if it is not TOML, record a mistake and leave the document empty."""
        self.name = name
        self.folder = folder
        self.notes = notes
        self.path = path
        # the parser rejects the byte order mark of some editors
        self._source = SourceFile(name, text.removeprefix(BOM))
        self.data: dict[str, Any] = {}
        try:
            self.data = load_toml(self._source.text)
        except ValueError as error:
            notes.mistakes.append(self._syntax_error(str(error)))
        except RecursionError:
            notes.mistakes.append(SettingsMistake(name, 1, 1, "is nested too deeply"))

    def _syntax_error(self, message: str) -> SettingsMistake:
        """Convert the parser's message, which ends with ``(at line 1, column 2)`` or ``(at end of document)``."""
        fact, _, where = message.rpartition(" (at ")
        words = where.rstrip(")").replace(",", "").split()
        if len(words) == 4 and words[1].isdigit() and words[3].isdigit():
            return SettingsMistake(self.name, int(words[1]), int(words[3]), f"no valid TOML: {_lower(fact)}")
        end = self._source.position(len(self._source.text))
        return SettingsMistake(self.name, end.line, end.column, f"no valid TOML: {_lower(fact or message)}")

    @cached_property
    def places(self) -> dict[Way, KeyPlace]:
        """The positions of all keys and values, computed when one is reported."""
        try:
            return places(self._source.text, load_toml)
        except RecursionError:
            return {}

    def place(self, way: Way, *, key: bool) -> tuple[int, int]:
        """Return the line and column of a key or a value."""
        place = self.places.get(way)
        span = Span(0, 0) if place is None else place.key if key and place.key is not None else place.value
        position = self._source.position(span.start)
        return position.line, position.column

    def value(self, *way: str) -> SettingsValue | None:
        """Return the value at the end of a path of tables, or None."""
        data: object = self.data
        for key in way:
            if not isinstance(data, dict) or key not in data:
                return None
            data = data[key]
        return SettingsValue(self, way, data)


class SettingsValue(Struct, frozen=True):
    """A value in a document.

    Attributes:
        document: the document.
        way: the path of keys and indexes to it.
        data: its parsed value.
    """

    document: SettingsDocument
    way: Way
    data: Any

    @property
    def key(self) -> str:
        """The key of the value, or of the array around it."""
        return next((part for part in reversed(self.way) if isinstance(part, str)), "")

    @property
    def folder(self) -> Path:
        """The folder that paths are relative to."""
        return self.document.folder

    @property
    def where(self) -> str:
        """The position, ``pyproject.toml:3:1``."""
        return str(self._note("", key=True)).removesuffix(": ")

    def items(self) -> Iterator[SettingsValue]:
        """The elements of an array, or the values of a table."""
        pairs = self.data.items() if isinstance(self.data, dict) else enumerate(self.data)
        for key, data in pairs:
            yield SettingsValue(self.document, (*self.way, key), data)

    def wrong(self, message: str, *, key: bool = False) -> None:
        """Record a mistake in the value, or in its key.

        Raises:
            ConfigurationError: there are too many mistakes.
        """
        mistakes = self.document.notes.mistakes
        mistakes.append(self._note(message, key=key))
        if len(mistakes) >= MAX_MISTAKES:
            raise ConfigurationError(
                [*mistakes, SettingsMistake("", 0, 0, f"more than {MAX_MISTAKES} mistakes are not shown")]
            )

    def warn(self, message: str, *, key: bool = False) -> None:
        """Record a warning about the value, or about its key."""
        if len(self.document.notes.warnings) < MAX_MISTAKES:
            self.document.notes.warnings.append(self._note(message, key=key))

    def _note(self, message: str, *, key: bool) -> SettingsMistake:
        line, column = self.document.place(self.way, key=key)
        return SettingsMistake(self.document.name, line, column, message)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
