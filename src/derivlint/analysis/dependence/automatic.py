"""``auto_linear`` and ``auto_element_wise`` for operators that are not linear or element-wise."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from msgspec import Struct

from derivlint.analysis.dependence.conjugation import NON_HOLOMORPHIC
from derivlint.analysis.formula_analyses import FormulaAnalyses
from derivlint.analysis.interpretation.callee import CallFacts
from derivlint.analysis.interpretation.degree import Degree
from derivlint.analysis.interpretation.facts import Dependence
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.formula import Expr
from derivlint.formula.vocabulary import words
from derivlint.model import DerivativeFormula, DispatchBody, Role
from derivlint.model.generated.forward import PRIMAL
from derivlint.model.keys import AUTO_LINEAR
from derivlint.operators import Book
from derivlint.operators.special import RAISING

#: Functions that mix, move or drop elements.
NOT_ELEMENT_WISE = Book.by_hand("mixes-elements")
#: Operators that draw new random numbers in each call.
DRAWING = Book.by_hand("drawn")
#: Names of parameters that element-wise functions lack.
SHAPING = words("""
    dim dims dim0 dim1 keepdim sizes input_sizes kernel_size stride padding dilation output_size normalized_shape
    shape start_dim end_dim index indices
""")


class AutomaticReason(Enum):
    """The reasons why automatic formulas are wrong."""

    READS_VALUE = "reads value"
    READS_RESULT = "reads result"
    DRAWS = "draws numbers"
    NOT_IMPLEMENTED = "not implemented"
    NOT_ELEMENT_WISE = "not element-wise"
    NOT_HOLOMORPHIC = "not holomorphic"


class WrongAutomatic(Struct, frozen=True):
    """An automatic forward formula that is certainly wrong.

    Attributes:
        written: the forward formula.
        reason: the reason.
        interpretation: the backward formula that proves it.
        name: the variable or function that proves it.
        node: the node of the backward formula, or None for all of it.
    """

    written: DerivativeFormula
    reason: AutomaticReason
    interpretation: Interpretation
    name: str
    node: Expr | None = None


def wrong_automatic(analyses: FormulaAnalyses, body: DispatchBody) -> Iterator[WrongAutomatic]:
    """The automatic formulas that the backward formulas contradict; at most one."""
    written = next((written for written in body.with_role(Role.FORWARD) if written.auto is not None), None)
    if written is None or body.info is None:
        return
    backward = [analyses.interpretation(formula) for formula in analyses.formulas_of(body) if formula.is_backward]
    if any(
        analyses.interpretation(formula).culprits
        for formula in analyses.formulas_of(body)
        if formula.written is written
    ):
        # the backward formulas are not linear, which is reported
        return
    find = _not_linear if written.auto == AUTO_LINEAR else _not_element_wise
    wrong = next(iter(find(analyses, written, backward)), None)
    if wrong is not None:
        yield wrong


def _not_linear(
    analyses: FormulaAnalyses, formula: DerivativeFormula, backward: list[Interpretation]
) -> Iterator[WrongAutomatic]:
    """Contradictions to linearity: the Jacobian of a linear function depends on neither inputs nor outputs."""
    body = formula.body
    function = body.entry.function
    if function is None or body.info is None:
        return
    outputs = {output.name for output in function.outputs}
    zero = {name for item in backward if item.root.degree is Degree.ZERO for name in item.formula.names}
    inputs = {binding.name for binding in body.info.args_with_derivatives} - zero
    for item in backward:
        if function.canonical.is_of_pytorch and function.canonical.name.base in DRAWING:
            yield WrongAutomatic(formula, AutomaticReason.DRAWS, item, "")
        if item.root.degree is not Degree.LINEAR:
            continue
        # declarations in other entries are not evidence
        explained = not any(analyses.operators.is_unexplained(call.name) for call in item.calls)
        for name, dependence in item.root.dependence.items():
            if name in outputs and dependence > Dependence.METADATA:
                yield WrongAutomatic(formula, AutomaticReason.READS_RESULT, item, name)
            elif name in inputs and (
                dependence is Dependence.VALUE or (dependence > Dependence.METADATA and explained)
            ):
                yield WrongAutomatic(formula, AutomaticReason.READS_VALUE, item, name)


def _not_element_wise(
    analyses: FormulaAnalyses, formula: DerivativeFormula, backward: list[Interpretation]
) -> Iterator[WrongAutomatic]:
    function = formula.entry.function
    for item in backward:
        for call in item.calls:
            if call.name in RAISING:
                yield WrongAutomatic(formula, AutomaticReason.NOT_IMPLEMENTED, item, call.name, call.node)
            elif _mixes(item, call):
                yield WrongAutomatic(formula, AutomaticReason.NOT_ELEMENT_WISE, item, call.spelling, call.node)
        if function is not None and analyses.model.book.takes_complex(function.canonical):
            for call in item.calls:
                if call.name in NON_HOLOMORPHIC and _reads_complex(item, call):
                    yield WrongAutomatic(formula, AutomaticReason.NOT_HOLOMORPHIC, item, call.spelling, call.node)


def _mixes(item: Interpretation, call: CallFacts) -> bool:
    """Whether a call computes an element of its result from other elements of the gradient or of an input."""
    if not _reads_complex(item, call):
        return False
    if call.name in NOT_ELEMENT_WISE:
        return True
    parameters = call.function.parameters if call.function is not None else ()
    return call.name.endswith("_backward") and any(parameter.name in SHAPING for parameter in parameters)


def _reads_complex(item: Interpretation, call: CallFacts) -> bool:
    """Whether a call reads the gradient, an input or the output of a complex operator."""
    info = item.formula.written.body.info
    function = item.formula.written.entry.function
    names = {binding.name for binding in info.args_with_derivatives} if info is not None else set()
    names |= {output.name for output in function.outputs} if function is not None else set()
    names |= {name + PRIMAL for name in names}
    for argument in call.arguments:
        fact = item.facts.get(argument.node)
        if fact is not None and (fact.seeds or any(fact.may_read(name) for name in names)):
            return True
    return False
