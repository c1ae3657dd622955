"""The judge of candidates: the checker, on the file with a candidate in place.

Most candidates are wrong, and are rejected by the first certain mistake of their formula alone. The others are put into
the file, and the rules check the entry there. A candidate with a finding is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from derivlint.analysis.judged import JudgedFormula, Question, judged_formulas
from derivlint.analysis.scalar_evaluation.compare import Disagreement
from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.analysis.soundness import first_mistake, with_formula
from derivlint.lint.diagnostic import Diagnostic, Fix, Severity, TextEdit
from derivlint.lint.edits import edited, formula_fix, quote_text, quoted_formula_fix
from derivlint.lint.engine.incremental import check_text
from derivlint.lint.engine.run import SUPPRESSIONS, Checker
from derivlint.lint.rule import Rule
from derivlint.model import DispatchBody, Entry, Model, Role
from derivlint.model.memos import Memos
from derivlint.model.model import build_models
from derivlint.repair.candidates import Candidate, Target
from derivlint.source import SourceFile, Span

#: The rule about outputs without forward formula when another has one: several are written one by one.
PARTIAL = "missing-forward-output"
#: The distances from a right formula of mistakes that are not about values.
DISTANCES = ("type", "name", "syntax")
#: The distance of a formula without certain mistakes for each of its findings.
LEAST_DISTANCE = 1e-3
#: The factor on the cost of a candidate for each advice of the rules, and for each unchecked property.
COST_OF_DOUBT = 3
#: What makes a plain YAML scalar something else, at its beginning and anywhere.
_INDICATORS = frozenset("&*!|>'\"%@`#,[]{}?:-")
_SEPARATORS = (": ", " #")


class TorchRun(Struct, frozen=True):
    """A run of a candidate in the installed PyTorch that found nothing.

    Attributes:
        n_inputs: the number of inputs at which it equals finite differences.
        reason: why it was not compared, or empty.
    """

    n_inputs: int
    reason: str = ""


class Accepted(Struct, frozen=True):
    """A candidate without findings.

    Attributes:
        candidate: the candidate.
        edits: the edits of the file that write it.
        judged: its checked properties, or None if the operator's function is unknown.
        run: its run in PyTorch, or None if it was not run.
    """

    candidate: Candidate
    edits: tuple[TextEdit, ...]
    judged: JudgedFormula | None
    run: TorchRun | None = None

    @property
    def n_compared(self) -> int:
        """The number of inputs at which its value is compared with the operator's derivative."""
        judged = self.judged
        return 0 if judged is None else sum(judged.points.values()) + judged.n_tensors


class Judge:
    """Checks candidates in one file.

    Attributes:
        model: the model of the file.
        n_characters: the characters checked so far: candidate formulas, and entries with a candidate in place.
    """

    def __init__(
        self,
        source: SourceFile,
        like: Model,
        rules: Iterable[Rule],
        shows: Callable[[Diagnostic], bool],
        memos: Memos | None = None,
    ) -> None:
        """Build the model of a file again, with memos of its own.

        Args:
            source: the file.
            like: its model, or one with the same operators.
            rules: the rules whose findings reject a candidate.
            shows: returns whether a finding is shown; others count for nothing.
            memos: the memos of earlier texts that only judges used.
        """
        self._rules = tuple(rule for rule in rules if rule.target != SUPPRESSIONS)
        self._memos = memos if memos is not None else Memos()
        self._like = like
        self._shows = shows
        self.model = self._build(source)
        self.n_characters = 0

    def of(self, source: SourceFile) -> Judge:
        """Return the judge of another text of the file."""
        self.model.end_revision()
        return Judge(source, self._like, self._rules, self._shows, self._memos)

    def _build(self, source: SourceFile) -> Model:
        like = self._like
        return build_models(source, like.natives, like.layout, like.version, memos=self._memos)[0]

    def findings(self, entry: Entry) -> tuple[Diagnostic, ...]:
        """The findings in one entry, with fixes."""
        return self._findings(Checker(self.model, self._rules), entry)

    def wrong_entries(self) -> list[Entry]:
        """The entries with findings, in file order."""
        names = {item.entry for item in check_text(self.model, self._rules).result.diagnostics if self._shows(item)}
        return [entry for entry in self.model.entries if entry.operator in names]

    def _findings(self, checker: Checker, entry: Entry) -> tuple[Diagnostic, ...]:
        return tuple(filter(self._shows, checker.result([checker.entry(entry)]).diagnostics))

    def verdict(self, target: Target, candidate: Candidate) -> Accepted | float:
        """Check a candidate: the cheap analyses of its formula first, then the rules on the file with it in place.

        Returns:
            The candidate with its proof, or its distance from a right one if there are findings.
        """
        self.n_characters += len(candidate.text)
        distance = distance_of(self.model, target, candidate.text)
        edits = edits_for(target, candidate, self.model.source.text) if not distance else ()
        if not edits:
            return distance or LEAST_DISTANCE
        source = self.model.source
        after = self._build(SourceFile(source.path, edited(source.text, edits), source.undecodable))
        try:
            return self._verdict(after, target, candidate, edits)
        finally:
            after.end_revision()

    def _verdict(
        self, after: Model, target: Target, candidate: Candidate, edits: tuple[TextEdit, ...]
    ) -> Accepted | float:
        if len(after.entries) != len(self.model.entries):
            return 1 + len(DISTANCES)
        entry = after.entries[target.body.entry.index]
        self.n_characters += entry.span.end - entry.span.start
        body = next((body for body in entry.bodies if body.key == target.body.key), None)
        if body is None:
            return LEAST_DISTANCE
        before = {(item.rule, item.key, item.message) for item in target.findings}
        # most rejected candidates have a finding that the formula has, too
        names = {item.rule for item in target.findings}
        new: list[Diagnostic] = []
        for rules in ([rule for rule in self._rules if rule.name in names], self._rules):
            findings = self._findings(Checker(after, rules, chooses_fixes=False), entry)
            if target.formula is None:
                findings = tuple(item for item in findings if item.rule != PARTIAL)
            new = [item for item in findings if (item.rule, item.key, item.message) not in before]
            wrong = [
                item
                for item in findings
                if item.severity is not Severity.INFO
                and (item in new or (item.dispatch, item.key) == (target.body.key, target.key))
            ]
            if wrong:
                return LEAST_DISTANCE * len(wrong)
        judged = _judged(after, body, target.key)
        if judged is not None and not _is_judged_like(judged, _judged(self.model, target.body, target.key)):
            return LEAST_DISTANCE
        if candidate.is_guess and not (judged is not None and judged.n_tensors):
            return LEAST_DISTANCE
        n_doubts = len(judged.missing) if judged is not None else 0
        cost = candidate.cost + (len(new) + n_doubts) * COST_OF_DOUBT
        return Accepted(replace(candidate, cost=cost), edits, judged)


