"""Formulas with wrong sizes: of gradients, tangents or operands.

The autograd engine sums a gradient to the sizes of its input if these can be expanded to the gradient's, and rejects
any other; a tangent must have exactly the sizes of its output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from msgspec import Struct

from derivlint.analysis.dispatch import judged_bodies
from derivlint.analysis.formula_analyses import FormulaAnalyses, analyses_of
from derivlint.analysis.formula_compiler import called_names
from derivlint.analysis.interpretation.operators import OperatorDegrees
from derivlint.analysis.scalar_evaluation.signature import ORIGINAL_SELF, EvaluationSignature, signature_of
from derivlint.analysis.shapes.cases import FOREACH, Values, legal_cases
from derivlint.analysis.shapes.evaluate import compile_sizes, is_understood
from derivlint.analysis.typed import TypedFormula
from derivlint.formula import Call, Expr
from derivlint.model import Differentiability, DispatchBody, Entry, Model
from derivlint.model.generated.evaluation import INDEX
from derivlint.model.generated.forward import PRIMAL, TANGENT
from derivlint.model.generated.gradients import GRAD, GRAD_INPUT_MASK, GRADS, NAMED_PREFIX
from derivlint.model.keys import AUTO_LINEAR, RESULT
from derivlint.operators import Book
from derivlint.operators.reference.evaluators import Evaluator
from derivlint.operators.shapes.size_values import UNKNOWN, IllegalSizesError, Sizes, Value, is_expandable
from derivlint.operators.shapes.sizes import FAILURES, is_broadcasting, unsized
from derivlint.schema import NativeFunction


class ShapeProblem(Enum):
    """The parts of formulas that may have wrong sizes."""

    GRADIENT = "gradient"
    TANGENT = "tangent"
    OPERANDS = "operands"


class WrongShape(Struct, frozen=True):
    """A formula with wrong sizes.

    Attributes:
        formula: the formula.
        problem: the kind of part with wrong sizes.
        at: the arguments.
        name: the input or output of the value; empty if operands do not fit.
        actual: the sizes of the value.
        expected: the sizes of the input or output.
        place: the expression whose operands do not fit.
        reason: the reason why they do not fit.
    """

    formula: TypedFormula
    problem: ShapeProblem
    at: tuple[tuple[str, Value], ...]
    name: str = ""
    actual: Sizes = Sizes()
    expected: Sizes = Sizes()
    place: Expr | None = None
    reason: str = ""


class SizedSignature(Struct, frozen=True):
    """An operator in one case.

    Attributes:
        arguments: its arguments.
        outputs: its outputs, by their names in formulas.
    """

    arguments: Values
    outputs: Values


def sized_signatures(differentiability: Differentiability, signature: EvaluationSignature) -> Iterator[SizedSignature]:
    """The cases that an operator accepts."""
    function = differentiability.function
    for arguments, result in legal_cases(function):
        names = signature.outputs
        if len(function.schema.returns) == 1:
            values: tuple[Value, ...] = (result,)
        elif type(result) is tuple:
            values = result
        else:
            continue
        is_resized = function.name.base in Book.by_hand("returns-view")
        if signature.is_inplace and values[0] != arguments.get("self") and not is_resized:
            continue
        sized = [value if type(value) in (Sizes, tuple) else UNKNOWN for value in values]
        yield SizedSignature(arguments, {**dict.fromkeys(names, UNKNOWN), **dict(zip(names, sized, strict=False))})


def wrong_shapes(
    differentiability: Differentiability, formulas: Iterable[TypedFormula], operators: OperatorDegrees
) -> Iterator[WrongShape]:
    """The formulas of a dispatch key with wrong sizes, each with its first problem."""
    signature = signature_of(differentiability)
    judged = []
    for formula in formulas:
        if formula.written.auto == AUTO_LINEAR or _is_of_one_size(differentiability.function, formula):
            continue
        evaluate = compile_sizes(formula, operators)
        if evaluate is not None:
            judged.append((formula, evaluate))
    if not judged:
        return
    cases = tuple(sized_signatures(differentiability, signature))
    is_wrong = False
    for formula, evaluate in sorted(judged, key=lambda item: item[0].written.auto is not None):
        if is_wrong and formula.written.auto is not None:
            # derived from the wrong backward formula
            continue
        wrongs = (_wrong(formula, evaluate, signature, case) for case in cases)
        wrong = next((wrong for wrong in wrongs if wrong is not None), None)
        if wrong is not None:
            is_wrong = True
            yield wrong


def _is_of_one_size(function: NativeFunction, formula: TypedFormula) -> bool:
    """Whether a formula combines only tensors of the operator's single size, so that its sizes are right."""
    tensors = [argument for argument in function.schema.arguments.flat_non_out if argument.type.is_tensor_like]
    return (
        len(tensors) == 1
        and is_broadcasting(function.name.base.removeprefix(FOREACH))
        and all(map(is_broadcasting, called_names(formula)))
    )


