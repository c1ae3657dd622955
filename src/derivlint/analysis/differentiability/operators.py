"""Ways in which operators are differentiated: by formulas, by decomposition, or not at all.

Kernels without a formula follow torchgen/packaged/autograd/gen_variable_type.py: ``emit_body`` for whole operators,
``emit_check_no_requires_grad`` for single arguments, ``emit_forbid_fw_derivatives`` for tangents.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from msgspec import Struct

from derivlint.analysis.typed import TypedFormula
from derivlint.formula import Call, Expr, Name
from derivlint.formula.vocabulary import words
from derivlint.model import Differentiability, DifferentiabilityInfo, Model
from derivlint.model.index import BY_OPERATOR
from derivlint.model.keys import DEFAULT
from derivlint.operators.book import Book
from derivlint.operators.special import RAISING
from derivlint.schema import Argument, NativeFunction
from derivlint.source.records import KeyedEquality


class Answer(Enum):
    """The answers to whether something is differentiable."""

    YES = "yes"
    #: for some of the arguments, outputs or branches
    PARTIAL = "partial"
    NO = "no"
    UNKNOWN = "unknown"


class Way(Enum):
    """The ways in which operators are differentiated."""

    #: by an entry of the file
    FORMULA = "formula"
    #: decomposed into operators that autograd differentiates
    DECOMPOSES = "decomposes"
    #: by a hand-written autograd kernel in PyTorch
    MANUAL = "manual"
    #: not, by declaration or because it takes or returns no tensor
    NON_DIFFERENTIABLE = "non-differentiable"
    #: not, although it needs a derivative: its kernel raises
    MISSING = "missing"
    #: unknown, since the file is incomplete
    UNKNOWN = "unknown"


class Reason(KeyedEquality, Struct, frozen=True):
    """A reason why an answer is not yes.

    Attributes:
        text: the reason in words.
        operator: the full name of the blamed operator, or None.
        formula: the formula that calls it; None if the operator itself lacks a derivative.
        node: the call.
        answer: the answer for that formula.
        guarded: whether a ``GradMode::is_enabled()`` around the call decides if it is differentiated.
    """

    text: str
    operator: str | None = None
    formula: TypedFormula | None = None
    node: Expr | None = None
    answer: Answer = Answer.NO
    guarded: bool = False

    def identity(self) -> tuple[Any, ...]:
        """The fields that equality compares."""
        return self.text, self.operator, self.answer


class Verdict(Struct, frozen=True):
    """An answer with the reasons why it is not yes."""

    answer: Answer
    reasons: tuple[Reason, ...] = ()


class OperatorDerivatives(Struct, frozen=True):
    """The derivatives of a function for one dispatch key.

    Attributes:
        function: the function.
        key: the dispatch key whose formulas apply, or None.
        way: how it is differentiated.
        info: the formulas, or None.
        backward: whether the arguments with formulas have a gradient. An argument without a formula is only a reason:
            its kernel raises on purpose.
        forward: whether its differentiable outputs have a tangent.
        missing: the reasons why arguments have no gradient, by name; requesting one raises.
        ignored: the arguments whose gradient is ignored: none is requested.
    """

    function: NativeFunction
    key: str | None
    way: Way
    info: DifferentiabilityInfo | None
    backward: Verdict
    forward: Verdict
    missing: Mapping[str, Reason]
    ignored: frozenset[str]


#: The part of the names of backward operators. Incomplete files and those of back ends do not prove that PyTorch has no
#: entry for one.
BACKWARD = "backward"
#: The prefix of helpers that always raise.
RAISING_PREFIX = "error_for_"
#: The argument that may lack a formula: double backward entries have it in addition to "input".
UNCHECKED = "output"
#: Operators whose hand-written kernels detach a tensor.
DETACHING = Book.by_hand("detaches")

IMPLEMENTATION = "_impl"
#: The backends to which the answers apply.
USUAL_BACKENDS = words("CPU CUDA")

_YES = Verdict(Answer.YES)
_UNKNOWN = Verdict(Answer.UNKNOWN)


class Derivatives:
    """The derivatives of the operators of one file."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def of(self, function: NativeFunction, key: str | None = None) -> OperatorDerivatives:
        """The derivatives of a function.

        Args:
            function: the function.
            key: the dispatch key; by default ``Default`` or else the first.
        """
        return self._model.ask(self._find, function, key)

    def _find(self, function: NativeFunction, key: str | None) -> OperatorDerivatives:
        match = self._model.match(function)
        if not match.infos:
            return self._without_formulas(function)
        if key is None:
            key = DEFAULT if DEFAULT in match.infos else next(iter(match.infos))
        resolved = Differentiability(match, key)
        return _with_formulas(resolved) if resolved.is_generated else self._without_formulas(function)

    def _without_formulas(self, function: NativeFunction) -> OperatorDerivatives:
        name = str(function.name)
        way = self._way(function)
        missing: dict[str, Reason] = {}
        backward = forward = _YES
        if way is Way.NON_DIFFERENTIABLE:
            backward = forward = Verdict(Answer.NO, (Reason("no gradient flows through it", name),))
        elif way is Way.UNKNOWN:
            backward = forward = Verdict(
                Answer.UNKNOWN, (Reason("the file has no entry for it", name, answer=Answer.UNKNOWN),)
            )
        elif way is Way.MISSING:
            reason = Reason(f'"{name}" has no derivative', name)
            missing = {argument.name: reason for argument in function.schema.arguments.flat_non_out}
            backward = Verdict(Answer.NO, (reason,))
            forward = Verdict(Answer.NO, (Reason(f'"{name}" has no forward formula', name),))
        elif way is Way.DECOMPOSES and not is_followed(function):
            text = f'"{name}" is composite, and what it calls is not followed'
            backward = forward = Verdict(Answer.UNKNOWN, (Reason(text, name, answer=Answer.UNKNOWN),))
        elif way is Way.MANUAL and function.cpp_name in Book.by_hand("refuses-gradients"):
            backward = forward = Verdict(Answer.NO, (Reason("it refuses tensors that require a gradient", name),))
        elif way is Way.MANUAL and function.cpp_name in DETACHING:
            way = Way.NON_DIFFERENTIABLE
            backward = forward = Verdict(Answer.NO, (Reason("it cuts its output off the graph", name),))
        return OperatorDerivatives(function, None, way, None, backward, forward, missing, frozenset())

    def _way(self, function: NativeFunction) -> Way:
        if self._model.book.has_manual_kernel(function):
            return Way.MANUAL
        schema = function.schema
        takes = any(
            isinstance(argument, Argument) and argument.type.is_tensor_like
            for argument in schema.arguments.flat_non_out
        )
        if not takes or not any(item.type.is_tensor_like for item in schema.returns):
            return Way.NON_DIFFERENTIABLE
        if self._model.book.is_declared_undifferentiable(function):
            return Way.NON_DIFFERENTIABLE
        if decomposes(function):
            # it only calls "<name>_impl"
            inner = self._model.natives.named(function.name.name_without_overload + IMPLEMENTATION)
            is_missing = bool(inner) and all(self.of(operator).way is Way.MISSING for operator in inner)
            return Way.MISSING if is_missing else Way.DECOMPOSES
        if BACKWARD in function.name.base and not self._model.book.has_entry(function):
            return Way.MISSING
        model = self._model
        written = model.values_in(BY_OPERATOR, str(function.name))
        is_complete = model.is_pytorchs_own and not model.is_of_another_release and all(written)
        return Way.MISSING if is_complete else Way.UNKNOWN


