"""The keys of ``[tool.derivlint]``: the source of the reader, the JSON schema and the documentation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from msgspec import Struct

import derivlint.rules
from derivlint.lint import Confidence, Option, Severity
from derivlint.lint.option import GROUPS
from derivlint.project.globs import PathGlob
from derivlint.project.settings.kinds import (
    FLAG,
    GLOBS,
    OFF,
    OPERATOR_IGNORES,
    OPTIONS,
    PATH,
    PATH_IGNORES,
    PATHS,
    PRESETS,
    SELECTORS,
    SEVERITIES,
    TEXT,
    TEXTS,
    ValueKind,
    enum,
    one_of,
    option_kind,
    options_of,
)
from derivlint.project.settings.selection import ALL, Selection, known_names
from derivlint.project.settings.settings import Settings


class Key(Struct, frozen=True):
    """A key of the configuration.

    Attributes:
        name: the key; the field of ``Settings`` has the same name with underscores.
        kind: the kind of its values.
        doc: its effect, one sentence.
    """

    name: str
    kind: ValueKind
    doc: str

    @property
    def field(self) -> str:
        """The field of ``Settings`` that it fills."""
        return self.name.replace("-", "_")


_VERSION = ValueKind('a version, or "installed"', TEXT.convert, TEXT.schema)

KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        Key("paths", PATHS, "Derivatives files, folders or patterns to check if the command names none."),
        Key("exclude", GLOBS, "Files to skip in folders and patterns."),
        Key("force-exclude", FLAG, "Whether excluded files are skipped even if the command names them."),
        Key("native-functions", PATHS, "Files or patterns of files like native_functions.yaml; later ones win."),
        Key("tags", PATH, "The tags.yaml of the operators."),
        Key(
            "pytorch-operators",
            FLAG,
            "Whether declared operators extend PyTorch's; a complete native_functions.yaml replaces them.",
        ),
        Key("headers", PATHS, "C++ headers with functions that formulas call."),
        Key("helper-bodies", PATH, "The C++ source with the bodies of the functions that formulas call."),
        Key("torch", _VERSION, "The PyTorch release whose operators are used, or the installed one."),
        Key("preset", one_of(sorted(PRESETS)), "The conventions of a project's derivatives files."),
        Key("entries-key", TEXT, "The top-level key of the entries, if the file is not a plain list."),
        Key("versions-key", TEXT, "The top-level key of the list of versions."),
        Key("version-key", TEXT, "The key of an entry that names its versions."),
        Key("ignored-keys", TEXTS, "Additional keys of entries, without effect on derivatives."),
        Key("replaces-pytorch", FLAG, "Whether entries replace PyTorch's entries of the same operators."),
        Key("declares-operators", FLAG, "Whether an entry declares its operator if nothing else does."),
        Key("composites", FLAG, "Whether entries of composite operators are used; PyTorch's generator ignores them."),
        Key(
            "external-operators",
            TEXTS,
            "Patterns of operators declared in another repository; entries replace their declarations.",
        ),
        Key("foreach", FLAG, "Whether foreach operators share the formulas of their scalar operators, as in PyTorch."),
        Key("trailing-semicolons", FLAG, "Whether a formula may end with a semicolon, as before PyTorch 1.8."),
        Key(
            "formulas-in-cpp",
            FLAG,
            "Whether formulas are C++ compiled with PyTorch's headers; otherwise types are not checked.",
        ),
        Key("version", TEXT, "The version to check of a file with several. Default: all."),
        Key("select", SELECTORS, "The only rules to run: names, patterns, groups, or ALL."),
        Key("ignore", SELECTORS, "Rules not to run."),
        Key("extend-select", SELECTORS, "Rules to run in addition to the selected ones."),
        Key("preview", FLAG, "Whether preview rules run as well."),
        Key("severity", SEVERITIES, "The severity of each rule: error, warning, info, or off."),
        Key("options", OPTIONS, "Options of rules."),
        Key("per-file-ignores", PATH_IGNORES, "Rules to ignore in files that match a pattern."),
        Key("per-operator-ignores", OPERATOR_IGNORES, "Rules to ignore in entries of operators that match a pattern."),
        Key("require-ignore-reason", FLAG, "Whether comments that suppress findings must state a reason."),
        Key("baseline", PATH, "A file of findings not to report."),
        Key("min-severity", enum(Severity), "The lowest severity to report."),
        Key("min-confidence", enum(Confidence), "The lowest confidence to report."),
        Key("fail-level", enum(Severity), "The lowest severity that makes the command fail."),
    )
}

#: Current names of keys by their former names, which stay valid for a release.
FORMER = {"operators-elsewhere": "external-operators", "overrides": "replaces-pytorch"}


#: The text of a setting without a value.
UNSET = "unset"


def described(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Yield every key with its value as TOML and its origin, in the order of the table of keys."""
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
    """Return the effective selectors of ``select``, ``ignore`` or ``extend_select``; ``select`` resets earlier ones."""
    counting: list[str] = []
    off = {rule for rule, severity in settings.severity.items() if severity is None}
    for selection in settings.selections:
        if selection.select:
            counting.clear()
        names: Iterable[str] = getattr(selection, field)
        # disabled rules are shown with the severities
        counting += [name for name in names if field != "ignore" or name not in off]
    return tuple(dict.fromkeys(counting))


def toml(value: object) -> str:
    """Format a value as TOML on one line."""
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
    # JSON escapes are valid in TOML, except for DEL
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: object) -> str:
    text = key.pattern if isinstance(key, PathGlob) else str(key)
    bare = text.replace("-", "").replace("_", "")
    return text if bare.isascii() and bare.isalnum() else toml(text)


#: The path of the bundled schema.
SHIPPED = Path(__file__).parent.parent / "data" / "derivlint.schema.json"


def configuration_schema() -> dict[str, Any]:
    """Return the JSON schema of ``[tool.derivlint]`` and of ``derivlint.toml``."""
    former = [{"enum": sorted(derivlint.rules.RENAMED)}] if derivlint.rules.RENAMED else []
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "derivlint",
        "description": "Configuration of derivlint: derivlint.toml, or the table [tool.derivlint] of pyproject.toml.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **{key.name: {"description": key.doc, **key.kind.schema} for key in KEYS.values()},
            **{old: {"deprecated": True, "description": f'Use "{new}".'} for old, new in FORMER.items()},
        },
        "definitions": {
            "selector": {
                "description": "The name of a rule, a pattern of names, a group, or ALL.",
                "anyOf": [{"enum": [ALL, *GROUPS, *known_names()]}, *former, {"type": "string", "pattern": "[*?\\[]"}],
            },
            "options": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    rule: {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {option.name: _option(option) for option in options_of(rule)},
                    }
                    for rule in derivlint.rules.NAMES
                    if options_of(rule)
                },
            },
        },
    }


def _option(option: Option) -> dict[str, Any]:
    default = list(option.default) if isinstance(option.default, tuple) else option.default
    doc = option.doc[:1].upper() + option.doc[1:]
    return {"description": f"{doc}.", "default": default, **option_kind(option).schema}


def schema_text() -> str:
    """Return the text of the bundled schema."""
    return json.dumps(configuration_schema(), indent=1, ensure_ascii=False) + "\n"
