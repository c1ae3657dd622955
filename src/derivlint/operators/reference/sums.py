"""Sums of products of parameters: the abstract values of definitions and function bodies.

A sum represents the linearity of a value and its parity in complex parameters. A term that is absent for some flags is
marked as not sure, and arguments of unknown functions as unclear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from derivlint.formula import Call, Conditional, Expr, Member, Name, Node, unparenthesized
from derivlint.formula.analysis import position_of
from derivlint.operators.book import Book
from derivlint.operators.reference.derived import Derived
from derivlint.operators.reference.terms import (
    Parity,
    Polynomial,
    Term,
    joint,
    not_holomorphic,
    polynomials,
    read_terms,
)

_FILE = Path(__file__).parents[1] / "data" / "primitives.txt"
#: The maximum number of products in a sum.
_MOST_TERMS = 200
_NONE: frozenset[str] = frozenset()


class SumTerm(NamedTuple):
    """A product of parameters; see :class:`Term`."""

    linear: frozenset[str]
    curved: frozenset[str]
    unclear: frozenset[str]
    is_sure: bool = True

    @property
    def all(self) -> frozenset[str]:
        """All parameters that occur in it."""
        return self.linear | self.curved | self.unclear

    def times(self, other: SumTerm) -> SumTerm:
        """The product with another term."""
        unclear = self.unclear | other.unclear
        curved = self.curved | other.curved | (self.linear & other.linear)
        linear = (self.linear | other.linear) - curved
        return SumTerm(linear - unclear, curved - unclear, unclear, self.is_sure and other.is_sure)

    @property
    def possible(self) -> SumTerm:
        """The term, marked as absent for some flags."""
        return self._replace(is_sure=False)


class Sum(NamedTuple):
    """A sum of products and its parities in complex parameters; an unlisted parameter does not affect the parity."""

    terms: frozenset[SumTerm]
    parities: Mapping[str, Parity]

    @property
    def all(self) -> frozenset[str]:
        """All parameters that occur in it."""
        return _NONE.union(*(term.all for term in self.terms))


#: A sum, or a tuple of values.
Value = Any

ONE = SumTerm(_NONE, _NONE, _NONE)
CONSTANT = Sum(frozenset({ONE}), {})
ZERO = Sum(frozenset(), {})
#: An absent optional value; distinguished from other zeros by identity.
ABSENT = Sum(frozenset(), {})


def variable(name: str) -> Sum:
    """The sum that is one parameter."""
    return Sum(frozenset({SumTerm(frozenset({name}), _NONE, _NONE)}), {name: Parity.HOLOMORPHIC})


def made(terms: Iterable[SumTerm], parities: Mapping[str, Parity]) -> Sum:
    """Build a sum of terms without duplicates."""
    distinct = set(terms)
    for term in [term for term in distinct if term.is_sure]:
        distinct.discard(term.possible)
    if len(distinct) > _MOST_TERMS:
        distinct = {SumTerm(_NONE, _NONE, _NONE.union(*(term.all for term in distinct)), is_sure=False)}
    return Sum(frozenset(distinct), parities)


def joined(values: Iterable[Sum]) -> Mapping[str, Parity]:
    """The joint parities of several values."""
    parities: dict[str, Parity] = {}
    for value in values:
        for name, parity in value.parities.items():
            parities[name] = joint((parities[name], parity)) if name in parities else parity
    return parities


def is_several(value: Value) -> bool:
    """Whether a value is a tuple of values."""
    return isinstance(value, tuple) and not isinstance(value, Sum)


def flat(value: Value) -> Sum:
    """Add up the items of a tuple."""
    return value if isinstance(value, Sum) else added(*map(flat, value))


def added(*values: Sum) -> Sum:
    """Add values."""
    return made((term for value in values for term in value.terms), joined(values))


def times(left: Sum, right: Sum) -> Sum:
    """Multiply two values."""
    if not left.terms or not right.terms:
        return ZERO
    return made((a.times(b) for a in left.terms for b in right.terms), joined((left, right)))


def curved_in(*values: Sum, parity: Parity | None = None) -> Sum:
    """The value of a nonlinear function with a parity, by default real."""
    curved = _NONE.union(*(t.linear | t.curved for value in values for t in value.terms if t.is_sure))
    every = _NONE.union(*(value.all for value in values))
    parities = {name: parity.of(inner) for name, inner in joined(values).items()} if parity is not None else {}
    return Sum(frozenset({SumTerm(_NONE, curved, every - curved)}), parities)


def opaque_in(*values: Sum) -> Sum:
    """The value of an unknown function."""
    every = _NONE.union(*(value.all for value in values))
    return Sum(frozenset({SumTerm(_NONE, _NONE, every)}), dict.fromkeys(joined(values), Parity.UNKNOWN))


def chosen(condition: Sum, then: Sum, otherwise: Sum) -> Sum:
    """The join of two branches of a condition."""
    selector = curved_in(condition)
    then = then if then is ABSENT else times(selector, then)
    otherwise = otherwise if otherwise is ABSENT else times(selector, otherwise)
    if otherwise is ABSENT:
        terms: Iterable[SumTerm] = then.terms
    elif then is ABSENT:
        terms = otherwise.terms
    else:
        both = then.terms & otherwise.terms
        terms = (term if term in both else term.possible for term in then.terms | otherwise.terms)
    return made(terms, joined((then, otherwise)))


def possible_branches(node: Conditional, of: Callable[[Expr], Any], refusal: type[Exception]) -> list[Any]:
    """The values of those branches of a conditional that do not raise.

    Raises:
        refusal: both branches raise.
    """
    branches = []
    for branch in (node.then, node.otherwise):
        with suppress(refusal):
            branches.append(of(branch))
    if not branches:
        raise refusal
    return branches


def without(value: Value, parameter: str) -> Value:
    """Remove a parameter from the parities of a value."""
    if not isinstance(value, Sum):
        return tuple(without(item, parameter) for item in value)
    return Sum(value.terms, {name: parity for name, parity in value.parities.items() if name != parameter})


def polynomial_of(parameters: tuple[str, ...], value: Sum) -> Polynomial:
    """Convert a value to a polynomial over ordered parameters."""
    order = {name: index for index, name in enumerate(parameters)}

    def ordered(names: frozenset[str]) -> tuple[str, ...]:
        return tuple(sorted(names, key=order.__getitem__))

    def place(term: Term) -> list[object]:
        return [[order[name] for name in part] for part in (term.factors, term.divisors, term.unclear)]

    terms = [
        Term(ordered(summand.linear), ordered(summand.curved), ordered(summand.unclear), summand.is_sure)
        for summand in value.terms
    ]
    parities = {name: value.parities[name] for name in parameters if name in value.parities}
    return Polynomial(parameters, tuple(sorted(terms, key=place)), parities)


def item_of(held: Value, index: Node) -> Value:
    """An item of a tuple; the whole tuple if the index is unknown."""
    position = position_of(index)
    if isinstance(held, Sum) or position is None or position >= len(held):
        return flat(held)
    return held[position]


@cache
def primitives() -> Mapping[str, tuple[Polynomial, frozenset[int]]]:
    """The primitives as polynomials, with the positions of arguments whose metadata alone is read."""
    polynomials = {}
    for name, polynomial in read_terms(_FILE.read_text(encoding="ascii")):
        ignored = frozenset(at for at, parameter in enumerate(polynomial.parameters) if parameter[0] == "-")
        parameters = tuple(parameter.removeprefix("-") for parameter in polynomial.parameters)
        polynomials[name] = (Polynomial(parameters, polynomial.terms, polynomial.parities), ignored)
    return polynomials


def known_call(name: str, arguments: list[Sum]) -> Sum | None:
    """The value of a call that the tables cover, or None."""
    ignored = frozenset({0} if name in Book.by_hand("like-first") else ()) | (
        {1} if name in Book.by_hand("like-second") else set()
    )
    polynomial = polynomials().get(name)
    if polynomial is not None:
        if not polynomial.terms:
            return ZERO
        return substituted(polynomial, ignored, arguments)
    rest = [value for position, value in enumerate(arguments) if position not in ignored]
    if name in Book.by_hand("real"):
        return Sum(opaque_in(*rest).terms, {})
    if ignored or name in Book.by_hand("compares") or name in Book.by_hand("answers"):
        return curved_in(*rest)
    if name in Book.by_hand("nonlinear"):
        parity = Parity.UNKNOWN
        if name in not_holomorphic():
            parity = Parity.NON_HOLOMORPHIC
        elif name in Book.by_hand("holomorphic"):
            parity = Parity.HOLOMORPHIC
        return curved_in(*arguments, parity=parity)
    return None


def substituted(polynomial: Polynomial, ignored: frozenset[int], arguments: list[Sum]) -> Sum:
    """Substitute values into a polynomial; further arguments are choices or shapes, or only their metadata matters."""
    counted = {name for term in polynomial.terms for name in (*term.factors, *term.divisors)}
    by_name: dict[str, Sum] = {}
    curved = []
    for position, value in enumerate(arguments):
        name = polynomial.parameters[position] if position < len(polynomial.parameters) else ""
        if name in counted:
            by_name[name] = value
        elif position not in ignored:
            curved.append(value)
    terms = [term for term in polynomial.terms if not term.factors or term.factors[0] in by_name]
    operands = {name: by_name.get(name, CONSTANT) for name in counted}
    parities = {name: polynomial.parity(name) for name in counted}
    value_of_terms = composed(Polynomial(polynomial.parameters, tuple(terms)), operands, parities)
    return times(curved_in(*curved), value_of_terms) if curved else value_of_terms


def applied(derived: Derived, arguments: list[Sum]) -> Value:
    """The value of a call of a derived function, with arguments by position."""
    names = derived.parameters
    operands = dict(zip(names, arguments, strict=False))
    for missing in names[len(arguments) :]:
        operands[missing] = CONSTANT if missing in derived.with_default else ABSENT
    values = tuple(composed(output, operands, output.parities) for output in derived.outputs)
    return values if len(values) > 1 else values[0]


def composed(polynomial: Polynomial, operands: Mapping[str, Sum], parities: Mapping[str, Parity]) -> Sum:
    """Substitute values for the parameters of a polynomial."""
    parts = []
    for term in polynomial.terms:
        value = Sum(frozenset({ONE if term.is_sure else ONE.possible}), {})
        for name in term.factors:
            value = times(value, operands[name])
        if term.divisors:
            value = times(value, curved_in(*(operands[name] for name in term.divisors)))
        if term.unclear:
            value = times(value, opaque_in(*(operands[name] for name in term.unclear)))
        parts.append(value)
    joint_parities: dict[str, Parity] = {}
    for name, parity in parities.items():
        for inner, own in operands[name].parities.items():
            outer = parity.of(own)
            joint_parities[inner] = joint((joint_parities[inner], outer)) if inner in joint_parities else outer
    return made((term for value in parts for term in value.terms), joint_parities)


def asked_of(condition: Expr) -> tuple[str, Expr] | None:
    """The predicate and operand of a condition: ``x.defined()``, ``is_complex_tensor(x)``."""
    condition = unparenthesized(condition)
    if not isinstance(condition, Call):
        return None
    callee = condition.callee
    if isinstance(callee, Member) and not condition.args:
        return callee.name, callee.object
    if isinstance(callee, Name) and len(condition.args) == 1:
        return callee.parts[-1].identifier, condition.args[0]
    return None


def absent_terms(then: Value, otherwise: Value, tested: frozenset[str]) -> Sum | None:
    """The first value if the second equals it except for terms with absent parameters, else None."""
    if not isinstance(then, Sum) or not isinstance(otherwise, Sum) or not tested:
        return None
    if otherwise.terms == {term for term in then.terms if term.all.isdisjoint(tested)}:
        return Sum(then.terms, joined((then, otherwise)))
    return None
