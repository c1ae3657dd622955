"""Evaluation of formulas on one-element tensors.

A formula is compiled once to closures over an environment, which maps variables to values. Unsupported expressions
raise :class:`UnknownValueError` on evaluation, so untaken branches are harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter

from derivlint.analysis.formula_compiler import FormulaCompiler
from derivlint.analysis.interpretation.callee import CallArgument, CallFacts
from derivlint.analysis.scalar_evaluation.domain import implementation_named
from derivlint.analysis.scalar_evaluation.functions.structure import PLACES
from derivlint.analysis.scalar_evaluation.functions.table import Implementation
from derivlint.analysis.scalar_evaluation.values import (
    COMPLEX,
    REAL,
    NotFiniteError,
    UnknownValueError,
    Value,
    cast,
    scalar_type,
)
from derivlint.analysis.scalar_evaluation.vocabulary import (
    BINARY,
    CREATED,
    EMPTY,
    GRAD_MODE,
    METADATA,
    NUMBERS,
    TYPES,
    UNARY,
    present,
    saved_property,
)
from derivlint.analysis.typed import TypedFormula
from derivlint.cpp.operator_signatures import without_symint
from derivlint.formula import Expr, Name
from derivlint.formula.analysis import FAILURES
from derivlint.operators.constants import constant_named, plain_spelling
from derivlint.operators.reference.evaluators import Evaluator, applied, nothing

Environment = Mapping[str, Value]


def compile_formula(formula: TypedFormula) -> Evaluator | None:
    """Compile a formula to a function of an environment; None if none of it is supported.

    The function raises :class:`UnknownValueError` for unsupported expressions.
    """
    return unknown_on_failure(ElementCompiler(formula).compiled(), FAILURES)


def unknown_on_failure(evaluator: Evaluator | None, failures: tuple[type[Exception], ...]) -> Evaluator | None:
    """Convert failures of an evaluator to :class:`UnknownValueError`."""
    if evaluator is None:
        return None

    def evaluate(environment: Environment) -> Value:
        try:
            return evaluator(environment)
        except ZeroDivisionError as failure:
            raise NotFiniteError from failure
        except failures as failure:
            raise UnknownValueError from failure

    return evaluate


def is_understood(node: Expr, formula: TypedFormula) -> bool:
    """Whether an expression in a formula is supported, given the values of its operands."""
    return ElementCompiler(formula).is_understood(node)


def _constant(value: Value) -> Evaluator:
    return lambda _: value


class ElementCompiler(FormulaCompiler):
    """A compiler of formulas on one-element tensors.

    Attributes:
        metadata: methods that read metadata, regardless of their arguments.
        numbers: conversions of C++ numbers, methods and functions.
    """

    unary_operators: Mapping[str, Callable[[Value], Value]] = UNARY
    binary_operators: Mapping[str, Callable[[Value, Value], Value]] = BINARY
    metadata: Mapping[str, Callable[[Value], Value]] = METADATA
    numbers: Mapping[str, Callable[[Value], Value]] = NUMBERS

    @staticmethod
    def unknown(_: Environment, /) -> Value:
        """Evaluate an unsupported expression.

        Raises:
            UnknownValueError: always.
        """
        raise UnknownValueError

    @staticmethod
    def saved_property(name: str) -> tuple[str, Callable[[Value], Value] | None]:
        """The variable of a saved property and the function that reads the property."""
        return saved_property(name)

    @staticmethod
    def implementation(name: str) -> Implementation | None:
        """The implementation of an operator or helper."""
        return implementation_named(name)

    @staticmethod
    def converted(value: Value, target: Value) -> Value:
        """Convert a tensor to another dtype."""
        return cast(value, target) if target in (REAL, COMPLEX) or target is scalar_type(value) else value

    @staticmethod
    def like(value: Value, reference: Value) -> Value:
        """Convert a tensor to the dtype of another one."""
        return cast(value, scalar_type(reference))

    def name(self, node: Name) -> Evaluator:
        """Compile a constant, a type, a variable, or a saved property."""
        constant = constant_named(node)
        if constant is not None:
            return _constant(constant.value)
        if node.simple is None:
            type = TYPES.get(plain_spelling(node))
            return self.unknown if type is None else _constant(type)
        name = node.simple
        owner, read = self.saved_property(name)
        if read is None:
            return itemgetter(name)

        def variable(environment: Environment) -> Value:
            return environment[name] if name in environment else read(environment[owner])

        return variable

    def of_call(self, call: CallFacts) -> Evaluator:
        """Compile a call of an operator, helper or C++ function."""
        name = without_symint(call.spelling)
        special = self.method(call, name) if call.is_method else self.plain_function(call, name)
        if special is not None:
            return special
        implementation = self.implementation(call.name)
        if implementation is None or not self.is_of_operator(call):
            return self.unknown
        declared = implementation.declared
        is_same = not call.is_changed if declared is None else call.is_of(declared, implementation.required)
        if not is_same:
            # "slogdet_jvp" of PyTorch 2.15 also takes "A"
            return self.unknown
        return self._table(call, implementation)

    def method(self, call: CallFacts, name: str) -> Evaluator | None:
        """Compile a method that is not an operator; None for operators."""
        owner = self.of(call.arguments[0].node)
        read = self.metadata.get(name) or self.numbers.get(name)
        if read is not None:
            return lambda environment: read(owner(environment))
        if name == "value" and len(call.arguments) == 1:
            return lambda environment: present(owner(environment))
        if len(call.arguments) > 1 and name in ("value_or", "to", "type_as"):
            operand = self.of(call.arguments[1].node)
            if name == "value_or":
                return lambda environment: operand(environment) if (value := owner(environment)) is None else value
            if name == "to":
                return lambda environment: self.converted(owner(environment), operand(environment))
            return lambda environment: self.like(owner(environment), operand(environment))
        return None

    def plain_function(self, call: CallFacts, name: str) -> Evaluator | None:
        """Compile a function that is not an operator; None for operators."""
        arguments = [argument.node for argument in call.arguments]
        if name == "is_enabled":
            return lambda environment: environment[GRAD_MODE]
        if not arguments:
            return _constant(None) if name in EMPTY else None
        first = self.of(arguments[0])
        if name in self.numbers and len(arguments) == 1:
            read = self.numbers[name]
            return lambda environment: read(first(environment))
        if name in CREATED:
            element = CREATED[name]
            options = self.of(arguments[-1]) if len(arguments) > 1 else _constant(REAL)
            return lambda environment: cast(
                element, dtype if (dtype := options(environment)) in (REAL, COMPLEX) else REAL
            )
        if name == "scalar_tensor":
            options = self.of(arguments[-1]) if len(arguments) > 1 else _constant(None)
            return lambda environment: cast(
                float(value) if isinstance(value := first(environment), int) else value, options(environment)
            )
        if name in ("make_tuple", "tuple"):
            items = [self.of(argument) for argument in arguments]
            return lambda environment: tuple(item(environment) for item in items)
        if name in ("wrap_opt_if", "Tensor", "optional"):
            return first
        return None

    def _table(self, call: CallFacts, implementation: Implementation) -> Evaluator:
        if implementation.by_position:
            if len(call.arguments) < implementation.required:
                return self.unknown
            pairs = zip(implementation.parameters, call.arguments, strict=False)
            looked_at = [nothing if name[0] == "_" else self.of(argument.node) for name, argument in pairs]
            return applied(implementation.function, looked_at)
        bound = _by_name(call.arguments, implementation)
        if bound is None:
            return self.unknown
        run = implementation.run
        arguments = [(name, self.of(node)) for name, node in bound.items()]
        return lambda environment: run({name: evaluator(environment) for name, evaluator in arguments})


def _by_name(arguments: tuple[CallArgument, ...], implementation: Implementation) -> dict[str, Expr] | None:
    bound: dict[str, Expr] = {}
    for argument in arguments:
        name = argument.parameter.name if argument.parameter is not None else ""
        if name in implementation.parameters:
            bound[name] = argument.node
        elif name not in PLACES and f"_{name}" not in implementation.parameters:
            return None
    complete = all(name in bound or name[0] == "_" for name in implementation.parameters[: implementation.required])
    return bound if complete else None
