"""Missing parts of formulas: gradients of outputs, tangents of inputs, a factor, a cast."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from derivlint.analysis.calls.argument_order import BACKWARD
from derivlint.analysis.formula_analyses import FormulaAnalyses
from derivlint.analysis.interpretation.callee import CallFacts, role_of
from derivlint.analysis.interpretation.degree import Degree
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.analysis.typed import TypedFormula, seed_names
from derivlint.cpp.cpp_type import TENSOR
from derivlint.cpp.declarations.declaration import Parameter
from derivlint.formula import Conditional, Expr
from derivlint.model import DerivativeFormula, DispatchBody
from derivlint.model.generated.forward import TANGENT
from derivlint.model.generated.gradients import NAMED_PREFIX, gradients_of
from derivlint.model.scope import ORIGINAL_SELF
from derivlint.operators.special import REAL_FROM_COMPLEX, ParameterRole


class UnusedOutputGradient(Struct, frozen=True):
    """A differentiable output whose gradient no formula uses, although others are used individually.

    Attributes:
        body: the formulas.
        output: the output's name.
        index: its position among the differentiable outputs.
        used: the used gradients.
        named: whether gradients are used by name.
        last: the formula with the last used gradient.
    """

    body: DispatchBody
    output: str
    index: int
    used: tuple[str, ...]
    named: bool
    last: DerivativeFormula


def unused_output_gradients(analyses: FormulaAnalyses, body: DispatchBody) -> Iterator[UnusedOutputGradient]:
    """The outputs whose gradients the formulas of a dispatch key ignore."""
    differentiability = analyses.model.canonical_differentiability(body)
    gradients = gradients_of(body)
    if differentiability is None or differentiability.outputs is None or len(differentiability.outputs) < 2:
        return
    if len(gradients.grads) > len(gradients.indexed) or not (gradients.indexed or gradients.named):
        # the whole list of gradients is passed
        return
    names = [output.name for output in differentiability.outputs]
    by_name = {f"{NAMED_PREFIX}{name}": index for index, name in enumerate(names)}
    used = {item.index for _, item in gradients.indexed}
    used |= {by_name[word.text] for _, word in gradients.named if word.text in by_name}
    if not used or not used <= set(range(len(names))):
        return
    texts = tuple(sorted({f"grads[{item.index}]" for _, item in gradients.indexed}))
    texts += tuple(sorted({word.text for _, word in gradients.named}))
    last = (gradients.indexed[-1] if gradients.indexed else gradients.named[-1])[0]
    for index, name in enumerate(names):
        if index not in used:
            yield UnusedOutputGradient(body, name, index, texts, bool(gradients.named), last)


class OneSidedGradient(Struct, frozen=True):
    """A gradient that only one branch of a condition uses.

    Attributes:
        formula: the formula.
        branch: the branch without the gradient, which uses another one.
        gradient: the gradient.
    """

    formula: TypedFormula
    branch: Expr
    gradient: str


def one_sided_gradients(interpretation: Interpretation) -> Iterator[OneSidedGradient]:
    """The gradients that one branch of a condition uses and the other does not, unless the condition is about one."""
    formula, facts = interpretation.formula, interpretation.facts
    for node in formula.nodes if formula.is_backward else ():
        # statements of lambdas have no facts
        if not isinstance(node, Conditional) or node.condition not in facts or node.otherwise not in facts:
            continue
        # "grads[1].defined() ? ..."
        read = {name.partition("[")[0] for name in facts[node.condition].dependence}
        if not read.isdisjoint(seed_names(formula)):
            continue
        for branch, counterpart in ((node.then, node.otherwise), (node.otherwise, node.then)):
            unused = sorted(facts[counterpart].seeds - facts[branch].seeds)
            if facts[branch].seeds and unused:
                yield OneSidedGradient(formula, branch, unused[0])
                break


def missing_tangents(analyses: FormulaAnalyses, body: DispatchBody) -> Iterator[tuple[DerivativeFormula, str]]:
    """The differentiable inputs whose tangent no forward formula uses, with the first forward formula.

    Empty if an output has no forward formula; inputs whose gradient is zero or not implemented are skipped.
    """
    info = body.info
    differentiability = analyses.model.canonical_differentiability(body)
    if info is None or differentiability is None or differentiability.outputs is None:
        return
    interpretations = [analyses.interpretation(formula) for formula in analyses.formulas_of(body)]
    forward = [item for item in interpretations if not item.formula.is_backward]
    if not forward or any(item.formula.written.auto is not None for item in forward):
        return
    if len({name for item in forward for name in item.formula.names}) < len(differentiability.outputs):
        return
    without = {
        name
        for item in interpretations
        if item.formula.is_backward and item.root.degree in (Degree.ZERO, Degree.UNKNOWN)
        for name in item.formula.names
    }
    mentioned = {name for item in forward for name in item.root.dependence}
    if not any(name.endswith(TANGENT) for name in mentioned):
        # another rule reports formulas without any tangent
        return
    for binding in info.args_with_derivatives:
        tangents = {binding.name, binding.name + TANGENT}
        if binding.name == "self":
            tangents.update(ORIGINAL_SELF)
        if binding.name not in without and mentioned.isdisjoint(tangents):
            yield forward[0].formula.written, binding.name


class MissingFactor(Struct, frozen=True):
    """A derivative of a backward operator that does not depend on the operator's gradient argument.

    Attributes:
        interpretation: the formula.
        gradient: the gradient argument.
    """

    interpretation: Interpretation
    gradient: str


def missing_factors(interpretation: Interpretation) -> Iterator[MissingFactor]:
    """The double backward formulas without the gradient argument, in which the operator is linear."""
    formula = interpretation.formula
    function = formula.written.entry.function
    if function is None or not formula.is_backward or not function.canonical.name.base.endswith(BACKWARD):
        return
    if interpretation.root.degree not in (Degree.LINEAR, Degree.AFFINE, Degree.CONSTANT):
        return
    gradients = [
        binding.name
        for binding in function.arguments
        if binding.is_tensor_like and role_of(Parameter(TENSOR, binding.name)) is ParameterRole.GRADIENT
    ]
    if len(gradients) == 1 and gradients[0] not in formula.names and gradients[0] not in interpretation.root.dependence:
        yield MissingFactor(interpretation, gradients[0])


def casts(interpretation: Interpretation) -> Iterator[CallFacts]:
    """The calls of ``handle_r_to_c`` in a formula."""
    return (call for call in interpretation.calls if call.name == REAL_FROM_COMPLEX and len(call.arguments) == 2)


def miscasts(interpretation: Interpretation) -> Iterator[tuple[CallFacts, str]]:
    """The casts in a formula for one argument to the dtype of another, with the name of the latter."""
    formula = interpretation.formula
    info = formula.written.body.info
    if info is None or not formula.is_backward or len(formula.names) != 1:
        return
    siblings = {binding.name for binding in info.args_with_derivatives} - formula.names
    for call in casts(interpretation):
        for name in siblings:
            if name in interpretation.facts[call.arguments[0].node].dependence:
                yield call, name


def uncast_gradients(analyses: FormulaAnalyses, body: DispatchBody) -> Iterator[Interpretation]:
    """The gradients that are not cast to a real input's dtype although a sibling's is.

    If an operator with several differentiable inputs is listed as complex, its output is complex if one of them is, but
    the gradient of a real input must be real.
    """
    function = body.entry.function
    if function is None or not analyses.model.book.has_complex_gradients(function.canonical):
        return
    backward = [analyses.interpretation(formula) for formula in analyses.formulas_of(body) if formula.is_backward]
    single = [item for item in backward if len(item.formula.names) == 1]
    if not any(any(casts(item)) for item in single):
        return
    for item in single:
        if any(casts(item)) or item.root.degree is not Degree.LINEAR:
            continue
        if not any(call.name.endswith(BACKWARD) for call in item.calls):
            # a helper may contain the cast
            yield item
