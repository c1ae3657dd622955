"""Evaluates formulas in the one-element world.

A formula is compiled once into nested functions of an environment, which gives every variable its value. What is not
understood raises :class:`UnknownValueError` where it is evaluated: a branch that is not taken does no harm.
"""

from __future__ import annotations

from collections.abc import Mapping

from derivlint.cpp.inference import number_value
from derivlint.formula import Call, Expr, Name, Number
from derivlint.meaning.callee import Argument, CallFacts, call_facts
from derivlint.meaning.one_element.domain import implementation_named
from derivlint.meaning.one_element.structure import PLACES
from derivlint.meaning.one_element.table import Implementation
from derivlint.meaning.one_element.values import (
    COMPLEX,
    REAL,
    Token,
    UnknownValueError,
    Value,
    cast,
    scalar_type,
)
from derivlint.meaning.one_element.vocabulary import (
    BINARY,
    CONSTANTS,
    CREATED,
    EMPTY,
    GRAD_MODE,
    METADATA,
    NUMBERS,
    QUALIFIED,
    UNARY,
    present,
    saved_property,
)
from derivlint.meaning.typed import TypedFormula
from derivlint.operators.evaluators import Evaluator, ExpressionCompiler

Environment = Mapping[str, Value]

#: Namespaces whose functions the table has.
NAMESPACES = frozenset({"at", "torch", "std", "c10"})

#: What evaluating raises for numbers outside their domains, and for lists and tokens where a number is expected.
FAILURES = (ArithmeticError, AttributeError, TypeError, ValueError, LookupError)


def compile_formula(formula: TypedFormula) -> Evaluator | None:
    """A formula as a function of an environment, which raises :class:`UnknownValueError` for what is not understood.

    None where nothing of it is understood.
    """
    evaluator = _Compiler(formula).expression(formula.tree)
    if evaluator is _unknown:
        return None

    def evaluate(environment: Environment) -> Value:
        try:
            return evaluator(environment)
        except FAILURES as failure:
            raise UnknownValueError from failure

    return evaluate


def is_understood(node: Expr, formula: TypedFormula) -> bool:
    """Whether it is known what an expression in a formula computes, given the values of its parts."""
    return _Compiler(formula).expression(node) is not _unknown


def _unknown(_: Environment) -> Value:
    raise UnknownValueError


def _constant(value: Value) -> Evaluator:
    return lambda _: value


class _Compiler(ExpressionCompiler):
    unary = UNARY
    binary = BINARY

    def __init__(self, formula: TypedFormula) -> None:
        super().__init__()
        self._formula = formula

    def unknown(self, node: Expr) -> Evaluator:
        return _unknown

    def name(self, node: Name) -> Evaluator:
        if node.simple is None:
            spelling = node.spelling.removeprefix("::")
            return _constant(QUALIFIED[spelling]) if spelling in QUALIFIED else _unknown
        name = node.simple
        if name in CONSTANTS:
            return _constant(CONSTANTS[name])
        owner, read = saved_property(name)

        def variable(environment: Environment) -> Value:
            if name in environment:
                return environment[name]
            if read is None or owner not in environment:
                raise UnknownValueError
            return read(environment[owner])

        return variable

    def number(self, node: Number) -> Evaluator:
        constant = number_value(node.text).constant
        return _unknown if constant is None or isinstance(constant, str) else _constant(constant)

    def call(self, node: Call) -> Evaluator:
        call = call_facts(node, self._formula)
        if call is None:
            return _unknown
        name = call.spelling.removesuffix("_symint")
        special = self._method(call, name) if call.is_method else self._function(call, name)
        if special is not None:
            return special
        implementation = implementation_named(call.name)
        if implementation is None or (call.function is None and call.name != "index"):
            return _unknown
        callee = node.callee
        if isinstance(callee, Name) and len(callee.parts) > 1 and callee.parts[0].identifier not in NAMESPACES:
            return _unknown
        if call.function is not None and not implementation.is_of(len(call.function.parameters)):
            # "slogdet_jvp" of PyTorch 2.15 takes "A" as well
            return _unknown
        return self._table(call, implementation)

    def _method(self, call: CallFacts, name: str) -> Evaluator | None:
        owner = self.expression(call.arguments[0].node)
        read = METADATA.get(name) or NUMBERS.get(name)
        if read is not None:
            return lambda environment: read(owner(environment))
        if name == "value" and len(call.arguments) == 1:
            return lambda environment: present(owner(environment))
        if len(call.arguments) > 1 and name in ("value_or", "to", "type_as"):
            other = self.expression(call.arguments[1].node)
            if name == "value_or":
                return lambda environment: _or(owner(environment), other, environment)
            if name == "to":
                return lambda environment: _to(owner(environment), other(environment))
            return lambda environment: cast(owner(environment), scalar_type(other(environment)))
        return None

    def _function(self, call: CallFacts, name: str) -> Evaluator | None:
        arguments = [argument.node for argument in call.arguments]
        if name == "is_enabled":
            return lambda environment: environment[GRAD_MODE]
        if not arguments:
            return _constant(None) if name in EMPTY else None
        first = self.expression(arguments[0])
        if name in NUMBERS and len(arguments) == 1:
            read = NUMBERS[name]
            return lambda environment: read(first(environment))
        if name in CREATED:
            element = CREATED[name]
            options = self.expression(arguments[-1]) if len(arguments) > 1 else _constant(REAL)
            return lambda environment: cast(element, _element_type(options(environment)))
        if name == "scalar_tensor":
            options = self.expression(arguments[-1]) if len(arguments) > 1 else _constant(None)
            return lambda environment: cast(_as_element(first(environment)), options(environment))
        if name in ("make_tuple", "tuple"):
            items = [self.expression(argument) for argument in arguments]
            return lambda environment: tuple(item(environment) for item in items)
        if name == "get":
            return self.item(call.node)
        if name in ("wrap_opt_if", "Tensor", "optional"):
            return first
        return None

    def _table(self, call: CallFacts, implementation: Implementation) -> Evaluator:
        if implementation.by_position:
            bound = _by_position(call.arguments, implementation)
        else:
            bound = _by_name(call.arguments, implementation)
        if bound is None:
            return _unknown
        run = implementation.run
        given = [(name, self.expression(node)) for name, node in bound.items()]
        return lambda environment: run({name: evaluator(environment) for name, evaluator in given})


def _by_position(arguments: tuple[Argument, ...], implementation: Implementation) -> dict[str, Expr] | None:
    if len(arguments) < implementation.required:
        return None
    pairs = zip(implementation.parameters, arguments, strict=False)
    return {name: argument.node for name, argument in pairs if name[0] != "_"}


def _by_name(arguments: tuple[Argument, ...], implementation: Implementation) -> dict[str, Expr] | None:
    bound: dict[str, Expr] = {}
    for argument in arguments:
        name = argument.parameter.name if argument.parameter is not None else ""
        if name in implementation.parameters:
            bound[name] = argument.node
        elif name not in PLACES and f"_{name}" not in implementation.parameters:
            return None
    complete = all(name in bound or name[0] == "_" for name in implementation.parameters[: implementation.required])
    return bound if complete else None


def _or(value: Value, other: Evaluator, environment: Environment) -> Value:
    return other(environment) if value is None else value


def _to(value: Value, target: Value) -> Value:
    return cast(value, target) if target in (REAL, COMPLEX) or target is scalar_type(value) else value


def _element_type(options: Value) -> Value:
    return options if isinstance(options, Token) and options in (REAL, COMPLEX) else REAL


def _as_element(value: Value) -> Value:
    return float(value) if isinstance(value, int) else value
