"""Findings that are expected in the file of a release of PyTorch: conventions, gauge freedom, and defects of its own.

A line for each, with the reason. What a line says of a formula holds as long as the formula is the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from derivlint.project.errors import InputError
from derivlint.project.settings.document import load_toml

FOLDER = Path(__file__).parent / "data"
#: What a deviation can be: agreed on, free by nature, inputs that are confined to a manifold, or wrong in PyTorch.
KINDS = ("convention", "gauge", "manifold", "defect")

_REQUIRED = ("operator", "key", "rule", "kind", "formula", "reason")
#: The line that begins each table, where mistakes in it are reported.
_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*deviation[ \t]*\]\]", re.MULTILINE)
#: The operator, the key, the rule and the formula without differences in blanks.
Place = tuple[str, str, str, str]


def normalized(formula: str) -> str:
    """A formula without differences in blanks."""
    return " ".join(formula.split())


class Deviation(Struct, frozen=True):
    """One expected finding.

    Attributes:
        operator: the operator, ``cumprod``.
        key: the key of the formula.
        rule: the rule that finds it.
        kind: one of ``KINDS``.
        formula: the formula as it is written; another one is not expected to be found.
        reason: why it is expected.
        reference: where it is spoken of; empty where nowhere.
    """

    operator: str
    key: str
    rule: str
    kind: str
    formula: str
    reason: str
    reference: str = ""

    @property
    def place(self) -> Place:
        """What it is compared with findings by."""
        return self.operator, self.key, self.rule, normalized(self.formula)


def shipped_deviations(version: str | None) -> Path | None:
    """The file for a release of PyTorch; None where there is none."""
    if version is None:
        return None
    path = FOLDER / f"deviations-{version.partition('+')[0]}.toml"
    return path if path.is_file() else None


def read_deviations(path: Path) -> tuple[Deviation, ...]:
    """The deviations in a file.

    Raises:
        InputError: the file cannot be read or understood; the message has the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
        content = load_toml(text)
    except OSError as error:
        raise InputError(f'cannot read "{path}": {error.strerror or error}') from error
    except (ValueError, RecursionError) as error:
        raise InputError(f'"{path}" is not TOML: {error}') from error
    items = content.pop("deviation", [])
    if content:
        raise InputError(f'"{path}": "{next(iter(content))}" is not known; there is only [[deviation]]')
    if not isinstance(items, list):
        raise InputError(f'"{path}": "deviation" is not an array of tables')
    lines = [text.count("\n", 0, match.start()) + 1 for match in _HEADER.finditer(text)]
    # tables that are written inline have no header of their own
    places = [f'"{path}", line {line}' for line in lines] if len(lines) == len(items) else [f'"{path}"'] * len(items)
    known: dict[Place, str] = {}
    found = []
    for item, place in zip(items, places, strict=True):
        deviation = _deviation(item, place)
        if deviation.place in known:
            raise InputError(f"{place}: the same finding is expected at {known[deviation.place]}")
        known[deviation.place] = place
        found.append(deviation)
    return tuple(found)


def _deviation(item: Any, place: str) -> Deviation:
    if not isinstance(item, dict) or not all(isinstance(value, str) for value in item.values()):
        raise InputError(f"{place}: a deviation is a table of strings")
    unknown = [name for name in item if name not in Deviation.__struct_fields__]
    missing = [name for name in _REQUIRED if not item.get(name, "").strip()]
    if unknown or missing:
        word, names = ("unknown", unknown) if unknown else ("missing", missing)
        raise InputError(f"{place}: {word} in a deviation: {', '.join(names)}")
    if item["kind"] not in KINDS:
        raise InputError(f'{place}: no kind "{item["kind"]}"; there are {", ".join(KINDS)}')
    return Deviation(**item)


class Sorted(Struct):
    """Findings without those that are expected, and the deviations that were not found."""

    unexpected: list[Any]
    expected: list[tuple[Any, Deviation]]
    unused: list[Deviation]


def sort_out(findings: Sequence[tuple[Place, Any]], known: Iterable[Deviation]) -> Sorted:
    """Tell expected findings from others.

    Args:
        findings: each with operator, key, rule and formula.
        known: the deviations.
    """
    by_place = {each.place: each for each in known}
    result = Sorted([], [], [])
    used = set()
    for (operator, key, rule, formula), finding in findings:
        place = (operator, key, rule, normalized(formula))
        if place in by_place:
            used.add(place)
            result.expected.append((finding, by_place[place]))
        else:
            result.unexpected.append(finding)
    result.unused = [each for place, each in by_place.items() if place not in used]
    return result
