"""Runs reference definitions over values of any kind: numbers, tensors.

A definition becomes nested functions once, and is then called like any other function. What values are, and what
primitives do with them, is the business of a :class:`Domain`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

from msgspec import Struct

from derivlint.formula import Call, Expr, Member, Name, Number
from derivlint.operators.constants import constant_named
from derivlint.operators.reference.definitions import Definition, DefinitionKind, definitions, tree_of
from derivlint.operators.reference.evaluators import Evaluator, ExpressionCompiler

#: Definitions that call each other deeper than that call themselves.
MAX_DEPTH = 40


class InterpretationError(Exception):
    """A definition that cannot be run: it calls what the domain does not have."""


class Primitive(Struct, frozen=True):
    """A function of a domain.

    Attributes:
        function: the function.
        ignored: positions of arguments that it does not look at; they are not evaluated, and are None.
        takes: how many arguments it takes; further ones are not evaluated, either.
    """

    function: Callable[..., Any]
    ignored: frozenset[int] = frozenset()
    takes: int = 1_000


class Domain(ABC):
    """The values that definitions are run over.

    Attributes:
        constants: the values of names that only this domain has.
        unary: the operators with one operand.
        binary: those with two, but for ``&&`` and ``||``.
    """

    constants: Mapping[str, Any] = {}
    unary: Mapping[str, Callable[[Any], Any]]
    binary: Mapping[str, Callable[[Any, Any], Any]]

    @abstractmethod
    def primitive(self, name: str) -> Primitive | None:
        """The function of a name, None where the domain has none; asked before definitions are."""

    @abstractmethod
    def operator(self, name: str) -> Primitive | None:
        """The operator of a name that is not defined, None where the domain has none."""

    @abstractmethod
    def number(self, text: str) -> Any:
        """The value of a C++ number."""


class Compiled(Struct, frozen=True):
    """A definition as a function.

    Attributes:
        call: takes values by the names of parameters; those that are left out are None, or what the definition says.
        parameters: the names of its parameters.
        required: how many of them have no default.
        needed: the parameters that it looks at.
    """

    call: Evaluator
    parameters: tuple[str, ...]
    required: int
    needed: frozenset[str]

    @property
    def primitive(self) -> Primitive:
        """The same as a primitive, with values by position."""
        call, parameters = self.call, self.parameters
        ignored = (index for index, name in enumerate(parameters) if name not in self.needed)

        def function(*values: Any) -> Any:
            return call(dict(zip(parameters, values, strict=False)))

        return Primitive(function, frozenset(ignored))


class Interpreter:
    """The definitions as functions of one domain."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self._compiled: dict[str, Compiled] = {}
        self._depth = 0

    def function(self, name: str) -> Compiled | None:
        """What is defined under a name, None where nothing is.

        Raises:
            InterpretationError: it cannot be run.
        """
        found = self._compiled.get(name)
        if found is None:
            definition = definitions().get(name)
            if definition is None:
                return None
            found = self._compiled[name] = self.compile(definition)
        return found

    def value(self, expression: str, values: Mapping[str, Any]) -> Any:
        """The value of an expression of the language of definitions.

        Args:
            expression: the expression.
            values: the values of the names in it.

        Raises:
            InterpretationError: it cannot be run.
        """
        return _Body(self).of(tree_of(expression))(values)

    def compile(self, definition: Definition) -> Compiled:
        """A definition as a function.

        Raises:
            InterpretationError: it cannot be run.
        """
        if self._depth > MAX_DEPTH:
            raise InterpretationError(f'the definition of "{definition.name}" calls itself')
        self._depth += 1
        try:
            return self._compiled_body(definition)
        finally:
            self._depth -= 1

    def _compiled_body(self, definition: Definition) -> Compiled:
        body = _Body(self)
        # the value first: parts that it does not look at are not computed
        *parts, (_, last) = definition.formulas
        value = body.of(tree_of(last))
        steps: list[tuple[str, Evaluator]] = []
        for name, formula in reversed(parts):
            if name in body.needed:
                steps.append((name, body.of(tree_of(formula))))
        steps.reverse()
        parameters = definition.parameters
        needed = frozenset(body.needed & set(parameters))
        defaults = {name: _Body(self).of(tree_of(text))({}) for name, text in definition.defaults.items()}
        blank = {**dict.fromkeys(parameters), **defaults}

        def call(given: Mapping[str, Any]) -> Any:
            values = {**blank, **given}
            for name, step in steps:
                values[name] = step(values)
            return value(values)

        return Compiled(call, parameters, definition.required, needed)


class _Body(ExpressionCompiler):
    def __init__(self, interpreter: Interpreter) -> None:
        super().__init__()
        self._interpreter = interpreter
        self._domain = interpreter.domain
        self.unary_operators = self._domain.unary
        self.binary_operators = self._domain.binary
        self.needed: set[str] = set()

    def otherwise(self, node: Expr) -> Evaluator:
        raise InterpretationError(f'"{type(node).__name__}" has no meaning in definitions')

    def name(self, node: Name) -> Evaluator:
        constant = constant_named(node)
        if constant is not None:
            value = constant.value
            return lambda _: value
        if node.simple is None:
            return self.otherwise(node)
        if node.simple in self._domain.constants:
            value = self._domain.constants[node.simple]
            return lambda _: value
        self.needed.add(node.simple)
        return itemgetter(node.simple)

    def number(self, node: Number) -> Evaluator:
        value = self._domain.number(node.text)
        return lambda _: value

    def called(self, node: Call) -> Evaluator:
        callee = node.callee
        if isinstance(callee, Member):
            return self._called(callee.name, (callee.object, *node.args))
        if not isinstance(callee, Name):
            return self.otherwise(node)
        return self._called(callee.parts[-1].identifier, node.args)

    def _called(self, name: str, arguments: tuple[Expr, ...]) -> Evaluator:
        callee = self._callee(name, len(arguments))
        if isinstance(callee, Compiled):
            call = callee.call
            pairs = zip(callee.parameters, arguments, strict=False)
            given = [(name, self.of(node)) for name, node in pairs if name in callee.needed]
            return lambda values: call({name: each(values) for name, each in given})
        function = callee.function
        evaluators = [
            _nothing if index in callee.ignored else self.of(argument)
            for index, argument in enumerate(arguments[: callee.takes])
        ]
        # most functions take one or two
        if len(evaluators) == 1:
            (only,) = evaluators
            return lambda values: function(only(values))
        if len(evaluators) == 2:
            first, second = evaluators
            return lambda values: function(first(values), second(values))
        return lambda values: function(*[each(values) for each in evaluators])

    def _callee(self, name: str, count: int) -> Primitive | Compiled:
        primitive = self._domain.primitive(name)
        definition = definitions().get(name)
        if primitive is None and (definition is None or definition.kind is DefinitionKind.COMPOSITE):
            # what PyTorch makes of others is called as an operator where there is one
            primitive = self._domain.operator(name)
        if primitive is not None:
            return primitive
        compiled = self._interpreter.function(name)
        if compiled is None:
            raise InterpretationError(f'there is no "{name}"')
        if count > len(compiled.parameters):
            raise InterpretationError(f'"{name}" takes {len(compiled.parameters)} arguments')
        return compiled


def _nothing(_: Mapping[str, Any]) -> None:
    return None
