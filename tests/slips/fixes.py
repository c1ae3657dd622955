"""Several slips in a few entries, and what fixes make of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from derivlint.lint import Diagnostic
from derivlint.model import build_model
from derivlint.project.check import CheckedFile, check_source
from derivlint.project.fixing import FixedFile, fix_source
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.mutators.syntax import Change
from tests.slips.generate import KINDS, STRUCTURAL, changes_of, parts

COMMENT = "  # derivlint: ignore[missing-conjugate] reviewed"
CONJ = ".conj()"
#: How many entries a text has, and how many slips.
ENTRIES, MOST_SLIPS = 5, 4
#: Slips in the formula that has the comment: what it silences is still there.
_BESIDE_COMMENT = ("misspelt variable", "misspelt function", "arrow", "semicolon", "lost closing bracket")


@dataclass(frozen=True, slots=True)
class FixedTwice:
    """What fixes make of a text.

    Attributes:
        text: the text.
        safe: what safe fixes make of it.
        unsafe: what all fixes make of it.
        again: what all fixes make of that.
    """

    text: str
    safe: FixedFile
    unsafe: FixedFile
    again: FixedFile

    @property
    def comments(self) -> tuple[int, ...]:
        """How many comments silence findings: in the text, and after fixes."""
        return tuple(text.count(COMMENT) for text in (self.text, self.safe.text, self.unsafe.text))

    @property
    def lost(self) -> list[Diagnostic]:
        """The findings that safe fixes fix and all fixes together do not."""
        made = {(item.rule, item.entry, item.key, item.message) for item in self.unsafe.fixed}
        return [item for item in self.safe.fixed if (item.rule, item.entry, item.key, item.message) not in made]


class Fixer:
    """Makes slips in parts of a file, and fixes them."""

    def __init__(self, source: SourceFile, natives: NativeFunctions) -> None:
        self._natives = natives
        self._parts = [source.text[start:end] for start, end in parts(source.text)]
        self._rules = Settings().selected(load_rules())
        self._commented = [text for part in self._parts if (text := self._with_comment(part)) is not None]

    def _check(self, source: SourceFile) -> CheckedFile:
        return check_source(source, self._natives, Settings(), self._rules)

    def _with_comment(self, part: str) -> str | None:
        """An entry without a conjugate, which a comment silences; None where nothing would be found."""
        lines = part.split("\n")
        plain = [
            at for at, line in enumerate(lines) if CONJ in line and line[-1] == ")" and not set(line) & set("\"'#")
        ]
        if not plain:
            return None
        at = plain[0]
        lines[at] = lines[at].replace(CONJ, "", 1) + COMMENT
        text = "\n".join(lines)
        checked = self._check(SourceFile("derivatives.yaml", text))
        return text if checked.suppressed == 1 and not checked.shown else None

    def fixed(self, seed: int) -> FixedTwice:
        """What fixes make of a set of slips."""
        drawn = random.Random(seed)
        chosen = [*drawn.sample(self._parts, ENTRIES - 1), drawn.choice(self._commented)]
        text = "\n".join(chosen)
        model = build_model(SourceFile("derivatives.yaml", text), self._natives)
        entries = list(zip(model.entries, parts(text), strict=True))
        kinds = [kind for kind in KINDS if kind not in STRUCTURAL]
        found: list[Change] = []
        for _ in range(drawn.randint(1, MOST_SLIPS)):
            entry, part = drawn.choice(entries)
            made = list(changes_of(drawn.choice(kinds), text, entry.formulas, part))
            # the comment is not what is changed
            found += [drawn.choice(made)[1]] if made and COMMENT not in text[part[0] : part[1]] else []
        commented = text.count("\n", 0, text.index(COMMENT))
        entry, part = entries[-1]
        made = [
            each
            for kind in _BESIDE_COMMENT
            for each in changes_of(kind, text, entry.formulas, part)
            if text.count("\n", 0, each[1][0]) == commented
        ]
        found += [drawn.choice(made)[1]] if made else []
        for start, end, replacement in sorted(_disjoint(found), reverse=True):
            text = text[:start] + replacement + text[end:]
        source = SourceFile("derivatives.yaml", text)
        safe, unsafe = (fix_source(source, self._check, unsafe=each) for each in (False, True))
        return FixedTwice(text, safe, unsafe, fix_source(unsafe.result, self._check, unsafe=True))


def _disjoint(found: Sequence[Change]) -> list[Change]:
    """The changes that do not touch each other."""
    kept: list[Change] = []
    for start, end, text in found:
        if all(end < other[0] or other[1] < start for other in kept):
            kept.append((start, end, text))
    return kept
