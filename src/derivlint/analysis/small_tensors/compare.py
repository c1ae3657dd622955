"""Comparison of formulas on small tensors with derivatives by finite differences.

A backward formula is first compared along one direction: the inner product of its value with the direction is the
derivative of the inner product of outputs and gradients. If they differ, all elements are compared.
"""

from __future__ import annotations

import cmath
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from derivlint.analysis.dispatch import derived_from, judged_bodies
from derivlint.analysis.formula_analyses import analyses_of
from derivlint.analysis.formula_compiler import called_names
from derivlint.analysis.scalar_evaluation.compare import differ
from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.analysis.scalar_evaluation.points import COMPUTED
from derivlint.analysis.scalar_evaluation.reference import ReferenceOperator, bound_operator
from derivlint.analysis.scalar_evaluation.signature import EvaluationSignature, signature_of
from derivlint.analysis.scalar_evaluation.values import DualList, UnknownValueError
from derivlint.analysis.shapes.cases import KEEPDIM, REDUCTION
from derivlint.analysis.shapes.compare import shape_judgement_of
from derivlint.analysis.small_tensors.domain import FAILURES, implementation_named, is_elementwise
from derivlint.analysis.small_tensors.evaluate import compile_formula
from derivlint.analysis.small_tensors.index_ops import PositionError
from derivlint.analysis.small_tensors.inputs import FLAGS, NUMBERS, WITH_COMPLEX, Values, is_complex
from derivlint.analysis.small_tensors.points import (
    TensorPoint,
    elements,
    gradient_of,
    points_of,
    product,
    shown_arguments,
    variables_of,
)
from derivlint.analysis.small_tensors.saved_values import FORWARD, SavingReference
from derivlint.analysis.small_tensors.tensor import SmallTensor, Value, filled
from derivlint.analysis.small_tensors.undetermined import undetermined, unknown_helpers
from derivlint.analysis.small_tensors.view_ops import sum_to
from derivlint.analysis.typed import TypedFormula
from derivlint.model import Differentiability, Entry, Model
from derivlint.model.generated.forward import TANGENT
from derivlint.operators import Book, holds_for
from derivlint.operators.reference.evaluators import Evaluator

#: Arguments that do not affect values.
STORAGE = frozenset({"dtype", "layout", "device", "pin_memory", "memory_format", "non_blocking", "copy", "generator"})
#: Arguments with few values; a case has one of them.
_CHOICES = frozenset({KEEPDIM, REDUCTION, "reduce"})
#: The element types of gradients and tangents.
_NUMBERS = frozenset({float, int, complex})
#: The number of points without a known value after which a formula is abandoned.
_PATIENCE = 3


class WrongValues(Struct, frozen=True):
    """A formula that is wrong on small tensors.

    Attributes:
        formula: the formula.
        name: the argument whose gradient, or the output whose tangent is wrong.
        where: the index of a wrong element.
        at: the arguments; for tensors, their sizes.
        expected: the correct element.
        actual: the element of the formula's value.
        reason: the reason why PyTorch rejects the computation, in place of elements.
        varied: the arguments that may be the cause, including those that the formula does not mention.
        needed: the argument without which the gradient is not determined, or empty.
    """

    formula: TypedFormula
    name: str
    where: tuple[int, ...]
    at: tuple[tuple[str, Value], ...]
    expected: complex = 0.0
    actual: complex = 0.0
    reason: str = ""
    varied: frozenset[str] = frozenset()
    needed: str = ""


class _FormulaCheck(Struct):
    """The state of a formula's comparison.

    Attributes:
        formula: the formula.
        evaluate: the formula as a function.
        missing: the number of points left to compare.
        unknown: the number of points without known value.
    """

    formula: TypedFormula
    evaluate: Evaluator
    missing: int
    unknown: int = 0


