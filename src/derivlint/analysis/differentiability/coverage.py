"""What is there for each operator, and what follows of it: the facts for ``derivlint coverage``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from msgspec import Struct

from derivlint.analysis.differentiability.flow import Again, FormulaFlow
from derivlint.analysis.differentiability.operators import (
    Answer,
    OperatorDerivatives,
    Reason,
    Verdict,
    Way,
    decomposes,
    derivatives_of,
    is_refusal,
)
from derivlint.analysis.formula_analyses import FormulaAnalyses, analyses_of
from derivlint.analysis.typed import TypedFormula
from derivlint.cpp.library import HELPERS
from derivlint.cpp.load import library_of
from derivlint.formula.vocabulary import words
from derivlint.model import DispatchBody, Model
from derivlint.operators import Book
from derivlint.schema import NativeFunction, NativeFunctions, SchemaKind
from derivlint.source.lazy import asked_once

DIFFERENTIABLE = "differentiable"
#: Words in names of operators that say how they are implemented.
MANNERS = words("infinitely differentiable fused interface native impl")


class Aspect(Enum):
    """What can be asked of an operator."""

    BACKWARD = "backward"
    FORWARD = "forward"
    DOUBLE_BACKWARD = "double-backward"
    FORWARD_OVER_REVERSE = "forward-over-reverse"
    COMPLEX = "complex"


class Coverage(Struct, frozen=True):
    """What an operator has under one dispatch key.

    Attributes:
        function: the operator.
        key: the dispatch key, None where no formulas apply.
        way: how it is differentiated.
        verdicts: the answers.
        body: the formulas that apply, None where there are none in the file.
    """

    function: NativeFunction
    key: str | None
    way: Way
    verdicts: Mapping[Aspect, Verdict]
    body: DispatchBody | None = None

    @property
    def name(self) -> str:
        """The operator with its overload."""
        return str(self.function.name)

    def lacks(self, aspect: Aspect) -> bool:
        """Whether an operator that can be differentiated at all is known to lack something, wholly or in part."""
        if self.way is Way.NON_DIFFERENTIABLE:
            return False
        return self.verdicts[aspect].answer in (Answer.NO, Answer.PARTIAL)


class CoverageOfModel:
    """Works out the coverage of the operators of one file."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._analyses: FormulaAnalyses = analyses_of(model)
        self._derivatives = derivatives_of(model)
        self.flow = FormulaFlow(model, self._derivatives)

    def of(self, function: NativeFunction) -> tuple[Coverage, ...]:
        """What a function has, one row for each dispatch key of the formulas that apply to it."""
        keys: Iterable[str | None] = self._model.match(function).infos or (None,)
        return tuple(self._row(self._derivatives.of(function, key)) for key in keys)

    def rows(self) -> tuple[Coverage, ...]:
        """The operators of the file's entries, in file order, then those that would need an entry and have none."""
        rows: list[Coverage] = []
        seen: set[str] = set()
        for entry in self._model.entries:
            if entry.function is not None and str(entry.function.canonical.schema) not in seen:
                seen.add(str(entry.function.canonical.schema))
                rows += self.of(entry.function.canonical)
        if self._model.is_pytorchs_own and not self._model.is_of_another_release:
            for function in self._without_entry(seen):
                rows += self.of(function)
        return tuple(rows)

    def _without_entry(self, seen: set[str]) -> Iterator[NativeFunction]:
        signatures: set[str] = set()
        for function in self._model.natives.written:
            schema = function.schema
            if str(schema) in seen or schema.is_out or self._model.match(function).infos:
                continue
            if self._derivatives.of(function).way is not Way.MISSING:
                continue
            signature = schema.signature_key_no_defaults
            if schema.kind is SchemaKind.inplace and signature in signatures:
                # the in-place form of an operator that is listed
                continue
            signatures.add(signature)
            yield function

    def is_refused(self, formula: TypedFormula) -> bool:
        """Whether a formula only says that there is no derivative."""
        return is_refusal(formula.tree)

    def differentiable_forms(self, reason: Reason) -> tuple[str, ...]:
        """The operators and helpers that do the same as the one to blame and say that they are differentiable."""
        if reason.operator is None:
            return ()
        return _differentiable_names(self._model.natives).get(_essence(reason.operator.partition(".")[0]), ())

    def _row(self, found: OperatorDerivatives) -> Coverage:
        body = self._body(found)
        formulas = self._analyses.formulas_of(body) if body is not None else ()
        backward = [formula for formula in formulas if formula.is_backward]
        verdicts = {
            Aspect.BACKWARD: found.backward,
            Aspect.FORWARD: found.forward,
            Aspect.DOUBLE_BACKWARD: self._over(found, backward, Again.REVERSE),
            Aspect.FORWARD_OVER_REVERSE: self._over(found, backward, Again.FORWARD),
            Aspect.COMPLEX: _complex(found, self._model.book),
        }
        if found.way is Way.FORMULA and decomposes(found.function):
            # the formulas are for the backends that it has other kernels for
            verdicts = {aspect: _elsewhere(verdict) for aspect, verdict in verdicts.items()}
        return Coverage(found.function, found.key, found.way, verdicts, body)

    def _body(self, found: OperatorDerivatives) -> DispatchBody | None:
        index = found.info.source.index if found.info is not None else None
        if index is None or found.key is None:
            return None
        entry = self._model.entries[index]
        return next((body for body in entry.bodies if body.key == found.key), None)

    def _over(self, found: OperatorDerivatives, formulas: list[TypedFormula], again: Again) -> Verdict:
        """Whether the gradients of an operator can be differentiated once more."""
        if found.way is not Way.FORMULA:
            return found.backward
        reasons: list[Reason] = []
        answers: list[Answer] = []
        if again is Again.FORWARD and found.forward.answer is Answer.NO:
            # the operator itself is run with a tangent before its formula is
            return found.forward
        unread = (
            {name for each in found.info.derivatives for name in each.var_names} if found.info is not None else set()
        )
        for formula in formulas:
            unread -= formula.names
            if formula.names <= found.missing.keys():
                continue
            verdict = self.flow.verdict(formula, again)
            answers.append(verdict.answer)
            reasons += verdict.reasons
        if unread:
            answers.append(Answer.UNKNOWN)
            reasons.append(Reason("a formula could not be read", str(found.function.name), answer=Answer.UNKNOWN))
        return Verdict(_together(answers), tuple(dict.fromkeys(reasons)))


