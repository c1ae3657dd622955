"""The equality of two formulas of an entry: as trees, or by their values at points that no check uses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import chain

from derivlint.analysis.formula_analyses import analyses_of
from derivlint.analysis.scalar_evaluation import evaluate as of_elements
from derivlint.analysis.scalar_evaluation.compare import differ, kinds_of
from derivlint.analysis.scalar_evaluation.points import POINTS, NumberKind, point_arguments, seed_value
from derivlint.analysis.scalar_evaluation.reference import reference_of
from derivlint.analysis.scalar_evaluation.signature import signature_of
from derivlint.analysis.scalar_evaluation.values import UnknownValueError
from derivlint.analysis.small_tensors import evaluate as of_tensors
from derivlint.analysis.small_tensors.compare import operator_of
from derivlint.analysis.small_tensors.domain import FAILURES
from derivlint.analysis.small_tensors.inputs import seeds_like, small_arguments
from derivlint.analysis.small_tensors.tensor import SmallTensor
from derivlint.analysis.small_tensors.view_ops import sum_to
from derivlint.analysis.soundness import with_formula
from derivlint.analysis.typed import TypedFormula
from derivlint.formula import Member, Name, Node, Number, Parenthesized, parse_formula
from derivlint.model import Differentiability, DispatchBody, Model

#: The scale of the arguments relative to those of checks.
SCALE = 1.0625


class Equality(Enum):
    """The result of a comparison."""

    EQUAL = "equal"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


def spelling(text: str) -> str:
    """A formula without blanks and redundant parentheses."""
    tree = parse_formula(text).tree
    return text if tree is None else _spelling(tree)


def _spelling(node: Node) -> str:
    if isinstance(node, Parenthesized):
        return _spelling(node.inner)
    own = ""
    if isinstance(node, (Name, Number)):
        own = node.spelling.removeprefix("at::")
    elif isinstance(node, Member):
        own = node.name
    own += getattr(node, "op", "") + getattr(node, "text", "")
    return f"{type(node).__name__}[{own}]({','.join(map(_spelling, node.children))})"


def compare_formulas(model: Model, body: DispatchBody, key: str, one: str, two: str, scale: float = SCALE) -> Equality:
    """Compare two formulas under a key of an entry."""
    if spelling(one) == spelling(two):
        return Equality.EQUAL
    formulas = [_typed(model, body, key, text) for text in (one, two)]
    first, second = formulas
    differentiability = model.canonical_differentiability(body)
    if first is None or second is None or differentiability is None:
        return Equality.UNKNOWN
    comparisons = (
        _elements(differentiability, kinds_of(model, differentiability.function), first, second, scale),
        _tensors(differentiability, first, second),
    )
    verdict = Equality.UNKNOWN
    for differs in chain.from_iterable(comparisons):
        if differs:
            return Equality.DIFFERENT
        verdict = Equality.EQUAL
    return verdict


def _typed(model: Model, body: DispatchBody, key: str, text: str) -> TypedFormula | None:
    probe = with_formula(model, body, key, text, narrow=True)
    if probe is None or len(probe.entries) != 1:
        return None
    formulas = analyses_of(probe).formulas(probe.entries[0])
    return next((item for item in formulas if item.written.key_text == key), None)


def _elements(
    differentiability: Differentiability,
    kinds: Iterable[NumberKind],
    first: TypedFormula,
    second: TypedFormula,
    scale: float,
) -> Iterator[bool]:
    """Compare values on one element: yields for each point with both values known whether they differ."""
    evaluators = [of_elements.compile_formula(formula) for formula in (first, second)]
    if None in evaluators:
        return
    signature = signature_of(differentiability)
    reference = reference_of(differentiability.function)
    arguments_of = point_arguments(differentiability)
    for kind in kinds:
        for number in range(POINTS):
            arguments = {
                name: value * scale if type(value) in (float, complex) else value
                for name, value in arguments_of.at(kind, number).items()
            }
            try:
                if reference is not None:
                    outputs = dict(zip(signature.outputs, reference.outputs(arguments), strict=False))
                else:
                    outputs = {
                        name: seed_value(number, place + 5, is_complex=kind is NumberKind.COMPLEX)
                        for place, name in enumerate(signature.outputs)
                    }
                names = signature.differentiable if first.is_backward else signature.inputs
                seeds = {
                    name: seed_value(number, place, is_complex=kind is NumberKind.COMPLEX)
                    for place, name in enumerate(names)
                    if first.is_backward or arguments.get(name) is not None
                }
                make = signature.backward if first.is_backward else signature.forward
                values = [evaluate(make(arguments, outputs, seeds)) for evaluate in evaluators if evaluate]
            except UnknownValueError:
                continue
            yield _differs(*values)


def _tensors(differentiability: Differentiability, first: TypedFormula, second: TypedFormula) -> Iterator[bool]:
    evaluators = [of_tensors.compile_formula(formula) for formula in (first, second)]
    operator = operator_of(differentiability)
    if None in evaluators or operator is None:
        return
    signature = signature_of(differentiability)
    for kind in (0, 1, 2):
        for arguments in small_arguments(differentiability.function, signature.inputs, kind):
            try:
                outputs = dict(zip(signature.outputs, operator.outputs(arguments), strict=False))
                names = signature.differentiable if first.is_backward else signature.inputs
                like = outputs if first.is_backward else arguments
                seeds = {name: seeds_like(like[name], 3 + len(name)) for name in names if like.get(name) is not None}
                make = signature.backward if first.is_backward else signature.forward
                values = [evaluate(make(arguments, outputs, seeds)) for evaluate in evaluators if evaluate]
                if first.is_backward and len(first.written.names) == 1:
                    # the engine sums a gradient up to the sizes of its argument
                    like_own = arguments.get(first.written.names[0].text)
                    if isinstance(like_own, SmallTensor):
                        sizes = tuple(like_own.sizes)
                        values = [sum_to(item, sizes) if isinstance(item, SmallTensor) else item for item in values]
            except (UnknownValueError, *FAILURES):
                continue
            yield _differs(*values)


def _differs(one: object, two: object) -> bool:
    if isinstance(one, tuple) or isinstance(two, tuple):
        if not (isinstance(one, tuple) and isinstance(two, tuple) and len(one) == len(two)):
            return True
        return any(map(_differs, one, two))
    if isinstance(one, SmallTensor) or isinstance(two, SmallTensor):
        if not (isinstance(one, SmallTensor) and isinstance(two, SmallTensor)):
            return True
        return one.sizes != two.sizes or any(map(_differs, one.items, two.items))
    if one is None or two is None:
        return one is not two
    if isinstance(one, (int, float, complex)) and isinstance(two, (int, float, complex)):
        if one != one or two != two:
            return False
        return differ(one, two) and not (isinstance(one, float) and math.isinf(one) and one == two)
    return one != two