def operator_of(differentiability: Differentiability) -> ReferenceOperator | None:
    """The value of an operator on small tensors, or None if unknown."""
    function = differentiability.function
    if function.name.is_foreach:
        return None
    bound = bound_operator(function, implementation_named, STORAGE)
    if bound is None:
        return None
    run, parameters = bound
    names = {argument.name for argument in function.schema.arguments.flat_non_out}
    if any({name, source} <= names for name, source in COMPUTED.items()):
        forward = implementation_named(FORWARD.get(function.name.base, ""))
        return None if forward is None else SavingReference(run, parameters, forward)
    if any(value.type.is_list_like for value in function.schema.returns):
        return ReferenceOperator(lambda values: (run(values),), parameters, FAILURES)
    return ReferenceOperator(run, parameters, FAILURES)


def is_judged(differentiability: Differentiability, formula: TypedFormula) -> bool:
    """Whether a formula may be wrong on small tensors although it is right on one-element tensors."""
    if not is_elementwise(differentiability.function.name.base):
        return True
    return not all(map(is_elementwise, called_names(formula)))


def _signature(differentiability: Differentiability) -> EvaluationSignature:
    """The signature of a function, with lists as lists."""
    signature = signature_of(differentiability)
    base = differentiability.function.name.base
    symmetric = {name for name in signature.inputs if f"{base}({name})" in Book.by_hand("symmetric")}
    return replace(signature, joined=(), symmetric=frozenset(symmetric))


def wrong_values(
    differentiability: Differentiability, formulas: Sequence[TypedFormula], refuted: Collection[TypedFormula]
) -> Iterator[WrongValues]:
    """The formulas of a dispatch key that are wrong on small tensors, each once.

    Args:
        differentiability: the operator.
        formulas: the formulas.
        refuted: the formulas that are known to be wrong.
    """
    judged = set(refuted)
    for check, wrong in _comparisons(differentiability, formulas, refuted):
        judged.add(check.formula)
        if wrong is not None:
            yield wrong
    for formula in formulas:
        if formula.is_backward and formula not in judged and formula.written.auto is None:
            yield from _undetermined(differentiability, formula, formulas)


def _undetermined(
    differentiability: Differentiability, formula: TypedFormula, formulas: Sequence[TypedFormula]
) -> Iterator[WrongValues]:
    helpers = unknown_helpers(formula)
    # most formulas call none, and points cost more
    operator = operator_of(differentiability) if helpers else None
    if operator is None:
        return
    signature = _signature(differentiability)
    for point in points_of(operator, differentiability.function, signature, signature.used(formulas)):
        wrong = undetermined(formula, helpers, differentiability.function, point)
        if wrong is not None:
            arguments = shown_arguments(wrong.at)
            yield WrongValues(
                formula, wrong.name, (), arguments, reason=wrong.reason, varied=wrong.at.varied, needed=wrong.needed
            )
            return


def is_confirmed(differentiability: Differentiability, formula: TypedFormula) -> bool:
    """Whether the value of a formula is known at every point and correct."""
    comparisons = list(_comparisons(differentiability, (formula,), ()))
    return bool(comparisons) and not any(wrong is not None or check.unknown for check, wrong in comparisons)


def compared_formulas(differentiability: Differentiability, formulas: Sequence[TypedFormula]) -> Counter[TypedFormula]:
    """The formulas of a dispatch key that are compared on small tensors, with the number of points."""
    return Counter(check.formula for check, _ in _comparisons(differentiability, formulas, ()))


