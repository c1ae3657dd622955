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
    """An operator or a helper of FunctionsManual.h, for numbers.

    Attributes:
        function: the function, which takes values by position.
        run: the function with values by the names of parameters; ignored ones may be left out.
        parameters: the names of its parameters; one that begins with an underscore is ignored.
        required: how many of them have no default.
        by_position: whether arguments are bound by position: helpers, whose headers do not always agree with
            themselves about names. Operators are bound by the names in their schemas.
        declared: the parameters of the helper whose definition it runs; a helper that is declared with others is
            another function. None if there is no definition as a helper.
    """

    function: Function
    run: Callable[[Mapping[str, Value]], Value]
    parameters: tuple[str, ...]
    required: int
    by_position: bool
    declared: tuple[str, ...] | None = None

    def primitive(self) -> Primitive:
        """The function as a primitive of definitions, with the parameters of its schema that calls have."""
        ignored = frozenset(index for index, parameter in enumerate(self.parameters) if parameter[0] == "_")
        return Primitive(self.function, ignored, len(self.parameters) if self.by_position else _ANY_NUMBER)


class Table(dict[str, Implementation]):
    """Operators and helpers by name."""

    def add(self, names: Iterable[str], function: Function, *, by_position: bool) -> None:
        """Add a function under all of its names."""
        code = function.__code__
        parameters = code.co_varnames[: code.co_argcount]
        required = len(parameters) - len(function.__defaults__ or ())
        unused = dict.fromkeys(name for name in parameters if name[0] == "_")

        def run(values: Mapping[str, Value]) -> Value:
            return function(**{**unused, **values})

        self.update(dict.fromkeys(names, Implementation(function, run, parameters, required, by_position)))

    def add_with(self, names: Iterable[str], function: Function, parameters: tuple[str, ...], required: int) -> None:
        """Add a function that takes values by position, with parameters of these names."""

        def run(values: Mapping[str, Value]) -> Value:
            return function(*[values.get(name) for name in parameters])

        self.update(dict.fromkeys(names, Implementation(function, run, parameters, required, False)))

    def operators(self, functions: Mapping[str, Function]) -> None:
        """Add operators by their names, which spaces separate, with the parameters of their schemas."""
        for names, function in functions.items():
            self.add(names.split(), function, by_position=False)

    def helpers(self, functions: Mapping[str, Function]) -> None:
        """Add helpers by their names, which spaces separate, bound by position."""
        for names, function in functions.items():
            self.add(names.split(), function, by_position=True)

    def operator(self, *names: str) -> Callable[[Function], Function]:
        """An operator with the parameters of its schema; ``names`` are further operators, or all if there are any."""

        def decorate(function: Function) -> Function:
            self.add(names or (function.__name__,), function, by_position=False)
            return function

        return decorate

    def helper(self, *names: str) -> Callable[[Function], Function]:
        """A function that is bound by position: a helper, or operators whose schemas differ in names only."""

        def decorate(function: Function) -> Function:
            self.add(names or (function.__name__,), function, by_position=True)
            return function

        return decorate


TABLE = Table()
add, operator, helper = TABLE.add, TABLE.operator, TABLE.helper
operators, helpers = TABLE.operators, TABLE.helpers