def is_followed(function: NativeFunction) -> bool:
    """Whether a composite operator is known to call only operators that are differentiable in every mode."""
    name = function.name
    # the in-place form calls the same operators
    functional = f"{name.base}.{name.overload}" if name.overload else name.base
    return not Book.by_hand("decomposes-differentiably").isdisjoint((str(name), functional))


def decomposes(function: NativeFunction) -> bool:
    """Whether an operator decomposes for autograd on the usual backends.

    A backend with its own kernel does not use the composite kernel, and needs a derivative.
    """
    if not function.is_abstract:
        return True
    if function.part_of_structured_group:
        return False
    return function.has_composite_implicit_autograd_kernel and USUAL_BACKENDS.isdisjoint(function.dispatch or ())


def _with_formulas(resolved: Differentiability) -> OperatorDerivatives:
    function, info = resolved.function, resolved.info
    name = str(function.name)
    if not resolved.requires_derivative:
        is_known = resolved.outputs is not None
        why = "its outputs are declared non-differentiable" if resolved.inputs else "it has no differentiable argument"
        verdict = Verdict(Answer.NO, (Reason(why, name),)) if is_known else _UNKNOWN
        way = Way.NON_DIFFERENTIABLE if is_known else Way.UNKNOWN
        return OperatorDerivatives(function, resolved.key, way, info, verdict, verdict, {}, frozenset())
    inputs = tuple(value.name for value in resolved.inputs)
    written = {var: item for item in info.derivatives for var in item.var_names}
    missing: dict[str, Reason] = {}
    ignored = set(info.non_differentiable_arg_names)
    for argument in inputs:
        derivative = written.get(argument)
        if derivative is None:
            if argument == UNCHECKED:
                ignored.add(argument)
            else:
                missing[argument] = Reason(f'"{name}" has no formula for "{argument}"', name)
        elif derivative.written is not None and is_refusal(derivative.written.parsed.tree):
            missing[argument] = Reason(f'the derivative of "{name}" for "{argument}" is not implemented', name)
    with_formula = [argument for argument in inputs if argument in written]
    refused = sum(argument in missing for argument in with_formula)
    backward = _share(refused, len(with_formula), tuple(missing.values()))
    way = Way.MISSING if backward.answer is Answer.NO else Way.FORMULA
    return OperatorDerivatives(
        function, resolved.key, way, info, backward, _forward(resolved), missing, frozenset(ignored)
    )


