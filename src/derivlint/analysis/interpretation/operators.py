"""What operators do to a degree: from the table of polynomials, or from what the file says of them."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from derivlint.analysis.interpretation.callee import NAMESPACES, CallFacts, callee_name, is_conventional
from derivlint.analysis.interpretation.degree import Degree
from derivlint.analysis.interpretation.derived_calls import bound, degree_of
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

#: Methods and functions that return a view of their first argument, or that very tensor.
VIEWS = Book.by_hand("returns-view")

#: Functions that return their first argument itself under some circumstances.
MAY_RETURN_ARGUMENT = Book.by_hand("may-return-argument")

#: Methods and functions that look at the metadata of their second argument only.
LIKE_SECOND = Book.by_hand("like-second")

#: Functions whose result has the sizes and the type of their argument and nothing of its value.
LIKE_FIRST = Book.by_hand("like-first")


#: Operators that are linear in none of their arguments.
NONLINEAR = Book.by_hand("nonlinear")

#: Helpers that look at the metadata of an argument only: they make a zero tensor like it, or ask for its sizes.
SHAPE_HELPERS = Book.by_hand("reads-metadata")


def _nothing(name: str) -> None:
    """Nothing is declared."""


class OperatorAnswers:
    """Answers for the operators of one file."""

    def __init__(self, model: Model, declared_linear: Callable[[str], Polynomial | None] = _nothing) -> None:
        """Answer questions.

        Args:
            model: the file.
            declared_linear: what the file says of an operator that neither a table nor a definition knows.
        """
        self._model = model
        self._declared_linear = declared_linear
        self._derived: dict[str, Derived | None] = {}
        self._of_body: dict[HelperBody, Derived] = {}
        self._parsed: dict[HelperBody, FunctionDefinition] = {}
        self._sizes: dict[HelperBody, SizeFunction | None] = {}

    def bodies(self, call: CallFacts) -> tuple[HelperBody, ...]:
        """The bodies of the functions that a call may be of: those of its name with so many parameters."""
        known = self._model.natives.bodies
        callee = call.node.callee
        if known is None or not isinstance(callee, Name) or callee.parts[0].identifier in NAMESPACES:
            return ()
        return tuple(
            body
            for body in known.functions.get(call.spelling, ())
            if body.derived and bound(call, self.derived_of(body), is_same=True) is not None
        )

    def sizes(self, call: CallFacts) -> SizeFunction | None:
        """How the sizes of what a called helper gives follow by its body; None where that is not known."""
        found = self.bodies(call)
        if len(found) != 1:
            return None
        if found[0] not in self._sizes:
            # few files stand in a checkout, with bodies beside them
            from derivlint.bodies.sizes import body_sizes

            (definition,) = self._definitions(call.spelling, {found[0]})
            self._sizes[found[0]] = body_sizes(definition, self._definition)
        return self._sizes[found[0]]

    def _definition(self, name: str, count: int) -> FunctionDefinition | None:
        """The only function of the source of bodies with that name and so many parameters."""
        found = [each for each in self._definitions(name) if len(each.params) == count]
        return found[0] if len(found) == 1 else None

    def _definitions(self, name: str, among: Container[HelperBody] | None = None) -> list[FunctionDefinition]:
        known = self._model.natives.bodies
        listed = () if known is None else known.functions.get(name, ())
        for body in listed:
            if body not in self._parsed:
                from derivlint.cpp.declarations.definitions import function_definitions

                assert known is not None, "it lists functions"
                (self._parsed[body],) = function_definitions(known.source.text[body.span.start : body.span.end])
        return [self._parsed[body] for body in listed if among is None or body in among]

    def unguarded(self, call: CallFacts) -> frozenset[int]:
        """The positions of arguments that the body of a called helper reads although they may be undefined."""
        found = [
            {at for at, name in enumerate(self.derived_of(body).parameters) if name in body.unguarded}
            for body in self.bodies(call)
        ]
        return frozenset(set.intersection(*found)) if found else frozenset()

    def derived_of(self, body: HelperBody) -> Derived:
        """What a body that is followed says."""
        found = self._of_body.get(body)
        if found is None:
            ((_, found),) = read_derived(body.derived)
            self._of_body[body] = found
        return found

    def by_body(self, call: CallFacts) -> Derived | None:
        """What the body of a called function says of it; None where it is not known, or depends on the overload."""
        found = [self.derived_of(body) for body in self.bodies(call)]
        return found[0] if found and all(each.outputs == found[0].outputs for each in found) else None

    def polynomial(self, name: str) -> Polynomial | None:
        """An operator as a polynomial, by its base name; None where nothing is known about it."""
        known = polynomials().get(name)
        if known is None and name not in NONLINEAR and self.derived(name) is None:
            known = self._declared_linear(name)
        return known

    def derived(self, name: str) -> Derived | None:
        """What its definition says of a function; None where it has none, or the tables know it."""
        if name not in self._derived:
            self._derived[name] = None if name in polynomials() or name in NONLINEAR else derived(name)
        return self._derived[name]

    def is_known(self, name: str) -> bool:
        """Whether the tables, a definition or the file say what a function does to a degree."""
        return self.polynomial(name) is not None or name in NONLINEAR or self.derived(name) is not None

    def is_nonlinear(self, name: str) -> bool:
        """Whether an operator is known to be linear in none of its arguments."""
        return name in NONLINEAR

    def ignores_value(self, name: str, parameter: str) -> bool:
        """Whether a function looks at the metadata of an argument only: its entry gives it the gradient 0."""
        return name in SHAPE_HELPERS or parameter in self._model.fact(_without_gradient, name)

    def is_unexplained(self, name: str) -> bool:
        """Whether it is an operator that is not known to read values: some only use sizes."""
        if not is_conventional(name) or name in polynomials() or self.derived(name) is not None:
            return False
        return bool(self._model.natives.with_base(name))


def linear_parameters(body: HelperBody) -> tuple[str, ...]:
    """The parameters that a helper is linear in by its body, each while the others are constant."""
    if not body.derived:
        return ()
    ((_, derived),) = read_derived(body.derived)
    constant = dict.fromkeys(derived.parameters, Degree.CONSTANT)
    return tuple(
        name for name in derived.parameters if degree_of(derived, {**constant, name: Degree.LINEAR}) is Degree.LINEAR
    )


@file_fact
def _without_gradient(model: Model, name: str) -> tuple[str, ...]:
    """The arguments to which entries of an operator give the gradient 0."""
    infos = (body.info for entry in model.entries_in(BY_BASE, name) for body in entry.bodies)
    zero = (each for info in infos if info is not None for each in info.derivatives if is_zero(each))
    return tuple(dict.fromkeys(argument for each in zero for argument in each.var_names))


def is_zero(derivative: Derivative) -> bool:
    """Whether a backward formula says that the operator does not depend on an argument's value."""
    tree = derivative.written.parsed.tree if derivative.written is not None else None
    return isinstance(tree, Call) and callee_name(tree) in Book.by_hand("zero")
