"""The type of a scalar by YAML 1.1's implicit resolution, as in PyYAML's SafeLoader.

Follows yaml/resolver.py and yaml/constructor.py of PyYAML 6, because PyTorch's code generator loads the file with it:
``on`` and ``no`` are booleans, ``1:30`` is 90, ``1e3`` is a string (no dot), ``0o7`` is a string.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, TypeAlias

ScalarKind: TypeAlias = Literal["str", "int", "float", "bool", "null", "timestamp", "merge", "binary", "other"]

YAML_TAG = "tag:yaml.org,2002:"

_KIND_OF_TAG: dict[str, ScalarKind] = {
    YAML_TAG + "str": "str",
    YAML_TAG + "int": "int",
    YAML_TAG + "float": "float",
    YAML_TAG + "bool": "bool",
    YAML_TAG + "null": "null",
    YAML_TAG + "timestamp": "timestamp",
    YAML_TAG + "merge": "merge",
    YAML_TAG + "binary": "binary",
}

#: Words in the spellings that YAML 1.1 allows: ``yes``, ``Yes``, ``YES``, not ``yEs``; ``y`` and ``n`` are strings.
_WORDS: dict[str, ScalarKind] = {"": "null", "~": "null", "<<": "merge", "=": "other"}
_WORDS.update((cased, "null") for cased in ("null", "Null", "NULL"))
_WORDS.update(
    (cased, "bool")
    for word in ("yes", "no", "true", "false", "on", "off")
    for cased in (word, word.capitalize(), word.upper())
)

#: The first characters of numbers and dates.
_NUMBER_STARTS = frozenset("-+.0123456789")

_FLOAT = (
    r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?"
    r"|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*"
    r"|[-+]?\.(?:inf|Inf|INF)"
    r"|\.(?:nan|NaN|NAN)"
)
_INT = (
    r"[-+]?0b[0-1_]+"
    r"|[-+]?0[0-7_]+"
    r"|[-+]?(?:0|[1-9][0-9_]*)"
    r"|[-+]?0x[0-9a-fA-F_]+"
    r"|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+"
)
_DATE = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?"
    r"(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?"
)


@lru_cache(maxsize=1)
def _number() -> re.Pattern[str]:
    # ``$`` as in PyYAML: a newline may follow, as in the value of the block scalar ``! |``.
    return re.compile(f"(?:(?P<float>{_FLOAT})|(?P<int>{_INT})|(?P<timestamp>{_DATE}))$")


def resolve_kind(value: str) -> ScalarKind:
    """The kind of an untagged plain scalar."""
    # The first character decides for nearly all scalars, which are names and formulas.
    if value[:1] in _NUMBER_STARTS:
        match = _number().match(value)
        if match is not None:
            return match.lastgroup  # type: ignore[return-value]
        return "str"
    # One newline may follow a word, as with PyYAML's ``$``.
    return _WORDS.get(value.removesuffix("\n") if value != "\n" else value, "str")


def kind_of_tag(tag: str) -> ScalarKind:
    """The kind of a scalar with an explicit tag."""
    return _KIND_OF_TAG.get(tag, "other")


def construct_problem(value: str, kind: ScalarKind) -> str | None:
    """The reason why SafeLoader cannot construct a scalar of a kind other than ``str``, or None."""
    try:
        if kind == "int":
            _check_int(value.replace("_", ""))
        elif kind == "float":
            _check_float(value.replace("_", ""))
        elif kind == "timestamp":
            _check_timestamp(value)
        elif kind == "bool":
            if _WORDS.get(value.lower()) != "bool":
                return "is not a boolean"
        elif kind == "binary":
            from base64 import decodebytes

            decodebytes(value.encode("ascii"))
    except (ValueError, OverflowError):
        return _REASONS[kind]
    return None


_REASONS: dict[str, str] = {
    "int": "is not an integer that can be loaded",
    "float": "is not a number that can be loaded",
    "timestamp": "is not a date that exists",
    "binary": "is not base64 text",
}

#: PyYAML multiplies by ``60 ** n`` for each group; ``60 ** 174`` is the first power that overflows a float.
_MAX_FLOAT_GROUPS = 174


def _check_int(value: str) -> None:
    digits = value[1:] if value[:1] in ("-", "+") else value
    if digits == "0":
        return
    if digits.startswith(("0b", "0x")):
        int(digits[2:], 2 if digits[1] == "b" else 16)
    elif digits.startswith("0"):
        int(digits, 8)
    else:
        for group in digits.split(":"):
            int(group)


def _check_float(value: str) -> None:
    digits = (value[1:] if value[:1] in ("-", "+") else value).lower()
    if digits in (".inf", ".nan"):
        return
    groups = digits.split(":")
    if len(groups) > _MAX_FLOAT_GROUPS:
        raise OverflowError
    for group in groups:
        float(group)


def _check_timestamp(value: str) -> None:
    from datetime import date, timedelta, timezone

    match = re.match(rf"(?:{_TIMESTAMP_PARTS})$", value)
    if match is None:
        raise ValueError
    year, month, day, hour, minute, second, zone_hour, zone_minute = (int(part or 0) for part in match.groups())
    date(year, month, day)
    if max(hour - 23, minute - 59, second - 59) > 0:
        raise ValueError
    timezone(timedelta(hours=zone_hour, minutes=zone_minute))


_TIMESTAMP_PARTS = (
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:(?:[Tt]|[ \t]+)([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]*)?"
    r"(?:[ \t]*(?:Z|[-+]([0-9]{1,2})(?::([0-9]{2}))?))?)?"
)
