"""The formulas of an entry that are wrong on small tensors, computed once."""

from __future__ import annotations

from derivlint.analysis.dependence.linearity import is_for_tests
from derivlint.analysis.dispatch import valid_bodies
from derivlint.analysis.formula_analyses import analyses_of
from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.analysis.shapes.judgement import shape_judgement_of
from derivlint.analysis.small_tensors.compare import WrongValues, wrong_values
from derivlint.model import Entry, Model


def small_tensors_of(model: Model, entry: Entry) -> tuple[WrongValues, ...]:
    """The formulas of an entry that are wrong on small tensors, without those that other analyses refute."""
    return model.ask(_judged, model, entry)


def _judged(model: Model, entry: Entry) -> tuple[WrongValues, ...]:
    if entry.function is None or is_for_tests(entry):
        return ()
    judged = judgement_of(model, entry)
    refuted = {item.formula for item in (*judged.wrong, *judged.contradictions)}
    refuted |= {formula for item in judged.shares for formula in item.formulas}
    refuted |= {item.formula for item in shape_judgement_of(model, entry)}
    analyses = analyses_of(model)
    # what is not linear has no right value
    refuted |= {interpretation.formula for interpretation in analyses.interpretations(entry) if interpretation.culprits}
    wrong: list[WrongValues] = []
    for body in valid_bodies(model, entry):
        differentiability = model.canonical_differentiability(body)
        if differentiability is not None:
            wrong += wrong_values(differentiability, analyses.formulas_of(body), refuted)
    return tuple(wrong)
