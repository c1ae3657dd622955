"""Whether fixes do what they promise: each is tried before it is offered.

A fix that leaves a formula which does not parse, has wrong types or is refuted by numbers, where none of that was so
before, is not offered. Only entries with fixes pay for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.analysis.small_tensors.judgement import small_tensors_of
from derivlint.cpp.problem import ACCEPTED
from derivlint.lint.diagnostic import Fix, TextEdit
from derivlint.model import Entry, Model
from derivlint.model.model import probe_model
from derivlint.source import Span

#: So many fixes of an entry are tried; further ones wait until those are made.
MAX_TRIALS = 24
#: Fixes in longer entries are not offered.
MAX_LENGTH = 20_000


class FixCheck:
    """Tries the fixes of one entry."""

    def __init__(self, model: Model, entry: Entry) -> None:
        self._model = model
        source = model.source.text
        start = source.rfind("\n", 0, entry.span.start) + 1
        self._range = Span(start, entry.span.end)
        self._text = source[start : entry.span.end]
        self._formulas = [formula.value_span for formula in entry.formulas]
        self._results: dict[str, Counter[tuple[str, ...]] | None] = {}

    def is_sound(self, fix: Fix) -> bool:
        """Whether a fix makes no formula of the entry wrong; true of a fix of anything else."""
        if not any(_overlap(edit.span, formula) for edit in fix.edits for formula in self._formulas):
            return True
        if any(not self._range.start <= edit.span.start <= edit.span.end <= self._range.end for edit in fix.edits):
            return True
        if len(self._text) > MAX_LENGTH or len(self._results) > MAX_TRIALS:
            return False
        before, after = self._problems(self._text), self._problems(self._edited(fix.edits))
        if before is None:
            # the entry cannot be taken out of its file
            return True
        return after is not None and not after - before

    def _edited(self, edits: Sequence[TextEdit]) -> str:
        text = self._text
        for edit in sorted(edits, key=lambda edit: edit.span, reverse=True):
            start, end = edit.span.start - self._range.start, edit.span.end - self._range.start
            text = text[:start] + edit.text + text[end:]
        return text

    def _problems(self, text: str) -> Counter[tuple[str, ...]] | None:
        """What is wrong with the formulas of an entry, None where the text is not one entry."""
        if text not in self._results:
            try:
                self._results[text] = _problems(probe_model(text, self._model))
            except Exception:  # what cannot be judged is not offered
                self._results[text] = None
        return self._results[text]


def _problems(model: Model) -> Counter[tuple[str, ...]] | None:
    if model.n_entries != 1 or model.document.problems:
        return None
    entry = model.entries[0]
    found: Counter[tuple[str, ...]] = Counter(
        ("syntax", expression.written.key_text if expression.written is not None else "")
        for expression in entry.expressions
        if expression.parsed.problems
    )
    for item in model.type_problems(entry):
        problem = item.problem
        if problem.kind not in ACCEPTED:
            found[("type", item.written.key_text, problem.kind.value, problem.name, str(problem.given))] += 1
    if entry.function is not None:
        judgement = judgement_of(model, entry)
        formulas = [item.formula for item in (*judgement.wrong, *judgement.contradictions)]
        formulas += [item.formula for item in small_tensors_of(model, entry)]
        found.update({("value", formula.written.key_text) for formula in formulas})
    return found


def _overlap(one: Span, other: Span) -> bool:
    return one.start <= other.end and other.start <= one.end
