"""What is certainly wrong with the formulas of an entry: syntax, types, and values that numbers refute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.analysis.small_tensors.judgement import small_tensors_of
from derivlint.cpp.problem import ACCEPTED
from derivlint.model import Entry, Model
from derivlint.model.scope import undeclared_names


class Unsound(Struct, frozen=True):
    """Something that is wrong.

    Attributes:
        key: the key of the formula.
        what: what is wrong.
        facts: what tells it from others.
    """

    key: str
    what: Literal["syntax", "name", "type", "value"]
    facts: tuple[str, ...] = ()


def unsound(model: Model, entry: Entry) -> Counter[Unsound]:
    """What is wrong with the formulas of an entry, and how often."""
    found = Counter(_read(model, entry))
    # a formula is refuted once, at however many inputs
    found.update(dict.fromkeys(_refuted(model, entry), 1))
    return found


def _read(model: Model, entry: Entry) -> Iterator[Unsound]:
    for formula in entry.formulas:
        if formula.parsed.problems and formula.is_expression:
            yield Unsound(formula.key_text, "syntax")
        for name in undeclared_names(formula):
            yield Unsound(formula.key_text, "name", (name.word.text,))
    for item in model.type_problems(entry):
        problem = item.problem
        if problem.kind not in ACCEPTED:
            facts = (problem.kind.value, problem.name, *map(str, problem.given))
            yield Unsound(item.written.key_text, "type", facts)


def _refuted(model: Model, entry: Entry) -> Iterator[Unsound]:
    if entry.function is None:
        return
    judgement = judgement_of(model, entry)
    for item in (*judgement.wrong, *judgement.contradictions):
        yield Unsound(item.formula.written.key_text, "value")
    for several in small_tensors_of(model, entry):
        yield Unsound(several.formula.written.key_text, "value")
