"""The kinds of configuration values, with conversions and JSON schemas; and presets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from msgspec import Struct

import derivlint.rules
from derivlint.lint import Option, OptionValue, Severity
from derivlint.lint.wording import quoted, quoted_list, unknown_name
from derivlint.model import LAYOUTS, Layout
from derivlint.project.globs import PathGlob
from derivlint.project.settings.document import SettingsValue
from derivlint.project.settings.selection import resolve

#: The severity that disables a rule.
OFF = "off"

#: A fragment of a JSON schema.
Schema = dict[str, Any]


class WrongValueError(Exception):
    """An invalid value of a key."""


class ValueKind(Struct, frozen=True):
    """A kind of values.

    Attributes:
        expected: a description of valid values, as a phrase.
        convert: converts a value to a setting and records mistakes in parts of it; raises ``WrongValueError`` for
            another type.
        schema: the JSON schema of the parsed value.
    """

    expected: str
    convert: Callable[[SettingsValue], Any]
    schema: Schema

    def read(self, value: SettingsValue) -> Any:
        """Convert a value to a setting; record mistakes, and return None for an invalid value."""
        try:
            return self.convert(value)
        except WrongValueError:
            value.wrong(f"{quoted(value.key)} must be {self.expected}")
            return None


def _text(value: SettingsValue) -> str:
    if not isinstance(value.data, str):
        raise WrongValueError
    return value.data


def _path(value: SettingsValue) -> Path:
    text = _text(value)
    if "\0" in text:
        raise WrongValueError
    return value.folder / text


def _flag(value: SettingsValue) -> bool:
    if not isinstance(value.data, bool):
        raise WrongValueError
    return value.data


def _choice(values: Sequence[str], value: SettingsValue) -> str:
    text = _text(value)
    if text not in values:
        raise WrongValueError
    return text


def _elements(element: ValueKind, value: SettingsValue) -> tuple[Any, ...]:
    if not isinstance(value.data, list):
        raise WrongValueError
    return tuple(element.read(item) for item in value.items())


def list_of(element: ValueKind, expected: str) -> ValueKind:
    """Return the kind of lists with a kind of elements; each invalid element is reported at its own position."""
    # an element of a wrong kind is reported with the kind of the list: 'must be a list of paths'
    element_of_list = ValueKind(expected, element.convert, element.schema)
    return ValueKind(
        expected, lambda value: _elements(element_of_list, value), {"type": "array", "items": element.schema}
    )


def one_of(words: Sequence[str]) -> ValueKind:
    """Return the kind of values that are one of several words."""
    start = "one of " if len(words) > 1 else ""
    expected = start + ", ".join(map(quoted, words))
    return ValueKind(expected, lambda value: _choice(words, value), {"enum": list(words)})


def enum(values: type[Enum]) -> ValueKind:
    """Return the kind of values that are members of an enumeration, by their texts."""
    kind = one_of([str(item.value) for item in reversed(values)])
    return ValueKind(kind.expected, lambda value: values(kind.convert(value)), kind.schema)


TEXT = ValueKind("a text", _text, {"type": "string"})
TEXTS = list_of(TEXT, "a list of texts")
FLAG = ValueKind("true or false", _flag, {"type": "boolean"})
PATH = ValueKind("a path", _path, {"type": "string"})
PATHS = list_of(PATH, "a list of paths")
GLOB = ValueKind("a pattern", lambda value: PathGlob(_text(value), value.folder), {"type": "string"})
GLOBS = list_of(GLOB, "a list of patterns")


def _selector(value: SettingsValue) -> str | None:
    resolved = resolve(_text(value))
    if resolved.mistake is not None:
        value.wrong(resolved.mistake)
    elif resolved.warning is not None:
        value.warn(resolved.warning)
    return resolved.selector


#: A reference to the JSON schema of selectors, which is defined once.
SELECTOR = ValueKind("the name of a rule", _selector, {"$ref": "#/definitions/selector"})
SELECTORS = list_of(SELECTOR, "a list of rule names")


def _table(value: SettingsValue) -> list[SettingsValue]:
    if not isinstance(value.data, dict):
        raise WrongValueError
    return list(value.items())


def _rule_of_key(value: SettingsValue, *, patterns: bool) -> str | None:
    """Return the rule that a key of a table names."""
    resolved = resolve(value.key, patterns=patterns)
    if resolved.mistake is not None:
        value.wrong(resolved.mistake, key=True)
        return None
    if resolved.warning is not None:
        value.warn(resolved.warning, key=True)
    return resolved.selector


_LEVEL = one_of([*(severity.value for severity in reversed(Severity)), OFF])
_SEVERITY = ValueKind(
    _LEVEL.expected,
    lambda value: None if (level := _LEVEL.convert(value)) == OFF else Severity(level),
    _LEVEL.schema,
)


def _severities(value: SettingsValue) -> dict[str, Severity | None]:
    result = {}
    for item in _table(value):
        selector = _rule_of_key(item, patterns=True)
        severity = _SEVERITY.read(item)
        if selector is not None:
            result[selector] = severity
    return result


SEVERITIES = ValueKind(
    "a table of rule names and severities",
    _severities,
    {
        "type": "object",
        "propertyNames": {"$ref": "#/definitions/selector"},
        "additionalProperties": _SEVERITY.schema,
    },
)


_IGNORES: Schema = {"type": "object", "additionalProperties": SELECTORS.schema}
PATH_IGNORES = ValueKind(
    "a table of path patterns and lists of rule names",
    lambda value: {PathGlob(item.key, item.folder): SELECTORS.read(item) for item in _table(value)},
    _IGNORES,
)
OPERATOR_IGNORES = ValueKind(
    "a table of operators and lists of rule names",
    lambda value: {item.key: SELECTORS.read(item) for item in _table(value)},
    _IGNORES,
)


def option_kind(option: Option) -> ValueKind:
    """Return the kind of a rule's option, by its default."""
    default = option.default
    if isinstance(default, bool):
        return FLAG
    if isinstance(default, int):
        minimum = option.minimum

        def number(value: SettingsValue) -> int:
            if not isinstance(value.data, int) or isinstance(value.data, bool) or value.data < minimum:
                raise WrongValueError
            return value.data

        return ValueKind(f"a whole number of at least {minimum:,}", number, {"type": "integer", "minimum": minimum})
    if isinstance(default, str):
        return one_of(option.choices) if option.choices else TEXT
    return list_of(TEXT, "a list of texts")


