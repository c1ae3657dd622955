"""Settings as the text of a configuration that would give them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path

from derivlint.project.globs import PathGlob
from derivlint.project.settings.keys import KEYS
from derivlint.project.settings.kinds import OFF
from derivlint.project.settings.selection import Selection
from derivlint.project.settings.settings import Settings

#: The text of a setting without a value.
UNSET = "unset"


def described(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Every key with its value as TOML and the place that it comes from, in the order of the table of keys."""
    for key in KEYS.values():
        yield key.name, _value(settings, key.field), settings.origin_of(key.field)


def _value(settings: Settings, field: str) -> str:
    if field in Selection.__struct_fields__:
        return toml(selectors(settings, field))
    value = getattr(settings, field)
    if field == "severity":
        value = {rule: OFF if severity is None else severity for rule, severity in value.items()}
    return UNSET if value is None else toml(value)


def selectors(settings: Settings, field: str) -> tuple[str, ...]:
    """The selectors of ``select``, ``ignore`` or ``extend_select`` that count: a ``select`` overrides all before it."""
    counting: list[str] = []
    off = {rule for rule, severity in settings.severity.items() if severity is None}
    for selection in settings.selections:
        if selection.select:
            counting.clear()
        names: Iterable[str] = getattr(selection, field)
        # what is turned off is shown with the severities
        counting += [name for name in names if field != "ignore" or name not in off]
    return tuple(dict.fromkeys(counting))


def toml(value: object) -> str:
    """A value as TOML on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(key)} = {toml(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, Enum):
        return toml(value.value)
    if isinstance(value, PathGlob):
        return toml(value.pattern)
    if isinstance(value, Path):
        return toml(str(value))
    # the escapes of JSON are those of TOML, but for DEL
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: object) -> str:
    text = key.pattern if isinstance(key, PathGlob) else str(key)
    bare = text.replace("-", "").replace("_", "")
    return text if bare.isascii() and bare.isalnum() else toml(text)