def has_known_sizes(differentiability: Differentiability, formula: TypedFormula, operators: OperatorDegrees) -> bool:
    """Whether the sizes of a formula are known in any case."""
    signature = signature_of(differentiability)
    evaluate = compile_sizes(formula, operators)
    if evaluate is None:
        return False
    names = tuple(name.text for name in formula.written.names)
    for case in sized_signatures(differentiability, signature):
        try:
            value = evaluate(_environment(formula, signature, case))
        except IllegalSizesError:
            return True
        except FAILURES:
            continue
        items = value if type(value) is tuple else (value,)
        if value is not UNKNOWN and all(item is not UNKNOWN for item in items[: len(names)]):
            return True
    return False


def _wrong(
    formula: TypedFormula, evaluate: Evaluator, signature: EvaluationSignature, case: SizedSignature
) -> WrongShape | None:
    try:
        result = evaluate(_environment(formula, signature, case))
    except IllegalSizesError as error:
        place = error.place if error.place is not None else formula.tree
        at = shown(case.arguments)
        return WrongShape(formula, ShapeProblem.OPERANDS, at, place=place, reason=str(error))
    except FAILURES:
        return None
    names = tuple(name.text for name in formula.written.names)
    expected = case.arguments if formula.is_backward else case.outputs
    items = result if type(result) is tuple and len(names) > 1 else (result,)
    for name, value in zip(names, items, strict=False):
        pairs = [(value, expected.get(name))]
        if type(value) is tuple and type(pairs[0][1]) is tuple:
            pairs = list(zip(value, pairs[0][1], strict=False))
        for sizes, expected_sizes in pairs:
            if type(sizes) is not Sizes or type(expected_sizes) is not Sizes or sizes == expected_sizes:
                continue
            if not formula.is_backward:
                return WrongShape(formula, ShapeProblem.TANGENT, shown(case.arguments), name, sizes, expected_sizes)
            if not is_expandable(expected_sizes, sizes):
                return WrongShape(formula, ShapeProblem.GRADIENT, shown(case.arguments), name, sizes, expected_sizes)
    return None


def shown(arguments: Values) -> tuple[tuple[str, Value], ...]:
    """The arguments to show, with their values."""
    return tuple((name, value) for name, value in arguments.items() if type(value) in (Sizes, int, bool, tuple))


def _environment(formula: TypedFormula, signature: EvaluationSignature, case: SizedSignature) -> Mapping[str, Value]:
    variables = {**case.outputs, **case.arguments}
    if formula.is_backward:
        gradients = [case.outputs.get(name, UNKNOWN) for name in signature.differentiable]
        if len(gradients) == 1 and type(gradients[0]) is tuple:
            # outputs that are a list
            gradients = list(gradients[0])
        variables[GRADS] = tuple(gradients)
        variables[GRAD] = gradients[0] if gradients else UNKNOWN
        variables[GRAD_INPUT_MASK] = (True,) * signature.mask_size
        for name in signature.differentiable:
            variables[NAMED_PREFIX + name] = case.outputs.get(name, UNKNOWN)
    else:
        for name in signature.inputs:
            variables[name + TANGENT] = variables[name + PRIMAL] = case.arguments.get(name)
        if signature.is_inplace and "self" in signature.inputs:
            variables[ORIGINAL_SELF + PRIMAL] = variables[ORIGINAL_SELF + TANGENT] = case.arguments["self"]
            variables["self" + PRIMAL] = case.outputs[RESULT]
    if signature.lists:
        variables[INDEX] = 0
        for name in signature.lists:
            variables[name] = (variables.get(name, UNKNOWN),)
    return variables


def wrong_shapes_of(model: Model, entry: Entry, problem: ShapeProblem) -> Iterator[WrongShape]:
    """The formulas of an entry with wrong sizes and one kind of problem."""
    return (wrong for wrong in shape_judgement_of(model, entry) if wrong.problem is problem)


def shape_judgement_of(model: Model, entry: Entry) -> tuple[WrongShape, ...]:
    """The formulas of an entry with wrong sizes."""
    return model.ask(_judged_shapes, model, entry)


def _judged_shapes(model: Model, entry: Entry) -> tuple[WrongShape, ...]:
    analyses = analyses_of(model)
    return tuple(
        wrong
        for body, differentiability in judged_bodies(model, entry)
        for wrong in wrong_shapes(differentiability, analyses.formulas_of(body), analyses.operators)
    )


def why_unsized(analyses: FormulaAnalyses, body: DispatchBody, formula: TypedFormula) -> str:
    """The reason why the sizes of a formula are unknown, or an empty string."""
    differentiability = analyses.model.canonical_differentiability(body)
    if differentiability is None:
        return "the operator is not known"
    function = differentiability.function
    if not any(True for _ in legal_cases(function)):
        base = function.name.base
        return f'"{base}" {_reason(base)}'
    if has_known_sizes(differentiability, formula, analyses.operators):
        return ""
    for node in formula.nodes:
        call = formula.call(node) if isinstance(node, Call) else None
        if call is not None and (call.name in unsized() or not is_understood(formula, analyses.operators, call.node)):
            return f'"{call.spelling}" {_reason(call.name)}'
    return "its sizes depend on values"


def _reason(name: str) -> str:
    return unsized().get(name, "has no sizes in the operator book")
