"""Slips in a whole file: each of a kind, at a place, in an entry."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from derivlint.model import DerivativeFormula, Model
from tests.mutators.entry_slips import ENTRY_SLIPS
from tests.mutators.formula_slips import FORMULA_SLIPS
from tests.mutators.rewrites import REWRITES, written_formulas
from tests.mutators.syntax import Change

_BETWEEN = re.compile(r"\n(\s*(#.*)?(\n|$))+\Z")
#: All kinds of slips.
KINDS = (*FORMULA_SLIPS, *ENTRY_SLIPS)
#: The kind that makes one entry of two.
MERGING = "deleted name"
#: What may make the YAML of the rest of the file another: such slips are made in a file of their own.
STRUCTURAL = frozenset({"indentation", "quote", "lost colon", "lost blank", MERGING, "duplicated entry"})


@dataclass(frozen=True, slots=True)
class Slip:
    """One slip.

    Attributes:
        kind: its kind.
        operator: the operator of the entry.
        part: where the text of the entry begins and ends, with what belongs to it.
        key: the span of the formula that is edited, None where it is the entry.
        start: where the replaced text begins.
        end: where it ends.
        text: what replaces it.
    """

    kind: str
    operator: str
    part: tuple[int, int]
    key: str | None
    start: int
    end: int
    text: str

    def applied(self, text: str) -> str:
        """The file with the slip."""
        return text[: self.start] + self.text + text[self.end :]

    @property
    def delta(self) -> int:
        """By how much what follows moves."""
        return len(self.text) - (self.end - self.start)

    def shown(self, text: str) -> str:
        """The edited lines before and after."""
        first = text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        before = text[first:last]
        after = text[first : self.start] + self.text + text[self.end : last]
        return f"{self.kind}: {self.operator}, {self.key}\n    - {before[:1500]}\n    + {after[:1500]}"


def parts(text: str) -> list[tuple[int, int]]:
    """Where the entries of a file begin and end, without the comments between them."""
    starts = [match.start() for match in re.finditer(r"^- ", text, re.MULTILINE)]
    return [
        (start, start + len(_BETWEEN.sub("\n", text[start:end])))
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True)
    ]


def slips(model: Model, seed: int, count: int, kinds: tuple[str, ...] = KINDS) -> list[Slip]:
    """Slips drawn at random: the kind first, so that rare ones come as often, then the place."""
    drawn = random.Random(seed)
    text = model.source.text
    found: list[Slip] = []
    seen: set[tuple[int, int, str]] = set()
    bounds = parts(text)
    entries = list(zip(model.entries, bounds, strict=True))
    while len(found) < count:
        kind = drawn.choice(kinds)
        for _ in range(2000):
            entry, part = drawn.choice(entries)
            changes = list(changes_of(kind, text, entry.formulas, part))
            if not changes:
                continue
            key, (start, end, replacement) = drawn.choice(changes)
            if (start, end, replacement) not in seen and text[start:end] != replacement:
                seen.add((start, end, replacement))
                found.append(Slip(kind, entry.operator or "", part, key, start, end, replacement))
            break
    return found


def equal_rewrites(model: Model, seed: int, count: int) -> list[Slip]:
    """Formulas written in another way that means the same, drawn as slips are."""
    drawn = random.Random(seed)
    formulas = written_formulas(model)
    bounds = parts(model.source.text)
    found: list[Slip] = []
    seen: set[tuple[int, int, str]] = set()
    while len(found) < count:
        kind = drawn.choice(sorted(REWRITES))
        for _ in range(2000):
            index = drawn.choice(sorted(formulas))
            changes = [(written.written, each) for written in formulas[index] for each in REWRITES[kind](written)]
            if not changes:
                continue
            formula, (start, end, replacement) = drawn.choice(changes)
            span = formula.range(start, end)
            if (span.start, span.end, replacement) not in seen:
                seen.add((span.start, span.end, replacement))
                operator = formula.entry.operator or ""
                found.append(Slip(kind, operator, bounds[index], formula.key_text, span.start, span.end, replacement))
            break
    return found


def changes_of(
    kind: str, text: str, formulas: list[DerivativeFormula], part: tuple[int, int]
) -> Iterator[tuple[str | None, Change]]:
    """The slips of a kind in an entry, each with the key of the formula that it is in."""
    if kind in ENTRY_SLIPS:
        begin = part[0]
        for start, end, replacement in ENTRY_SLIPS[kind](text[begin : part[1]]):
            yield None, (begin + start, begin + end, replacement)
        return
    for formula in formulas:
        if formula.text is None or not formula.is_exact():
            continue
        for start, end, replacement in FORMULA_SLIPS[kind](formula):
            span = formula.range(start, end)
            yield formula.key_text, (span.start, span.end, replacement)
