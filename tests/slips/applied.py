"""Slips with what fixes make of them, held against the entry without the slip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from derivlint.analysis.soundness import unsound
from derivlint.model import Entry, Model, build_model
from derivlint.project.check import CheckedFile, check_source
from derivlint.project.fixing import FixedFile, fix_source
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.slips.generate import Slip


class AppliedFix(Struct, frozen=True):
    """A slip whose findings had fixes.

    Attributes:
        slip: the slip.
        before: the entry without the slip.
        slipped: the entry with it.
        after: the entry after all fixes.
        rules: the rules whose fixes were made.
        is_undone: whether the entry is the one without the slip again, apart from spaces and brackets.
        refuted: the formulas that fixes changed and that are wrong now.
    """

    slip: Slip
    before: str
    slipped: str
    after: str
    rules: tuple[str, ...]
    is_undone: bool
    refuted: tuple[str, ...]

    def shown(self) -> str:
        """The changed lines, and the rules."""
        texts = [text.splitlines() for text in (self.before, self.slipped, self.after)]
        lines = [f"{self.slip.kind}: {self.slip.operator}, fixed by {', '.join(self.rules)}"]
        common = set(texts[0]) & set(texts[1]) & set(texts[2])
        for sign, text in zip("-+=", texts, strict=True):
            lines += [f"    {sign} {line[:1000]}" for line in text if line not in common]
        return "\n".join([*lines, *(f"    now wrong: {problem}" for problem in self.refuted)])


class FixJudge:
    """Fixes slips, each in the text of its entry alone."""

    def __init__(self, source: SourceFile, natives: NativeFunctions) -> None:
        self._source = source
        self._natives = natives
        self._rules = Settings().selected(load_rules())

    @cached_property
    def model(self) -> Model:
        """The file without slips."""
        return self._model(self._source.text)

    def _model(self, text: str) -> Model:
        return build_model(SourceFile("derivatives.yaml", text), self._natives)

    def _check(self, source: SourceFile) -> CheckedFile:
        return check_source(source, self._natives, Settings(), self._rules)

    def applied(self, slips: Sequence[Slip]) -> Iterator[AppliedFix]:
        """Yield the slips that fixes change."""
        for slip in slips:
            start, end = slip.part
            before = self._source.text[start:end]
            slipped = slip.applied(self._source.text)[start : end + slip.delta]
            fixed = self._fixed(slipped)
            if fixed.changed:
                texts = (before, self._fixed(before).text, slipped, fixed.text)
                *originals, wrong, new = (self._model(text) for text in texts)
                yield AppliedFix(
                    slip,
                    before,
                    slipped,
                    fixed.text,
                    tuple(item.rule for item in fixed.fixed),
                    len(new.entries) == 1 and _is_one_of(new.entries[0], [model.entries[0] for model in originals]),
                    tuple(_refuted((originals[0], wrong), new)),
                )

    def _fixed(self, text: str) -> FixedFile:
        return fix_source(SourceFile("derivatives.yaml", text), self._check, unsafe=True)


def _refuted(earlier: Sequence[Model], fixed: Model) -> Iterator[str]:
    """What is wrong with formulas of the fixed text that no earlier one has, or only in an entry without function."""
    before = [
        {key: text for entry in model.entries if entry.function for key, text in _texts(entry).items()}
        for model in earlier
    ]
    for entry in fixed.entries:
        texts = _texts(entry)
        for item in unsound(fixed, entry):
            place = (item.dispatch, item.key)
            if item.kind == "value" and texts[place] not in [texts.get(place) for texts in before]:
                yield f"{item.key}: {item.kind} {' '.join(item.facts)}"


def _is_one_of(entry: Entry, originals: Sequence[Entry]) -> bool:
    """Whether schema, keys and formulas of an entry are, apart from spaces, those of one of others."""
    names = {original.name.value for original in originals if original.name is not None}
    if entry.name is None or entry.name.value not in names:
        return False
    texts = [_texts(original) for original in originals]
    mine = _texts(entry)
    return mine.keys() in [text.keys() for text in texts] and all(
        value in [text.get(key) for text in texts] for key, value in mine.items()
    )


def _texts(entry: Entry) -> dict[tuple[str, str], str]:
    return {(formula.body.key, formula.key_text): "".join((formula.text or "").split()) for formula in entry.formulas}
