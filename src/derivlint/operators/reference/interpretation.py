"""An interpreter of reference definitions over any domain: numbers, tensors.

Each definition is compiled once to nested closures. A :class:`Domain` defines values and primitives.
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
from derivlint.operators.reference.evaluators import Evaluator, ExpressionCompiler, applied, nothing

#: The maximum nesting of definitions; deeper nesting is taken for recursion.
MAX_DEPTH = 40


class InterpretationError(Exception):
    """A definition cannot be evaluated: it calls a function that the domain lacks."""


class Primitive(Struct, frozen=True):
    """A function of a domain.

    Attributes:
        function: the function.
        ignored: the positions of unused arguments, which are not evaluated and passed as None.
        takes: the number of arguments; further ones are not evaluated.
    """

    function: Callable[..., Any]
    ignored: frozenset[int] = frozenset()
    takes: int = 1_000


class Domain(ABC):
    """The values and primitives for the interpretation of definitions.

    Attributes:
        constants: the values of domain-specific names.
        unary: the unary operators.
        binary: the binary operators except ``&&`` and ``||``.
    """

    constants: Mapping[str, Any] = {}
    unary: Mapping[str, Callable[[Any], Any]]
    binary: Mapping[str, Callable[[Any, Any], Any]]

    @abstractmethod
    def primitive(self, name: str) -> Primitive | None:
        """The primitive with a name, or None; primitives take precedence over definitions."""

    @abstractmethod
    def operator(self, name: str) -> Primitive | None:
        """The operator with a name and without definition, or None."""

    @abstractmethod
    def number(self, text: str) -> Any:
        """The value of a C++ number."""


class Compiled(Struct, frozen=True):
    """A compiled definition.

    Attributes:
        run: the function of a dictionary with the values of all used parameters, which it may modify.
        parameters: the names of its parameters.
        required: the number of parameters without default.
        absent: the defaults of all used parameters; None unless the definition has one.
    """

    run: Callable[[dict[str, Any]], Any]
    parameters: tuple[str, ...]
    required: int
    absent: Mapping[str, Any]

    def call(self, arguments: Mapping[str, Any]) -> Any:
        """Evaluate the definition, given values by parameter name."""
        return self.run({**self.absent, **arguments})

    @property
    def primitive(self) -> Primitive:
        """Wrap the definition as a primitive, with arguments by position."""
        run, parameters, absent = self.run, self.parameters, self.absent
        ignored = (index for index, name in enumerate(parameters) if name not in absent)

        def function(*values: Any) -> Any:
            return run({**absent, **dict(zip(parameters, values, strict=False))})

        return Primitive(function, frozenset(ignored))


class Interpreter:
    """A compiler of definitions for one domain."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self._compiled: dict[str, Compiled] = {}
        self._callees: dict[str, Primitive | Compiled] = {}
        self._depth = 0

    def function(self, name: str) -> Compiled | None:
        """Return the compiled definition of a name, or None.

        Raises:
            InterpretationError: it cannot be evaluated.
        """
        compiled = self._compiled.get(name)
        if compiled is None:
            definition = definitions().get(name)
            if definition is None:
                return None
            compiled = self._compiled[name] = self.compile(definition)
        return compiled

    def callee(self, name: str) -> Primitive | Compiled:
        """Return the function that a name in a definition denotes.

        Raises:
            InterpretationError: there is none, or it cannot be evaluated.
        """
        callee = self._callees.get(name)
        if callee is None:
            callee = self._callees[name] = self._callee(name)
        return callee

    def _callee(self, name: str) -> Primitive | Compiled:
        primitive = self.domain.primitive(name)
        if primitive is not None:
            return primitive
        definition = definitions().get(name)
        if definition is None or definition.kind is DefinitionKind.COMPOSITE:
            # prefer the operator to its definition if the domain has it
            primitive = self.domain.operator(name)
            if primitive is not None:
                return primitive
        compiled = self.function(name)
        if compiled is None:
            raise InterpretationError(f'there is no "{name}"')
        return compiled

    def value(self, expression: str, values: Mapping[str, Any]) -> Any:
        """Evaluate an expression in the language of definitions.

        Args:
            expression: the expression.
            values: the values of the names in it.

        Raises:
            InterpretationError: it cannot be evaluated.
        """
        return _Body(self).of(tree_of(expression))(values)

    def compile(self, definition: Definition) -> Compiled:
        """Compile a definition.

        Raises:
            InterpretationError: it cannot be evaluated.
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
        # compile the result first, then only those intermediate values that are used
        *parts, (_, last) = definition.formulas
        value = body.of(tree_of(last))
        steps: list[tuple[str, Evaluator]] = []
        for name, formula in reversed(parts):
            if name in body.needed:
                steps.append((name, body.of(tree_of(formula))))
        steps.reverse()
        parameters = definition.parameters
        absent = dict.fromkeys(name for name in parameters if name in body.needed)
        for name, text in definition.defaults.items():
            if name in absent:
                absent[name] = _Body(self).of(tree_of(text))({})

        def run(values: dict[str, Any]) -> Any:
            for name, step in steps:
                values[name] = step(values)
            return value(values)

        return Compiled(run if steps else value, parameters, definition.required, absent)


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
        callee = self._interpreter.callee(name)
        if isinstance(callee, Compiled):
            return self._defined(name, callee, arguments)
        evaluators = [
            nothing if index in callee.ignored else self.of(argument)
            for index, argument in enumerate(arguments[: callee.takes])
        ]
        return applied(callee.function, evaluators)

    def _defined(self, name: str, callee: Compiled, arguments: tuple[Expr, ...]) -> Evaluator:
        if len(arguments) > len(callee.parameters):
            raise InterpretationError(f'"{name}" takes {len(callee.parameters)} arguments')
        run = callee.run
        absent = dict(callee.absent)
        evaluators = []
        for parameter, node in zip(callee.parameters, arguments, strict=False):
            if parameter in absent:
                del absent[parameter]
                evaluators.append((parameter, self.of(node)))

        def called(values: Mapping[str, Any]) -> Any:
            own = absent.copy()
            for parameter, evaluator in evaluators:
                own[parameter] = evaluator(values)
            return run(own)

        return called
