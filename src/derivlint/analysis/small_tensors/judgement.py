"""What small tensors say of the formulas of an entry, worked out once."""

from __future__ import annotations

from derivlint.analysis.dependence.linearity import is_for_tests
from derivlint.analysis.dispatch import valid_bodies
from derivlint.analysis.formula_analyses import analyses_of
from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.analysis.shapes.judgement import shape_judgement_of
from derivlint.analysis.small_tensors.compare import WrongValues, wrong_values
from derivlint.model import Entry, Model


def small_tensors_of(model: Model, entry: Entry) -> tuple[WrongValues, ...]:
    """The formulas of an entry that are wrong on small tensors, as far as nothing else shows it."""
    return model.ask(_judged, model, entry)


def _judged(model: Model, entry: Entry) -> tuple[WrongValues, ...]:
    if entry.function is None or is_for_tests(entry):
        return ()
    judged = judgement_of(model, entry)
    known = {item.formula for item in (*judged.wrong, *judged.contradictions)}
    known |= {formula for item in judged.shares for formula in item.formulas}
    known |= {item.formula for item in shape_judgement_of(model, entry)}
    analyses = analyses_of(model)
    # what is not linear has no right value
    known |= {each.formula for each in analyses.interpretations(entry) if each.culprits}
    found: list[WrongValues] = []
    for body in valid_bodies(model, entry):
        differentiability = model.canonical_differentiability(body)
        if differentiability is not None:
            found += wrong_values(differentiability, analyses.formulas_of(body), known)
    return tuple(found)
