"""Degrees of operators and helpers: from the operator book, bodies of helpers, and declarations in the file."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from derivlint.analysis.interpretation.callee import NAMESPACES, CallFacts, callee_name, is_conventional
from derivlint.analysis.interpretation.degree import Degree
from derivlint.analysis.interpretation.derived_calls import argument_positions, degree_of
from derivlint.formula import Call, Name
from derivlint.model import Derivative, Model
from derivlint.model.index import BY_BASE
from derivlint.model.query import file_fact
from derivlint.operators import Book
from derivlint.operators.reference.derived import Derived, derived, read_derived
from derivlint.operators.reference.terms import Polynomial, polynomials
from derivlint.operators.shapes.sizes import SizeFunction
from derivlint.schema.natives import HelperBody

if TYPE_CHECKING:
    from derivlint.cpp.declarations.definitions import FunctionDefinition

#: Methods and functions that return a view of their first argument, or the argument itself.
VIEWS = Book.by_hand("returns-view")

#: Functions that may return their first argument itself.
MAY_RETURN_ARGUMENT = Book.by_hand("may-return-argument")

#: Functions that read only the metadata of their second argument.
LIKE_SECOND = Book.by_hand("like-second")

#: Functions whose result depends only on the sizes and dtype of their argument.
LIKE_FIRST = Book.by_hand("like-first")


#: Operators that are nonlinear in all arguments.
NONLINEAR = Book.by_hand("nonlinear")

#: Helpers that read only metadata of an argument: they return zeros like it, or its sizes.
SHAPE_HELPERS = Book.by_hand("reads-metadata")


def _nothing(name: str) -> None:
    """Declare nothing."""


class OperatorDegrees:
    """Facts about the operators of one file."""

    def __init__(self, model: Model, declared_linear: Callable[[str], Polynomial | None] = _nothing) -> None:
        """Make the facts.

        Args:
            model: the file.
            declared_linear: returns the file's declaration for an operator without table entry and definition, or None.
        """
        self._model = model
        self._declared_linear = declared_linear
        self._derived: dict[str, Derived | None] = {}
        self._of_body: dict[HelperBody, Derived] = {}
        self._parsed: dict[HelperBody, FunctionDefinition] = {}
        self._sizes: dict[HelperBody, SizeFunction | None] = {}

    def bodies(self, call: CallFacts) -> tuple[HelperBody, ...]:
        """The bodies of the functions that may be called: with this name and number of parameters."""
        helper_bodies = self._model.natives.bodies
        callee = call.node.callee
        if helper_bodies is None or not isinstance(callee, Name) or callee.parts[0].identifier in NAMESPACES:
            return ()
        return tuple(
            body
            for body in helper_bodies.functions.get(call.spelling, ())
            if body.derived and argument_positions(call, self.derived_of(body), is_same=True) is not None
        )

    def sizes(self, call: CallFacts) -> SizeFunction | None:
        """The sizes of a called helper's result by its body, or None if unknown."""
        bodies = self.bodies(call)
        if len(bodies) != 1:
            return None
        if bodies[0] not in self._sizes:
            # imported late: few files are in a checkout with bodies
            from derivlint.bodies.sizes import body_sizes

            (definition,) = self._definitions(call.spelling, {bodies[0]})
            self._sizes[bodies[0]] = body_sizes(definition, self._definition)
        return self._sizes[bodies[0]]

    def _definition(self, name: str, count: int) -> FunctionDefinition | None:
        """The only function with the name and number of parameters in the source of bodies, or None."""
        candidates = [definition for definition in self._definitions(name) if len(definition.params) == count]
        return candidates[0] if len(candidates) == 1 else None

    def _definitions(self, name: str, among: Container[HelperBody] | None = None) -> list[FunctionDefinition]:
        helper_bodies = self._model.natives.bodies
        listed = () if helper_bodies is None else helper_bodies.functions.get(name, ())
        for body in listed:
            if body not in self._parsed:
                from derivlint.cpp.declarations.definitions import function_definitions

                assert helper_bodies is not None, "it lists functions"
                (self._parsed[body],) = function_definitions(helper_bodies.source.text[body.span.start : body.span.end])
        return [self._parsed[body] for body in listed if among is None or body in among]

    def unguarded(self, call: CallFacts) -> frozenset[int]:
        """The positions of possibly undefined arguments that the body of a called helper reads."""
        positions = [
            {at for at, name in enumerate(self.derived_of(body).parameters) if name in body.unguarded}
            for body in self.bodies(call)
        ]
        return frozenset(set.intersection(*positions)) if positions else frozenset()

    def derived_of(self, body: HelperBody) -> Derived:
        """The facts derived from a body."""
        derived = self._of_body.get(body)
        if derived is None:
            ((_, derived),) = read_derived(body.derived)
            self._of_body[body] = derived
        return derived

    def by_body(self, call: CallFacts) -> Derived | None:
        """The facts derived from a called function's body, or None if unknown or different among overloads."""
        candidates = [self.derived_of(body) for body in self.bodies(call)]
        return (
            candidates[0]
            if candidates and all(candidate.outputs == candidates[0].outputs for candidate in candidates)
            else None
        )

    def polynomial(self, name: str) -> Polynomial | None:
        """The polynomial of an operator by base name, or None if unknown."""
        polynomial = polynomials().get(name)
        if polynomial is None and name not in NONLINEAR and self.derived(name) is None:
            polynomial = self._declared_linear(name)
        return polynomial

    def derived(self, name: str) -> Derived | None:
        """The facts derived from a definition; None without one, or if a table has the function."""
        if name not in self._derived:
            self._derived[name] = None if name in polynomials() or name in NONLINEAR else derived(name)
        return self._derived[name]

    def is_known(self, name: str) -> bool:
        """Whether the degree of a function follows from the tables, a definition or the file."""
        return self.polynomial(name) is not None or self.is_defined(name)

    def is_defined(self, name: str) -> bool:
        """Whether the tables or a definition have a function; the file says which arguments it reads of none."""
        return name in polynomials() or name in NONLINEAR or self.derived(name) is not None

    def is_nonlinear(self, name: str) -> bool:
        """Whether an operator is known to be nonlinear in all arguments."""
        return name in NONLINEAR

    def ignores_value(self, name: str, parameter: str) -> bool:
        """Whether a function reads only metadata of an argument: its entry gives it the gradient 0."""
        return name in SHAPE_HELPERS or parameter in self._model.fact(_without_gradient, name)

    def is_unexplained(self, name: str) -> bool:
        """Whether it is an operator not known to read values; some use only sizes."""
        if not is_conventional(name) or name in polynomials() or self.derived(name) is not None:
            return False
        return bool(self._model.natives.with_base(name))


def linear_parameters(body: HelperBody) -> tuple[str, ...]:
    """The parameters in each of which a helper is linear by its body."""
    if not body.derived:
        return ()
    ((_, derived),) = read_derived(body.derived)
    constant = dict.fromkeys(derived.parameters, Degree.CONSTANT)
    return tuple(
        name for name in derived.parameters if degree_of(derived, {**constant, name: Degree.LINEAR}) is Degree.LINEAR
    )


@file_fact
def _without_gradient(model: Model, name: str) -> tuple[str, ...]:
    """The arguments with gradient 0 in entries of an operator."""
    infos = (body.info for entry in model.entries_in(BY_BASE, name) for body in entry.bodies)
    zero = (derivative for info in infos if info is not None for derivative in info.derivatives if is_zero(derivative))
    return tuple(dict.fromkeys(argument for derivative in zero for argument in derivative.var_names))


def is_zero(derivative: Derivative) -> bool:
    """Whether a backward formula declares that the operator does not depend on an argument's value."""
    tree = derivative.written.parsed.tree if derivative.written is not None else None
    return isinstance(tree, Call) and callee_name(tree) in Book.by_hand("zero")
