"""The facts that the interpretation derives for an expression."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, IntEnum

from msgspec import Struct, field

from derivlint.analysis.interpretation.degree import Degree
from derivlint.formula import Expr


class Dependence(IntEnum):
    """The dependence of an expression on a variable."""

    #: on its sizes, its type, its device, on whether it is defined
    METADATA = 1
    #: it is an argument of a function that may look at its value or not
    POSSIBLE = 2
    VALUE = 3


def _nothing() -> Mapping[str, Dependence]:
    return {}


class Fact(Struct, frozen=True):
    """Degree, dependence and aliases of an expression.

    Attributes:
        degree: how it depends on the seeds, jointly.
        seeds: the gradients or tangents that have a part in its value.
        dependence: how it depends on every variable in it, seeds included.
        aliases: the variables that it may be, or may be a view of.
    """

    degree: Degree = Degree.UNKNOWN
    seeds: frozenset[str] = frozenset()
    dependence: Mapping[str, Dependence] = field(default_factory=_nothing)
    aliases: frozenset[str] = frozenset()

    def reads(self, name: str) -> bool:
        """Whether it surely depends on the value of a variable."""
        return self.dependence.get(name) is Dependence.VALUE

    def may_read(self, name: str) -> bool:
        """Whether it may depend on the value of a variable."""
        return self.dependence.get(name, Dependence.METADATA) is not Dependence.METADATA


NOTHING = Fact()


class Cause(Enum):
    """The reason why an expression is not linear in the seeds."""

    #: a product of two values that both depend on seeds
    PRODUCT = "product"
    #: a division by a seed
    DIVISOR = "divisor"
    #: a function of a seed that is not linear
    FUNCTION = "function"
    #: a term without seed beside one with a seed
    CONSTANT_TERM = "constant term"
    #: a choice between a value with and one without seed
    CONSTANT_BRANCH = "constant branch"


class Culprit(Struct, frozen=True):
    """A part of a formula where it stops being linear.

    Attributes:
        cause: why.
        node: the expression that is not linear.
        parts: the operands to blame: both factors, the divisor, the constant term.
        seeds: the seeds in those parts, all together.
    """

    cause: Cause
    node: Expr
    parts: tuple[Expr, ...]
    seeds: frozenset[str]


def merged(dependences: Iterable[Mapping[str, Dependence]]) -> Mapping[str, Dependence]:
    """Join dependences: the strongest of each variable."""
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
