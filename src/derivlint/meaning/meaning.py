"""The meaning of the formulas of one model, worked out when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar, cast

from derivlint.cpp.problem import ACCEPTED
from derivlint.meaning.interpret import Interpretation, Interpreter
from derivlint.meaning.operators import Operators
from derivlint.meaning.typed import TypedFormula, typed_formulas
from derivlint.model import DispatchBody, Entry, Model
from derivlint.model.entry import InFormula
from derivlint.model.gradients import gradients_of
from derivlint.model.scope import undeclared_names

T = TypeVar("T")


class Meaning:
    """What the formulas of a model mean; every answer is worked out once."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.operators = Operators(model)
        self._interpreter = Interpreter(self.operators)
        self._formulas: dict[int, tuple[TypedFormula, ...]] = {}
        self._interpretations: dict[TypedFormula, Interpretation] = {}
        self._of_entries: dict[int, tuple[Interpretation, ...]] = {}
        self._of_bodies: dict[int, dict[int, list[TypedFormula]]] = {}
        self._findings: dict[tuple[object, int], tuple[object, ...]] = {}

    def formulas(self, entry: Entry) -> tuple[TypedFormula, ...]:
        """The backward and forward formulas of an entry, typed."""
        found = self._formulas.get(entry.index)
        if found is None:
            found = self._formulas[entry.index] = tuple(typed_formulas(self.model, entry))
        return found

    def interpretation(self, formula: TypedFormula) -> Interpretation:
        """What a formula means."""
        found = self._interpretations.get(formula)
        if found is None:
            found = self._interpretations[formula] = self._interpreter.interpret(formula)
        return found

    def interpretations(self, entry: Entry) -> tuple[Interpretation, ...]:
        """What the backward and forward formulas of an entry mean."""
        found = self._of_entries.get(entry.index)
        if found is None:
            found = self._of_entries[entry.index] = tuple(map(self.interpretation, self.formulas(entry)))
        return found

    def all(self, find: Callable[[Interpretation], Iterable[T]]) -> Iterator[T]:
        """What a function finds in the formulas of all entries, in file order; of each entry it is asked once."""
        for entry in self.model.entries:
            found = self._findings.get((find, entry.index))
            if found is None:
                found = self._findings[find, entry.index] = tuple(
                    item for interpretation in self.interpretations(entry) for item in find(interpretation)
                )
            yield from cast("tuple[T, ...]", found)

    def is_told(self, formula: TypedFormula, node: InFormula) -> bool:
        """Whether other rules already say that a part of a formula is wrong, so that its meaning is not judged."""
        line = formula.line
        if gradients_of(line.body).conflict is not None:
            return True
        written = formula.evaluation.written_range(node.start, node.end) or (0, len(line.formula.text))
        told = [(name.word.start, name.word.end) for name in undeclared_names(line)]
        told += [
            (item.start, item.end)
            for item in self.model.type_problems(line.entry)
            if item.line is line and item.is_written and item.problem.kind not in ACCEPTED
        ]
        return any(start < written[1] and written[0] < end for start, end in told)

    def formulas_of(self, body: DispatchBody) -> tuple[TypedFormula, ...]:
        """The formulas of one dispatch key."""
        found = self._of_bodies.get(body.entry.index)
        if found is None:
            found = self._of_bodies[body.entry.index] = {}
            for formula in self.formulas(body.entry):
                found.setdefault(id(formula.line.body), []).append(formula)
        return tuple(found.get(id(body), ()))


def meaning_of(model: Model) -> Meaning:
    """The meaning of a model's formulas, the same object each time it is asked for."""
    return model.once(Meaning, lambda: Meaning(model))
