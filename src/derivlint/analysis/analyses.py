"""The analyses that most rules need, precomputed for many entries.

Running all analyses and rules entry by entry takes an eighth longer, since their code exceeds the processor's caches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from derivlint.analysis.formula_analyses import analyses_of
from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.analysis.shapes.compare import shape_judgement_of
from derivlint.analysis.small_tensors.compare import small_tensors_of
from derivlint.model import Entry, Model

#: The analyses of an entry in order of dependence: first those that other entries read,
COMMON: tuple[Callable[[Model, Entry], object], ...] = (
    lambda model, entry: entry.function,
    lambda model, entry: [body.info for body in entry.bodies],
)
#: then those that few other entries read.
ANALYSES: tuple[Callable[[Model, Entry], object], ...] = (
    lambda model, entry: model.functions_of(entry),
    lambda model, entry: model.type_problems(entry),
    lambda model, entry: analyses_of(model).interpretations(entry),
    judgement_of,
    shape_judgement_of,
    small_tensors_of,
)


def prepare(model: Model, entries: Sequence[Entry]) -> None:
    """Compute the facts that most analyses of any entry read."""
    _work_out(COMMON, model, entries)


def work_out(model: Model, entries: Sequence[Entry]) -> None:
    """Compute the analyses that most rules read."""
    _work_out((*COMMON, *ANALYSES), model, entries)


def _work_out(analyses: Sequence[Callable[[Model, Entry], object]], model: Model, entries: Sequence[Entry]) -> None:
    entries = [entry for entry in entries if entry.name is not None]
    for analysis in analyses:
        for entry in entries:
            # a rule that reads it will crash too, and be reported
            with suppress(Exception):
                analysis(model, entry)