@asked_once
def _differentiable_names(natives: NativeFunctions) -> dict[frozenset[str], tuple[str, ...]]:
    """The operators and helpers that say that they are differentiable, by what else they say."""
    names = {*natives.operator_names(), *library_of(natives).declarations.functions.get(HELPERS, {})}
    found: dict[frozenset[str], tuple[str, ...]] = {}
    for name in sorted(name for name in names if DIFFERENTIABLE in name):
        essence = _essence(name)
        found[essence] = (*found.get(essence, ()), name)
    return found


def _essence(name: str) -> frozenset[str]:
    """The words of a name without those that say how it is implemented."""
    return frozenset(word for word in name.split("_") if word not in MANNERS)


def _together(answers: list[Answer]) -> Answer:
    """The answer for several formulas, each for other arguments."""
    kinds = set(answers)
    if kinds <= {Answer.YES}:
        return Answer.YES
    if kinds == {Answer.NO}:
        return Answer.NO
    return Answer.PARTIAL if kinds & {Answer.NO, Answer.PARTIAL} else Answer.UNKNOWN


def _elsewhere(verdict: Verdict) -> Verdict:
    """The answer for an operator that decomposes for most backends."""
    return Verdict(Answer.PARTIAL, verdict.reasons) if verdict.answer is Answer.NO else verdict


def _complex(found: OperatorDerivatives, book: Book) -> Verdict:
    if found.way is Way.FORMULA:
        if book.is_complex_differentiable(found.function):
            return Verdict(Answer.YES)
        text = "PyTorch's list of operators with complex gradients does not have it"
        return Verdict(Answer.NO, (Reason(text, str(found.function.name)),))
    if found.way in (Way.DECOMPOSES, Way.MANUAL):
        return Verdict(
            Answer.UNKNOWN,
            (Reason("it has no kernel of its own to ask", str(found.function.name), answer=Answer.UNKNOWN),),
        )
    return found.backward


def coverage_of(model: Model) -> CoverageOfModel:
    """The coverage of a model's operators, the same object each time it is asked for."""
    return model.ask(CoverageOfModel, model)
