"""Certain mistakes in the formulas of an entry: syntax, types, nonlinearity, refuted values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from derivlint.analysis.dependence.automatic import wrong_automatic
from derivlint.analysis.dependence.linearity import without_seed
from derivlint.analysis.dispatch import is_for_tests
from derivlint.analysis.formula_analyses import analyses_of
from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.analysis.shapes.compare import shape_judgement_of
from derivlint.analysis.small_tensors.compare import small_tensors_of
from derivlint.cpp.problem import ACCEPTED
from derivlint.model import DerivativeFormula, DispatchBody, Entry, Model
from derivlint.model.model import probe_model
from derivlint.model.scope import undeclared_names

MistakeKind = Literal["syntax", "name", "type", "value"]


class Unsound(Struct, frozen=True):
    """A certain mistake in a formula.

    Attributes:
        dispatch: the dispatch key of the formula.
        key: the key of the formula.
        kind: the kind of mistake.
        facts: the details that identify it.
    """

    dispatch: str
    key: str
    kind: MistakeKind
    facts: tuple[str, ...] = ()


def unsound(model: Model, entry: Entry) -> Counter[Unsound]:
    """Count the certain mistakes in the formulas of an entry."""
    mistakes = Counter(_read(model, entry))
    # count a refuted formula once, regardless of the number of inputs
    mistakes.update(dict.fromkeys(_refuted(model, entry), 1))
    return mistakes


def _read(model: Model, entry: Entry) -> Iterator[Unsound]:
    for formula in entry.formulas:
        if formula.parsed.problems and formula.is_expression:
            yield _problem(formula, "syntax")
        for name in undeclared_names(formula):
            yield _problem(formula, "name", name.word.text)
    for item in model.type_problems(entry):
        problem = item.problem
        if problem.kind not in ACCEPTED:
            yield _problem(item.written, "type", problem.kind.value, problem.name, *map(str, problem.actual))


def _refuted(model: Model, entry: Entry) -> Iterator[Unsound]:
    if entry.function is None or is_for_tests(entry):
        return
    for interpretation in analyses_of(model).interpretations(entry):
        if interpretation.culprits:
            yield _problem(interpretation.formula.written, "value", "not linear")
    for backward in (True, False):
        for interpretation, _ in without_seed(analyses_of(model), entry, backward=backward):
            yield _problem(interpretation.formula.written, "value")
    for body in entry.bodies:
        for automatic in wrong_automatic(analyses_of(model), body):
            yield _problem(automatic.written, "value")
    judgement = judgement_of(model, entry)
    for item in (*judgement.wrong, *judgement.contradictions):
        yield _problem(item.formula.written, "value")
    for shares in judgement.shares:
        for formula in shares.formulas:
            yield _problem(formula.written, "value")
    for several in small_tensors_of(model, entry):
        yield _problem(several.formula.written, "value")
    for shape in shape_judgement_of(model, entry):
        yield _problem(shape.formula.written, "value")


def _problem(formula: DerivativeFormula, kind: MistakeKind, *facts: str) -> Unsound:
    return Unsound(formula.body.key, formula.key_text, kind, facts)


def first_mistake(model: Model, entry: Entry, key: str) -> Unsound | None:
    """The first certain mistake in the formula under a key; further analyses are skipped."""
    mistakes = (item for analysis in (_read, _refuted) for item in analysis(model, entry))
    return next((item for item in mistakes if item.key == key), None)


def is_accepted(model: Model, formula: DerivativeFormula, text: str) -> bool:
    """Whether another text in place of a formula compiles and its values are not refuted."""
    probe = with_formula(model, formula.body, formula.key_text, text)
    if probe is None or len(probe.entries) != 1:
        return False
    return first_mistake(probe, probe.entries[0], formula.key_text) is None


def with_formula(
    model: Model, body: DispatchBody, key: str, text: str, *, alone: bool = False, narrow: bool = False
) -> Model | None:
    """Build an entry with another text under one key, outside its file.

    Args:
        model: the model of the file.
        body: the formulas of the entry for one dispatch key.
        key: the key, possibly a new one.
        text: the formula.
        alone: whether to omit the other formulas.
        narrow: whether to omit operators generated from the entry's.
    """
    schema = body.entry.name
    if schema is None:
        return None
    texts = {} if alone else {sibling.key_text: sibling.text or "" for sibling in body.formulas}
    texts[key] = text
    formulas = (f"  {_quoted(key)}: {_quoted(value)}" for key, value in texts.items())
    lines = [f"- name: {_quoted(schema.value)}", *formulas]
    return probe_model("\n".join(lines) + "\n", model, narrow=narrow)


def _quoted(text: str) -> str:
    return "'" + " ".join(text.split()).replace("'", "''") + "'"