def _forward(resolved: Differentiability) -> Verdict:
    name = str(resolved.function.name)
    written = {var: item for item in resolved.forwards for var in item.var_names}
    if not written and resolved.match.book.is_decomposed_for_tangents(resolved.function):
        return Verdict(Answer.YES, (Reason("it is decomposed where it is called with a tangent", name),))
    outputs = list(dict.fromkeys(value.name for value in resolved.outputs or ()))
    if not written:
        return Verdict(Answer.NO, (Reason(f'"{name}" has no forward formula', name),))
    reasons = []
    for output in outputs:
        forward = written.get(output)
        if forward is None and not (resolved.is_inplace and written):
            reasons.append(Reason(f'"{name}" has no forward formula for "{output}"', name))
        elif forward is not None and forward.written is not None and is_refusal(forward.written.parsed.tree):
            reasons.append(Reason(f'the forward formula of "{name}" is not implemented', name))
    return _share(len(reasons), len(outputs), tuple(reasons))


def _share(lacking: int, total: int, reasons: tuple[Reason, ...]) -> Verdict:
    if total and not lacking:
        return Verdict(Answer.YES, reasons)
    return Verdict(Answer.NO if lacking >= total else Answer.PARTIAL, reasons)


def is_refusal(tree: Expr | None) -> bool:
    """Whether a formula is ``not_implemented(...)`` or a call of another raising function."""
    if not isinstance(tree, Call) or not isinstance(tree.callee, Name):
        return False
    name = tree.callee.parts[-1].identifier
    return name in RAISING or name.startswith(RAISING_PREFIX)


def derivatives_of(model: Model) -> Derivatives:
    """The derivatives of a model's operators; memoized."""
    return model.ask(Derivatives, model)
