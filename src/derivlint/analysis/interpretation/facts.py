"""The facts about an expression that interpretation derives."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import Enum, IntEnum

from msgspec import Struct, field

from derivlint.analysis.interpretation.degree import Degree, sum_of
from derivlint.formula import Expr


class Dependence(IntEnum):
    """How an expression depends on a variable."""

    #: on its sizes, dtype, device, or definedness
    METADATA = 1
    #: possibly on its value: it is passed to a function that may read it
    POSSIBLE = 2
    VALUE = 3


def _nothing() -> Mapping[str, Dependence]:
    return {}


class Fact(Struct, frozen=True):
    """The degree, dependences and aliases of an expression.

    Attributes:
        degree: its joint degree in the seeds.
        seeds: the gradients or tangents on which it depends.
        dependence: its dependence on each variable, including seeds.
        aliases: the variables that it may be, or be a view of.
    """

    degree: Degree = Degree.UNKNOWN
    seeds: frozenset[str] = frozenset()
    dependence: Mapping[str, Dependence] = field(default_factory=_nothing)
    aliases: frozenset[str] = frozenset()

    def reads(self, name: str) -> bool:
        """Whether the expression certainly depends on the value of a variable."""
        return self.dependence.get(name) is Dependence.VALUE

    def may_read(self, name: str) -> bool:
        """Whether the expression may depend on the value of a variable."""
        return self.dependence.get(name, Dependence.METADATA) is not Dependence.METADATA


NOTHING = Fact()


class Cause(Enum):
    """The reasons why an expression is not linear in the seeds."""

    #: a product of two values that depend on seeds
    PRODUCT = "product"
    #: a division by a seed
    DIVISOR = "divisor"
    #: a nonlinear function of a seed
    FUNCTION = "function"
    #: a term without seed added to one with a seed
    CONSTANT_TERM = "constant term"
    #: a choice between a value with and one without seed
    CONSTANT_BRANCH = "constant branch"


class Culprit(Struct, frozen=True):
    """A nonlinear part of a formula.

    Attributes:
        cause: the reason.
        node: the nonlinear expression.
        parts: the blamed operands: both factors, the divisor, the constant term.
        seeds: the seeds in all these parts.
    """

    cause: Cause
    node: Expr
    parts: tuple[Expr, ...]
    seeds: frozenset[str]


class Write(Struct, frozen=True):
    """A call or an assignment that modifies its object or an argument.

    Attributes:
        node: the call or the assignment.
        spelling: the function's name in the call, or the operator.
        returning: the function or operator that returns the value instead.
        target: the modified expression.
        operands: the arguments after the first one.
        fact: the fact of the target.
    """

    node: Expr
    spelling: str
    returning: str
    target: Expr
    operands: tuple[Expr, ...]
    fact: Fact


def merged(dependences: Iterable[Mapping[str, Dependence]]) -> Mapping[str, Dependence]:
    """Join dependences; the strongest on each variable counts."""
    strongest: Mapping[str, Dependence] = {}
    own: dict[str, Dependence] | None = None
    for dependence in dependences:
        if not strongest:
            strongest = dependence
            continue
        for name, strength in dependence.items():
            if strength > strongest.get(name, 0):
                if own is None:
                    strongest = own = dict(strongest)
                own[name] = strength
    return strongest


def weakened(dependence: Mapping[str, Dependence], most: Dependence) -> Mapping[str, Dependence]:
    """Limit the strength of a dependence."""
    if most is Dependence.VALUE:
        return dependence
    return {name: min(strength, most) for name, strength in dependence.items()}


def seeds_of(facts: Iterable[Fact]) -> frozenset[str]:
    """The seeds of several operands."""
    return frozenset[str]().union(*[fact.seeds for fact in facts])


def beside(facts: Collection[Fact], degree: Degree = Degree.UNKNOWN) -> Fact:
    """The seeds and dependences of several operands."""
    return Fact(degree, seeds_of(facts), merged([fact.dependence for fact in facts]))


def joined(facts: Iterable[Fact]) -> Fact:
    """The seeds and dependences of several operands, and the degree of their list."""
    facts = tuple(facts)
    degrees = {fact.degree for fact in facts} - {Degree.ZERO, Degree.CONSTANT}
    degree = Degree.CONSTANT if not degrees else degrees.pop() if len(degrees) == 1 else Degree.UNKNOWN
    return beside(facts, degree)


def collected(facts: Iterable[Fact]) -> Fact:
    """The fact of several values in a list or tuple; a constant beside a seed is not a sum."""
    facts = tuple(facts)
    degrees = {fact.degree for fact in facts} - {Degree.ZERO}
    if len(degrees) > 1:
        degrees.discard(Degree.CONSTANT)
    degree = Degree.ZERO if not degrees else sum_of(degrees)
    aliases = frozenset().union(*(fact.aliases for fact in facts))
    return Fact(degree, seeds_of(facts), merged([fact.dependence for fact in facts]), aliases)


def opaque(facts: Iterable[Fact]) -> Fact:
    """The fact of an unknown function of several operands."""
    operands = joined(facts)
    degree = Degree.CONSTANT if operands.degree is Degree.CONSTANT else Degree.UNKNOWN
    return Fact(degree, operands.seeds, operands.dependence)