def _options(value: SettingsValue) -> dict[str, dict[str, OptionValue]]:
    result = {}
    for table in _table(value):
        rule = _rule_of_key(table, patterns=False)
        if rule is not None:
            result[rule] = _options_of_rule(rule, table)
    return result


def _options_of_rule(rule: str, table: SettingsValue) -> dict[str, OptionValue]:
    kinds = {option.name: option_kind(option) for option in options_of(rule)}
    if not isinstance(table.data, dict):
        table.wrong(f"the options of {quoted(rule)} must be a table")
        return {}
    values = {}
    for item in table.items():
        kind = kinds.get(item.key)
        if kind is not None:
            values[item.key] = kind.read(item)
        elif not kinds:
            item.wrong(f"{quoted(rule)} has no options", key=True)
        else:
            fact = f"{quoted(rule)} has no option {quoted(item.key)}"
            item.wrong(unknown_name(fact, item.key, kinds, f"its options are {quoted_list(sorted(kinds))}"), key=True)
    return values


def options_of(rule: str) -> tuple[Option, ...]:
    """Return the options that a rule declares."""
    return derivlint.rules.load_rule(rule).meta.options if rule in derivlint.rules.NAMES else ()


#: The JSON schema of options, by rule; rules without options are omitted.
OPTIONS = ValueKind("a table of rule names and tables of options", _options, {"$ref": "#/definitions/options"})


def merged(lower: Mapping[Any, Any], upper: Mapping[Any, Any]) -> dict[Any, Any]:
    """Merge two tables recursively; values of the upper one take precedence."""
    result = dict(lower)
    for key, value in upper.items():
        before = result.pop(key, None)
        # the source of highest precedence comes last, so that its pattern decides
        result[key] = merged(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return result


class Preset(Struct, frozen=True):
    """The conventions of all derivatives files of a project.

    Attributes:
        layout: their layout.
        native_functions: the names of the files of native functions next to them, which declare the project's own
            operators and kernels.
        namespace: the namespace of the project's operators, if their schemas do not name it, else None.
    """

    layout: Layout
    native_functions: tuple[str, ...] = ()
    namespace: str | None = None


PRESETS = {
    "candle": Preset(LAYOUTS["candle"]),
    "torch_npu": Preset(LAYOUTS["torch_npu"], ("op_plugin_functions.yaml", "npu_native_functions.yaml"), "npu"),
}


def namespace_of(name: str) -> str | None:
    """Return the namespace of the custom operators in a file of native functions, by the file's name."""
    return next((preset.namespace for preset in PRESETS.values() if name in preset.native_functions), None)
