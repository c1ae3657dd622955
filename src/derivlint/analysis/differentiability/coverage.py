"""The derivatives of each operator and their order: the facts for ``derivlint coverage``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from msgspec import Struct

from derivlint.analysis.differentiability.flow import FormulaFlow, OuterMode
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
from derivlint.cpp.library import HELPERS, library_of
from derivlint.formula.vocabulary import words
from derivlint.model import DispatchBody, Model
from derivlint.operators import Book
from derivlint.schema import NativeFunction, NativeFunctions, SchemaKind
from derivlint.source.lazy import memoized

DIFFERENTIABLE = "differentiable"
#: Words in operator names that describe an implementation.
MANNERS = words("infinitely differentiable fused interface native impl")


class Aspect(Enum):
    """The kinds of derivatives."""

    BACKWARD = "backward"
    FORWARD = "forward"
    DOUBLE_BACKWARD = "double-backward"
    FORWARD_OVER_REVERSE = "forward-over-reverse"
    COMPLEX = "complex"


class Coverage(Struct, frozen=True):
    """The derivatives of an operator under one dispatch key.

    Attributes:
        function: the operator.
        key: the dispatch key, or None if no formulas apply.
        way: how it is differentiated.
        verdicts: the answers.
        body: the formulas that apply, or None.
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
        """Whether a differentiable operator certainly lacks an aspect, at least in part."""
        if self.way is Way.NON_DIFFERENTIABLE:
            return False
        return self.verdicts[aspect].answer in (Answer.NO, Answer.PARTIAL)


class CoverageOfModel:
    """Computes the coverage of the operators of one file."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._analyses: FormulaAnalyses = analyses_of(model)
        self._derivatives = derivatives_of(model)
        self.flow = FormulaFlow(model, self._derivatives)

    def of(self, function: NativeFunction) -> tuple[Coverage, ...]:
        """The coverage of a function, one row for each dispatch key with formulas."""
        keys: Iterable[str | None] = self._model.match(function).infos or (None,)
        return tuple(self._row(self._derivatives.of(function, key)) for key in keys)

    def rows(self) -> tuple[Coverage, ...]:
        """The operators of the file's entries, in file order, then those that need an entry and lack it."""
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
                # skip the in-place form of a listed operator
                continue
            signatures.add(signature)
            yield function

    def is_refused(self, formula: TypedFormula) -> bool:
        """Whether a formula only raises an error."""
        return is_refusal(formula.tree)

    def differentiable_forms(self, reason: Reason) -> tuple[str, ...]:
        """Return the operators and helpers named "differentiable" that compute the same function as the blamed one."""
        if reason.operator is None:
            return ()
        return _differentiable_names(self._model.natives).get(_essence(reason.operator.partition(".")[0]), ())

    def _row(self, derivatives: OperatorDerivatives) -> Coverage:
        body = self._body(derivatives)
        formulas = self._analyses.formulas_of(body) if body is not None else ()
        backward = [formula for formula in formulas if formula.is_backward]
        verdicts = {
            Aspect.BACKWARD: derivatives.backward,
            Aspect.FORWARD: derivatives.forward,
            Aspect.DOUBLE_BACKWARD: self._over(derivatives, backward, OuterMode.REVERSE),
            Aspect.FORWARD_OVER_REVERSE: self._over(derivatives, backward, OuterMode.FORWARD),
            Aspect.COMPLEX: _complex(derivatives, self._model.book),
        }
        if derivatives.way is Way.FORMULA and decomposes(derivatives.function):
            # the formulas are for backends with other kernels
            verdicts = {
                aspect: Verdict(Answer.PARTIAL, verdict.reasons) if verdict.answer is Answer.NO else verdict
                for aspect, verdict in verdicts.items()
            }
        return Coverage(derivatives.function, derivatives.key, derivatives.way, verdicts, body)

    def _body(self, derivatives: OperatorDerivatives) -> DispatchBody | None:
        index = derivatives.info.source.index if derivatives.info is not None else None
        if index is None or derivatives.key is None:
            return None
        entry = self._model.entries[index]
        return next((body for body in entry.bodies if body.key == derivatives.key), None)

    def _over(self, derivatives: OperatorDerivatives, formulas: list[TypedFormula], mode: OuterMode) -> Verdict:
        """Whether the gradients of an operator can be differentiated again."""
        if derivatives.way is not Way.FORMULA:
            return derivatives.backward
        reasons: list[Reason] = []
        answers: list[Answer] = []
        if mode is OuterMode.FORWARD and derivatives.forward.answer is Answer.NO:
            # the operator itself runs on dual tensors before its formula
            return derivatives.forward
        written = derivatives.info.derivatives if derivatives.info is not None else ()
        unread = {name for derivative in written for name in derivative.var_names}
        for formula in formulas:
            unread -= formula.names
            if formula.names <= derivatives.missing.keys():
                continue
            verdict = self.flow.verdict(formula, mode)
            answers.append(verdict.answer)
            reasons += verdict.reasons
        if unread:
            answers.append(Answer.UNKNOWN)
            reasons.append(Reason("a formula could not be read", str(derivatives.function.name), answer=Answer.UNKNOWN))
        return Verdict(_together(answers), tuple(dict.fromkeys(reasons)))


@memoized
def _differentiable_names(natives: NativeFunctions) -> dict[frozenset[str], tuple[str, ...]]:
    """The operators and helpers with "differentiable" in their names, by their other words."""
    names = {*natives.operator_names(), *library_of(natives).declarations.functions.get(HELPERS, {})}
    by_essence: dict[frozenset[str], tuple[str, ...]] = {}
    for name in sorted(name for name in names if DIFFERENTIABLE in name):
        essence = _essence(name)
        by_essence[essence] = (*by_essence.get(essence, ()), name)
    return by_essence


def _essence(name: str) -> frozenset[str]:
    """The words of a name without those that describe an implementation."""
    return frozenset(word for word in name.split("_") if word not in MANNERS)


def _together(answers: list[Answer]) -> Answer:
    """Join the answers for the formulas of different arguments."""
    kinds = set(answers)
    if kinds <= {Answer.YES}:
        return Answer.YES
    if kinds == {Answer.NO}:
        return Answer.NO
    return Answer.PARTIAL if kinds & {Answer.NO, Answer.PARTIAL} else Answer.UNKNOWN


def _complex(derivatives: OperatorDerivatives, book: Book) -> Verdict:
    if derivatives.way is Way.FORMULA:
        if book.is_complex_differentiable(derivatives.function):
            return Verdict(Answer.YES)
        text = "PyTorch's list of operators with complex gradients does not have it"
        return Verdict(Answer.NO, (Reason(text, str(derivatives.function.name)),))
    if derivatives.way in (Way.DECOMPOSES, Way.MANUAL):
        return Verdict(
            Answer.UNKNOWN,
            (Reason("it has no kernel of its own to ask", str(derivatives.function.name), answer=Answer.UNKNOWN),),
        )
    return derivatives.backward


def coverage_of(model: Model) -> CoverageOfModel:
    """The coverage of a model's operators; memoized."""
    return model.ask(CoverageOfModel, model)
