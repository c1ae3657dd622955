"""Evaluation of formulas on small tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from derivlint.analysis.interpretation.callee import CallFacts
from derivlint.analysis.scalar_evaluation.evaluate import ElementCompiler, unknown_on_failure
from derivlint.analysis.scalar_evaluation.values import UnknownValueError
from derivlint.analysis.scalar_evaluation.vocabulary import CREATED
from derivlint.analysis.small_tensors.domain import (
    BINARY,
    FAILURES,
    METADATA,
    UNARY,
    converted,
    implementation_named,
    property_of,
    type_of,
)
from derivlint.analysis.small_tensors.tensor import SmallTensor, Value, count_of, filled, number_of, sizes_of
from derivlint.analysis.typed import TypedFormula
from derivlint.formula import Expr, Lambda
from derivlint.operators.reference.evaluators import Evaluator
from derivlint.operators.shapes import size_functions as sizes_by

#: C++ constructors of lists and options that return their argument.
_WRAPPERS = (
    "IntArrayRef",
    "SymIntArrayRef",
    "OptionalArrayRef",
    "toNonOptTensor",
    "Tensor",
    "optional",
    "Scalar",
    "SymInt",
)


def compile_formula(formula: TypedFormula) -> Evaluator | None:
    """Compile a formula to a function of an environment; None if none of it is supported.

    The function raises ``UnknownValueError`` for unsupported expressions.
    """
    return unknown_on_failure(_TensorCompiler(formula).compiled(), FAILURES)


def is_understood(formula: TypedFormula) -> bool:
    """Whether every part of a formula is supported."""
    return not unsupported_nodes(formula)


def unsupported_nodes(formula: TypedFormula) -> list[Expr]:
    """The parts of a formula that are not supported, given the values of their operands."""
    compiler = _TensorCompiler(formula)
    # innermost parts first, as for compiling: a level takes eight frames
    return [node for node in reversed(formula.nodes) if isinstance(node, Expr) and not compiler.is_understood(node)]


class _TensorCompiler(ElementCompiler):
    unary_operators = UNARY
    binary_operators = BINARY
    metadata = METADATA
    numbers: Mapping[str, Callable[[Value], Value]] = MappingProxyType({})
    saved_property = staticmethod(property_of)
    implementation = staticmethod(implementation_named)
    converted = staticmethod(converted)

    @staticmethod
    def like(value: Value, reference: Value) -> Value:
        return converted(value, type_of(reference))

    def method(self, call: CallFacts, name: str) -> Evaluator | None:
        if name in ("size", "sym_size"):
            owner, *dims = [self.of(argument.node) for argument in call.arguments]
            return lambda values: sizes_by.size(sizes_of(owner(values)), *[dim(values) for dim in dims])
        if name == "new_zeros" and len(call.arguments) > 1:
            sizes = self.of(call.arguments[1].node)
            return lambda values: filled(sizes(values), 0.0)
        return super().method(call, name)

    def plain_function(self, call: CallFacts, name: str) -> Evaluator | None:
        arguments = [self.of(argument.node) for argument in call.arguments]
        if name in CREATED and arguments:
            sizes, element = arguments[0], CREATED[name]
            return lambda values: filled(sizes(values), element)
        if name == "vector":
            return (lambda values: _several(*[evaluator(values) for evaluator in arguments])) if arguments else None
        if name in _WRAPPERS and arguments:
            return arguments[0]
        if name == "scalar_tensor":
            return lambda values: filled((), float(number_of(arguments[0](values))))
        if name == "fmap" and len(arguments) == 2 and isinstance(function := call.arguments[1].node, Lambda):
            return self._mapped(arguments[0], function)
        if name in ("double", "float"):
            return lambda values: float(_number(arguments[0](values)))
        return super().plain_function(call, name)

    def _mapped(self, items: Evaluator, function: Lambda) -> Evaluator | None:
        if function.body is None or len(function.params) != 1:
            return None
        parameter, body = function.params[0].name, self.of(function.body)
        return lambda values: tuple(body({**values, parameter: item}) for item in items(values))


def _several(count: Value, item: Value = None) -> Value:
    return (item,) * count_of((count,)) if type(count) is int else count


def _number(value: Value) -> Value:
    if type(value) is SmallTensor:
        raise UnknownValueError
    return value
