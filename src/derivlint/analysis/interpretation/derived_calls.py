"""Calls of functions with a definition: binding of arguments, and degrees."""

from __future__ import annotations

from collections.abc import Mapping

from derivlint.analysis.interpretation.callee import CallFacts, is_conventional
from derivlint.analysis.interpretation.degree import Degree, product_of, sum_of
from derivlint.operators.reference.derived import Derived
from derivlint.operators.reference.terms import Polynomial, Term


def argument_positions(call: CallFacts, derived: Derived, *, is_same: bool = False) -> dict[str, int] | None:
    """The positions of a call's arguments, by parameter of a definition.

    Args:
        call: the call.
        derived: the definition.
        is_same: whether to assume that an undeclared helper is the defined one.

    Returns:
        None for a helper with another signature.
    """
    names = derived.parameters
    if derived.is_by_position:
        if not derived.required <= len(call.arguments) <= len(names) or (
            not is_same and not call.is_of(names, derived.required)
        ):
            return None
        return {name: position for position, name in enumerate(names[: len(call.arguments)])}
    positions: dict[str, int] = {}
    for position, argument in enumerate(call.arguments):
        parameter = argument.parameter
        if parameter is None or (call.is_method and position == 0):
            name = names[position] if position < len(names) else None
        elif parameter.name in names:
            name = parameter.name
        else:
            # definitions of composite operators have their own names, others lack parameters for shapes
            name = names[position] if derived.has_own_names and position < len(names) else None
        if name is not None:
            positions.setdefault(name, position)
    return positions


def has_parameters(call: CallFacts, polynomial: Polynomial) -> bool:
    """Whether a called helper certainly has the parameters in a table; operators do not change."""
    if call.is_changed:
        return False
    if len(polynomial.parameters) == 1 or not is_conventional(call.name):
        return True
    return call.function is not None and {parameter.name for parameter in call.function.parameters} >= {
        *polynomial.parameters
    }


def degree_of(derived: Derived, argument_degrees: Mapping[str, Degree]) -> Degree:
    """The joint degree of a call's values, given the degrees of its arguments."""
    absent = dict.fromkeys(derived.with_default, Degree.CONSTANT)
    degrees = {**absent, **argument_degrees}
    output_degrees = {_output_degree(output, degrees) for output in derived.outputs} - {Degree.ZERO}
    if len(output_degrees) > 1:
        # several values are not added
        output_degrees.discard(Degree.CONSTANT)
    return sum_of(output_degrees)


def _output_degree(output: Polynomial, degrees: Mapping[str, Degree]) -> Degree:
    sure: list[Degree] = []
    possible: list[Degree] = []
    for term in output.terms:
        degree = term_degree(term, degrees)
        if degree is not Degree.ZERO:
            (sure if term.is_sure else possible).append(degree)
    total = sum_of(sure)
    if total is Degree.NONLINEAR or all(degree is total for degree in possible):
        return total
    first = possible[0]
    return first if total is Degree.ZERO and all(degree is first for degree in possible) else Degree.UNKNOWN


def term_degree(term: Term, degrees: Mapping[str, Degree]) -> Degree:
    """The degree of a product, given those of its factors; independent factors are absent."""
    total = Degree.CONSTANT
    for name in term.factors:
        degree = degrees.get(name, Degree.ZERO)
        if degree is Degree.ZERO:
            return degree
        if degree is not Degree.CONSTANT:
            total = degree if total is Degree.CONSTANT else product_of((total, degree))
    for names, worst in ((term.divisors, Degree.NONLINEAR), (term.unclear, Degree.UNKNOWN)):
        for name in names:
            degree = degrees.get(name, Degree.ZERO)
            if degree is Degree.UNKNOWN:
                return degree
            if degree is not Degree.ZERO and degree is not Degree.CONSTANT:
                total = worst
    return total
