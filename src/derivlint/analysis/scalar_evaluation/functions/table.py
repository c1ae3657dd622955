"""The table of operators and helpers on numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from derivlint.analysis.scalar_evaluation.values import Value
from derivlint.operators.reference.interpretation import Primitive

#: More arguments than any call has.
_ANY_NUMBER = 100

Function = Callable[..., Value]


class Implementation(Struct, frozen=True):
    """An operator or helper on numbers.

    Attributes:
        function: the function of positional values.
        run: the function of values by parameter name; ignored parameters may be omitted.
        parameters: the names of its parameters; those with a leading underscore are ignored.
        required: the number of parameters without default.
        by_position: whether arguments are bound by position, as for helpers, whose parameter names vary, rather than by
            the names in the schema, as for operators.
        declared: the parameters of the helper's definition, which a helper must have to be this one; None without a
            definition.
    """

    function: Function
    run: Callable[[Mapping[str, Value]], Value]
    parameters: tuple[str, ...]
    required: int
    by_position: bool
    declared: tuple[str, ...] | None = None

    def primitive(self) -> Primitive:
        """Wrap the function as a primitive of definitions, with the parameters that calls pass."""
        ignored = frozenset(index for index, parameter in enumerate(self.parameters) if parameter[0] == "_")
        return Primitive(self.function, ignored, len(self.parameters) if self.by_position else _ANY_NUMBER)


class Table(dict[str, Implementation]):
    """A table of operators and helpers by name."""

    def add(self, names: Iterable[str], function: Function, *, by_position: bool) -> None:
        """Add a function under several names."""
        code = function.__code__
        parameters = code.co_varnames[: code.co_argcount]
        required = len(parameters) - len(function.__defaults__ or ())
        unused = dict.fromkeys(name for name in parameters if name[0] == "_")

        def run(values: Mapping[str, Value]) -> Value:
            return function(**{**unused, **values})

        self.update(dict.fromkeys(names, Implementation(function, run, parameters, required, by_position)))

    def add_with(self, names: Iterable[str], function: Function, parameters: tuple[str, ...], required: int) -> None:
        """Add a function of positional values under several names, with explicit parameter names."""

        def run(values: Mapping[str, Value]) -> Value:
            return function(*[values.get(name) for name in parameters])

        self.update(dict.fromkeys(names, Implementation(function, run, parameters, required, False)))

    def operators(self, functions: Mapping[str, Function]) -> None:
        """Add operators by their names, separated by blanks, with the parameters of their schemas."""
        for names, function in functions.items():
            self.add(names.split(), function, by_position=False)

    def helpers(self, functions: Mapping[str, Function]) -> None:
        """Add helpers by their names, separated by blanks, with arguments by position."""
        for names, function in functions.items():
            self.add(names.split(), function, by_position=True)

    def operator(self, *names: str) -> Callable[[Function], Function]:
        """Decorate an operator with the parameters of its schema; ``names`` replace the function's name."""

        def decorate(function: Function) -> Function:
            self.add(names or (function.__name__,), function, by_position=False)
            return function

        return decorate

    def helper(self, *names: str) -> Callable[[Function], Function]:
        """Decorate a function with arguments by position: a helper, or operators whose schemas differ in names only."""

        def decorate(function: Function) -> Function:
            self.add(names or (function.__name__,), function, by_position=True)
            return function

        return decorate


TABLE = Table()
add, operator, helper = TABLE.add, TABLE.operator, TABLE.helper
operators, helpers = TABLE.operators, TABLE.helpers
