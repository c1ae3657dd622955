"""Evaluation of formulas over tensor sizes.

Unsupported sizes are ``UNKNOWN``. Operands that do not fit raise :class:`IllegalSizesError` with their expression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from derivlint.analysis.formula_compiler import FormulaCompiler
from derivlint.analysis.interpretation.callee import CallArgument, CallFacts
from derivlint.analysis.interpretation.operators import VIEWS, OperatorDegrees
from derivlint.analysis.typed import TypedFormula
from derivlint.cpp.operator_signatures import without_symint
from derivlint.formula import Binary as BinaryExpr
from derivlint.formula import BraceList, Call, Conditional, Expr, Index, Name
from derivlint.formula.analysis import tuple_access
from derivlint.operators.reference.evaluators import Evaluator, applied
from derivlint.operators.shapes.size_values import UNKNOWN, IllegalSizesError, Sizes, Value, is_unknown, shown
from derivlint.operators.shapes.sizes import (
    BINARY,
    CONSTANTS,
    CONVERSIONS,
    METHODS,
    UNARY,
    SizeFunction,
    saved_property,
    sizes_named,
)

Environment = Mapping[str, Value]


def compile_sizes(formula: TypedFormula, operators: OperatorDegrees) -> Evaluator | None:
    """Compile a formula to a function of its variables' sizes; None if none of it is supported."""
    return _SizeCompiler(formula, operators).compiled()


def is_understood(formula: TypedFormula, operators: OperatorDegrees, node: Expr) -> bool:
    """Whether the sizes of an expression are supported, given those of its operands."""
    return _SizeCompiler(formula, operators).is_understood(node)


class _SizeCompiler(FormulaCompiler):
    unary_operators = UNARY
    binary_operators = BINARY

    def __init__(self, formula: TypedFormula, operators: OperatorDegrees) -> None:
        super().__init__(formula)
        self._operators = operators

    @staticmethod
    def unknown(_: Environment, /) -> Value:
        return UNKNOWN

    def name(self, node: Name) -> Evaluator:
        name = node.simple
        if name is None or name in CONSTANTS:
            value = CONSTANTS.get(node.spelling.removeprefix("::"), UNKNOWN)
            return lambda _: value
        owner, read = saved_property(name)

        def variable(environment: Environment) -> Value:
            if name in environment:
                return environment[name]
            value = environment.get(owner, UNKNOWN)
            return UNKNOWN if read is None or value is UNKNOWN else read(value)

        return variable

    def call(self, node: Call) -> Evaluator:
        evaluator = super().call(node)
        if tuple_access(node) is None:
            return evaluator

        def item(environment: Environment) -> Value:
            try:
                return evaluator(environment)
            except (TypeError, IndexError):
                return UNKNOWN

        return item

    def of_call(self, call: CallFacts) -> Evaluator:
        node = call.node
        name = without_symint(call.spelling)
        if call.is_method and (name in METHODS or not call.is_inplace):
            read = METHODS.get(name)
            if read is not None:
                return self._applied(node, read, [argument.node for argument in call.arguments])
        elif name in CONVERSIONS:
            return self._applied(node, CONVERSIONS[name], [argument.node for argument in call.arguments])
        return self._operator(call)

    def _operator(self, call: CallFacts) -> Evaluator:
        by_book, by_body = self._by_book(call), self._operators.sizes(call)
        if by_body is None:
            return by_book
        names, run = by_body.parameters, by_body.run
        arguments = [self.of(argument.node) for argument in call.arguments]

        def value(values: Environment) -> Value:
            result = run(dict(zip(names, [evaluator(values) for evaluator in arguments], strict=False)))
            return _completed(result, by_book(values)) if is_unknown(result) else result

        return value

    def _by_book(self, call: CallFacts) -> Evaluator:
        function = sizes_named(call.name)
        if function is None or not self.is_of_operator(call):
            return self.unknown
        bound = bound_arguments(call, function)
        if bound is None:
            return self.unknown
        arguments = [(name, self.of(node)) for name, node in bound.items()]
        run = _written(function) if call.is_inplace and call.name not in VIEWS else function.run
        return self._placed(call.node, lambda values: run({name: argument(values) for name, argument in arguments}))

    def _applied(self, node: Call, function: Callable[..., Value], arguments: list[Expr]) -> Evaluator:
        return self._placed(node, applied(function, [self.of(argument) for argument in arguments]))

    def _placed(self, node: Expr, inner: Evaluator) -> Evaluator:
        def evaluate(environment: Environment) -> Value:
            try:
                return inner(environment)
            except IllegalSizesError as error:
                if error.place is None:
                    error.place = node
                raise

        return evaluate

    def binary(self, node: BinaryExpr) -> Evaluator:
        return self._placed(node, super().binary(node))

    def braces(self, node: BraceList) -> Evaluator:
        items = super().braces(node)

        def values(environment: Environment) -> Value:
            result = items(environment)
            return UNKNOWN if is_unknown(result) else result

        return values

    def conditional(self, node: Conditional) -> Evaluator:
        condition = self.of(node.condition)
        then, otherwise = self.of(node.then), self.of(node.otherwise)

        def value(environment: Environment) -> Value:
            flag = condition(environment)
            return UNKNOWN if flag is UNKNOWN else then(environment) if flag else otherwise(environment)

        return value

    def index(self, node: Index) -> Evaluator:
        if len(node.args) != 1:
            return self.unknown
        held, index = self.of(node.object), self.of(node.args[0])

        def item(environment: Environment) -> Value:
            items, position = held(environment), index(environment)
            if type(items) is not tuple or type(position) is not int or not 0 <= position < len(items):
                return UNKNOWN
            return items[position]

        return item


def _completed(value: Value, fallback: Value) -> Value:
    """Replace unknown parts of a value by those of a fallback."""
    if type(value) is tuple and type(fallback) is tuple and len(value) == len(fallback):
        return tuple(map(_completed, value, fallback))
    return fallback if value is UNKNOWN else value


def _written(function: SizeFunction) -> Evaluator:
    """Wrap a function to check that its result can be written to the first argument, which must be a tensor."""

    def run(arguments: Mapping[str, Value]) -> Value:
        result, own = function.run(arguments), next(iter(arguments.values()), UNKNOWN)
        if type(result) is Sizes and type(own) is Sizes and result != own:
            raise IllegalSizesError(f"{shown(result)} cannot be written into {shown(own)}")
        return result

    return run


def bound_arguments(call: CallFacts, function: SizeFunction) -> dict[str, Expr] | None:
    """Bind a call's arguments to the parameters of a size function; None if it is for another function."""
    names = function.parameters
    if call.function is None:
        return {name: argument.node for name, argument in zip(names, call.arguments, strict=False)}
    if function.by_position:
        # size functions have only the parameters that affect sizes
        is_other = call.is_changed and not call.is_of(names, function.required)
        if len(call.arguments) < function.required or is_other:
            return None
        return {name: argument.node for name, argument in zip(names, call.arguments, strict=False)}
    bound: dict[str, Expr] = {}
    for position, argument in enumerate(call.arguments):
        name = _parameter(argument)
        if name in names:
            bound[name] = argument.node
        elif position == 0 and names:
            bound[names[0]] = argument.node
    return bound


def _parameter(argument: CallArgument) -> str:
    return "" if argument.parameter is None else argument.parameter.name