def distance_of(model: Model, target: Target, text: str) -> float:
    """The distance of a formula from a right one by the first certain mistake in it; 0 if there is none."""
    probe = _probe(model, target, text)
    if probe is None:
        return 1 + len(DISTANCES)
    mistake = first_mistake(probe, probe.entries[0], target.key)
    if mistake is None:
        return 0
    if mistake.kind != "value":
        return 1 + DISTANCES.index(mistake.kind)
    wrong = judgement_of(probe, probe.entries[0]).wrong
    return max(map(_relative_error, wrong), default=1)


def is_proved(model: Model, target: Target, text: str) -> bool:
    """Whether a formula without mistakes is compared, and every check of the present formula applies to it, too."""
    probe = _probe(model, target, text)
    judged = None if probe is None else _judged(probe, probe.entries[0].bodies[0], target.key)
    # an edit around an unknown function may only hide the finding
    if judged is None or not (judged.points or judged.n_tensors):
        return False
    return _is_judged_like(judged, _judged(model, target.body, target.key))


def _probe(model: Model, target: Target, text: str) -> Model | None:
    """The entry without the rest of the file, with a formula in place."""
    # tangents are declared by the backward formulas of their arguments
    alone = target.formula is not None and target.formula.role is Role.BACKWARD
    probe = with_formula(model, target.body, target.key, text, alone=alone, narrow=True)
    return probe if probe is not None and len(probe.entries) == 1 else None


def _relative_error(wrong: Disagreement) -> float:
    """The difference from the right value, from nearly 0 to 1."""
    error = abs(wrong.expected - wrong.actual)
    return max(LEAST_DISTANCE, float(error / (error + abs(wrong.expected))))


def _is_judged_like(judged: JudgedFormula, before: JudgedFormula | None) -> bool:
    """Whether every checked property of the present formula is checked for a candidate."""
    if before is None or len(judged.not_asked) == len(Question):
        return True
    if before.points.keys() - judged.points.keys() or (before.n_tensors and not (judged.n_tensors or judged.points)):
        return False
    return not any(before.is_judged(question) and question in judged.missing for question in Question)


def _judged(model: Model, body: DispatchBody, key: str) -> JudgedFormula | None:
    return next((item for item in judged_formulas(model, body) if item.written.key_text == key), None)


def edits_for(target: Target, candidate: Candidate, text: str) -> tuple[TextEdit, ...]:
    """The edits of the file that put a candidate in place; none if they cannot be written."""
    formula = target.formula
    if formula is None:
        return _insertion(target, candidate, text)
    if formula.text is None:
        return ()
    title, whole = "", (0, len(formula.text), candidate.text)
    fix: Fix | None = None
    if candidate.edits:
        fix = formula_fix(formula, title, candidate.edits)
    fix = fix or formula_fix(formula, title, [whole]) or quoted_formula_fix(formula, title, whole)
    return fix.edits if fix is not None else ()


def _insertion(target: Target, candidate: Candidate, text: str) -> tuple[TextEdit, ...]:
    """The edit that writes a formula under a key that is not there; none if the YAML of its entry has another form.

    Args:
        target: the key.
        candidate: the formula.
        text: the file.
    """
    formulas = target.body.formulas
    mapping = target.body.mapping
    if not formulas or mapping is None or mapping.flow:
        return ()
    last = formulas[-1]
    begin = last.key_span.start
    indent = text[text.rfind("\n", 0, begin) + 1 : begin]
    stop = text.find("\n", target.body.entry.place(last.value).end)
    stop = len(text) if stop < 0 else stop
    if indent.strip(" "):
        return ()
    value = candidate.text
    if value[0] in _INDICATORS or any(separator in value for separator in _SEPARATORS):
        value = quote_text(value)
    return (TextEdit(Span(stop, stop), f"\n{indent}{target.key}: {value}"),)