def _comparisons(
    differentiability: Differentiability, formulas: Sequence[TypedFormula], refuted: Collection[TypedFormula]
) -> Iterator[tuple[_FormulaCheck, WrongValues | None]]:
    """The comparisons of formulas at points with known values; a wrong one ends those of its formula."""
    judged = [formula for formula in formulas if formula not in refuted and is_judged(differentiability, formula)]
    operator = operator_of(differentiability) if judged else None
    if operator is None:
        return
    active = []
    function = differentiability.function
    # include all arguments: dropped ones do not appear in the formula
    names = {argument.name for argument in function.schema.arguments.flat_non_out}
    varied = sum(bool(function.arguments_of(*types)) for types in (NUMBERS, FLAGS))
    n_points = 1 + varied + (not names.isdisjoint(_CHOICES))
    for formula in judged:
        evaluate = compile_formula(formula)
        if evaluate is not None:
            active.append(_FormulaCheck(formula, evaluate, n_points))
    if not active:
        return
    signature = _signature(differentiability)
    used = signature.used(formulas)
    for point in points_of(operator, differentiability.function, signature, used):
        for check in active:
            compare = _wrong_gradient if check.formula.is_backward else _wrong_tangent
            try:
                wrong = compare(check.formula, check.evaluate, point)
            except UnknownValueError as failure:
                match failure.__cause__:
                    case PositionError() as refusal:
                        wrong = _refused(check.formula, point, str(refusal))
                    case IndexError():
                        wrong = _refused(check.formula, point, "a list has fewer items than its index needs")
                    case _:
                        check.unknown += 1
                        continue
            if wrong is not None:
                check.missing = 0
            elif _tells_zero_apart(check.formula, point):
                check.missing -= 1
            yield check, wrong
        active = [check for check in active if check.missing and check.unknown < _PATIENCE]
        if not active:
            return


def _tells_zero_apart(formula: TypedFormula, point: TensorPoint) -> bool:
    """Whether the outputs vary with every input of a backward formula at a point where it was compared.

    ``index_copy`` does not vary with ``self`` where ``index`` has all positions.
    """
    names = (name.text for name in formula.written.names if formula.is_backward)
    return all(
        any(any(elements(value)) for value in point.derivatives[name].values())
        for name in names
        if name in point.derivatives
    )


def _components(formula: TypedFormula, evaluate: Evaluator, variables: Values) -> tuple[Value, ...]:
    """The values of a formula for the names in its key; a list of gradients counts as one.

    Raises:
        UnknownValueError: it is unknown.
    """
    names = formula.written.names
    values = evaluate(variables)
    if values is None:
        # "std::tuple<Tensor, Tensor>()"
        return (None,) * len(names)
    if len(names) == 1 and (type(values) is not tuple or type(variables.get(names[0].text)) in (tuple, DualList)):
        values = (values,)
    if type(values) is not tuple or len(values) < len(names):
        raise UnknownValueError
    return values


def _fitted(value: Value, like: Value) -> Value:
    """Sum a gradient to the sizes of the input, as the autograd engine does; zeros for an undefined one."""
    if type(like) is tuple:
        parts = (None,) * len(like) if value is None else value
        if type(parts) is not tuple or len(parts) != len(like):
            raise UnknownValueError
        return tuple(_fitted(part, like_part) for part, like_part in zip(parts, like, strict=True))
    # a position is a number here, such as "start" of "narrow.Tensor", and has no gradient
    if type(like) is not SmallTensor:
        raise UnknownValueError
    if value is None:
        return filled(like.sizes, 0.0)
    if type(value) is not SmallTensor:
        raise UnknownValueError
    try:
        fitted = sum_to(value, tuple(like.sizes))
    except FAILURES as failure:
        raise UnknownValueError from failure
    if not _NUMBERS.issuperset(map(type, fitted.items)) or (is_complex(fitted) and not is_complex(like)):
        raise UnknownValueError
    return fitted


def _is_wrong(expected: complex, actual: complex) -> bool:
    """Whether a number differs from a finite one."""
    return not cmath.isfinite(actual) or differ(expected, actual)


