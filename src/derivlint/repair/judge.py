"""The judge of candidates: the checker, on the file with a candidate in place.

Most candidates are wrong, and are rejected by the first certain mistake of their formula alone. The others are put into
the file, and the rules check the entry there. A candidate with a finding is rejected.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from derivlint.analysis.judged import JudgedFormula, judged_formulas
from derivlint.analysis.soundness import is_sound, with_formula
from derivlint.lint.diagnostic import Diagnostic, Fix, TextEdit
from derivlint.lint.edits import formula_fix, quoted_formula_fix
from derivlint.lint.engine.run import SUPPRESSIONS, Checker
from derivlint.lint.rule import Rule
from derivlint.lint.severity import Severity
from derivlint.model import DispatchBody, Entry, Model, Role
from derivlint.model.memos import Memos
from derivlint.model.model import build_models
from derivlint.repair.candidates import Candidate, Target, edited
from derivlint.source import SourceFile


class Accepted(Struct, frozen=True):
    """A candidate without findings.

    Attributes:
        candidate: the candidate.
        edits: the edits of the file that put it in place.
        judged: what is checked of it, or None if the operator's function is not known.
    """

    candidate: Candidate
    edits: tuple[TextEdit, ...]
    judged: JudgedFormula | None


class Judge:
    """Checks candidates in one file.

    Attributes:
        model: the model of the file.
    """

    def __init__(self, source: SourceFile, like: Model, rules: Iterable[Rule], memos: Memos | None = None) -> None:
        """Build the model of a file again, with memos of its own.

        Args:
            source: the file.
            like: its model, or one with the same operators.
            rules: the rules whose findings reject a candidate.
            memos: the memos of earlier texts that only judges used.
        """
        self._rules = tuple(rule for rule in rules if rule.target != SUPPRESSIONS)
        self._memos = memos if memos is not None else Memos()
        self._like = like
        self.model = self._build(source)

    def of(self, source: SourceFile) -> Judge:
        """Return the judge of another text of the file."""
        self.model.end_revision()
        return Judge(source, self._like, self._rules, self._memos)

    def _build(self, source: SourceFile) -> Model:
        like = self._like
        return build_models(source, like.natives, like.layout, like.version, memos=self._memos)[0]

    def findings(self, entry: Entry) -> tuple[Diagnostic, ...]:
        """The findings in one entry."""
        return _findings(self.model, entry, self._rules)

    def verdict(self, target: Target, candidate: Candidate) -> Accepted | None:
        """Check a candidate: the cheap analyses of its formula first, then the rules on the file with it in place.

        Returns:
            the candidate with its proof, or None if anything is found.
        """
        # tangents are declared by the backward formulas of their arguments
        alone = target.formula is not None and target.formula.role is Role.BACKWARD
        probe = with_formula(self.model, target.body, target.key, candidate.text, alone=alone)
        if probe is None or len(probe.entries) != 1 or not is_sound(probe, probe.entries[0], target.key):
            return None
        edits = edits_for(target, candidate)
        if not edits:
            return None
        source = self.model.source
        after = self._build(SourceFile(source.path, edited(source.text, edits), source.undecodable))
        try:
            return self._verdict(after, target, candidate, edits)
        finally:
            after.end_revision()

    def _verdict(
        self, after: Model, target: Target, candidate: Candidate, edits: tuple[TextEdit, ...]
    ) -> Accepted | None:
        if len(after.entries) != len(self.model.entries):
            return None
        entry = after.entries[target.body.entry.index]
        body = next((body for body in entry.bodies if body.key == target.body.key), None)
        if body is None or any(map(_Rejection(target).rejects, _findings(after, entry, self._rules))):
            return None
        return Accepted(candidate, edits, _judged(after, body, target.key))


class _Rejection(Struct):
    """Which findings reject a candidate: those about its formula, and those of the entry that were not there before."""

    target: Target

    def rejects(self, finding: Diagnostic) -> bool:
        before = {(item.rule, item.key, item.message) for item in self.target.findings}
        is_own = finding.key == self.target.key and finding.dispatch == self.target.body.key
        if is_own and finding.severity is not Severity.INFO:
            return True
        return (finding.rule, finding.key, finding.message) not in before


def _findings(model: Model, entry: Entry, rules: tuple[Rule, ...]) -> tuple[Diagnostic, ...]:
    checker = Checker(model, rules)
    return checker.result([checker.entry(entry)]).diagnostics


def _judged(model: Model, body: DispatchBody, key: str) -> JudgedFormula | None:
    return next((item for item in judged_formulas(model, body) if item.written.key_text == key), None)


def edits_for(target: Target, candidate: Candidate) -> tuple[TextEdit, ...]:
    """The edits of the file that put a candidate in place; none if they cannot be written."""
    formula = target.formula
    if formula is None or formula.text is None:
        return ()
    title, whole = "", (0, len(formula.text), candidate.text)
    fix: Fix | None = None
    if candidate.edits:
        fix = formula_fix(formula, title, candidate.edits)
    fix = fix or formula_fix(formula, title, [whole]) or quoted_formula_fix(formula, title, whole)
    return fix.edits if fix is not None else ()