def _wrong_gradient(formula: TypedFormula, evaluate: Evaluator, point: TensorPoint) -> WrongValues | None:
    signature = point.signature
    values = _components(formula, evaluate, variables_of(formula, point))
    gradients = point.gradients
    for name, value in zip(formula.written.names, values, strict=False):
        own = point.arguments.get(name.text)
        if own is None or name.text not in signature.inputs:
            continue
        value = _fitted(value, own)
        derivatives = point.direction(name.text)
        expected = sum(product(gradient, derivatives[output]) for output, gradient in gradients.items())
        if not _is_wrong(expected, product(value, point.move(name.text))):
            continue
        return _first_wrong(formula, name.text, value, gradient_of(point, name.text, gradients), point)
    return None


def _wrong_tangent(formula: TypedFormula, evaluate: Evaluator, point: TensorPoint) -> WrongValues | None:
    variables = formula.variables
    lists = [name for name in point.moving if type(point.arguments[name]) is tuple]
    if not any(name.endswith(TANGENT) for name in variables) and variables.isdisjoint(lists):
        # another rule reports the missing tangent
        return None
    values = _components(formula, evaluate, variables_of(formula, point))
    moves = {name: point.move(name) for name in point.moving}
    derivatives = point.along(moves)
    for name, value in zip(formula.written.names, values, strict=False):
        expected = derivatives.get(name.text)
        if expected is None:
            continue
        value = _fitted(value, expected)
        tangent = elements(value)
        if all(map(cmath.isfinite, tangent)) and not any(map(differ, elements(expected), tangent)):
            continue
        return _first_wrong(formula, name.text, value, elements(point.certain(moves)[name.text]), point)
    return None


def _refused(formula: TypedFormula, point: TensorPoint, reason: str) -> WrongValues:
    return WrongValues(
        formula, formula.written.names[0].text, (), shown_arguments(point), reason=reason, varied=point.varied
    )


def _first_wrong(
    formula: TypedFormula, name: str, value: Value, expected: Sequence[float], point: TensorPoint
) -> WrongValues | None:
    at = shown_arguments(point)
    start = 0
    for index, tensor in enumerate(value if type(value) is tuple else (value,)):
        for place, element in enumerate(tensor.items):
            if _is_wrong(expected[start + place], element):
                where = _index(tensor.sizes, place)
                if type(value) is tuple:
                    where = (index, *where)
                return WrongValues(formula, name, where, at, expected[start + place], element, varied=point.varied)
        start += len(tensor.items)
    return None


def _index(sizes: Sequence[int], place: int) -> tuple[int, ...]:
    index = []
    for size in reversed(sizes):
        place, at = divmod(place, size)
        index.append(at)
    return tuple(reversed(index))


def small_tensors_of(model: Model, entry: Entry) -> tuple[WrongValues, ...]:
    """The formulas of an entry that are wrong on small tensors, except those that other analyses refute."""
    return model.ask(_judged_values, model, entry)


def _judged_values(model: Model, entry: Entry) -> tuple[WrongValues, ...]:
    bodies = tuple(judged_bodies(model, entry))
    if not bodies:
        return ()
    judged = judgement_of(model, entry)
    refuted = {item.formula for item in (*judged.wrong, *judged.contradictions)}
    refuted |= {formula for item in judged.shares for formula in item.formulas}
    refuted |= {item.formula for item in shape_judgement_of(model, entry)}
    analyses = analyses_of(model)
    # nonlinear formulas have no correct value
    refuted |= {interpretation.formula for interpretation in analyses.interpretations(entry) if interpretation.culprits}
    disagreements: list[WrongValues] = []
    for body, differentiability in bodies:
        if differentiability.function.name.base in WITH_COMPLEX and not holds_for(model.natives):
            # before PyTorch 1.7 the gradient of a complex number was the conjugate
            continue
        formulas = analyses.formulas_of(body)
        disagreements += wrong_values(differentiability, formulas, refuted | derived_from(refuted, formulas))
    wrong_formulas = [item.formula for item in disagreements]
    derived = derived_from(wrong_formulas, wrong_formulas)
    return tuple(item for item in disagreements if item.formula not in derived)
