"""Operators and helpers as polynomials in their arguments, which determine the degrees of formulas.

``addcdiv`` is ``self + tensor1*value/tensor2``: linear in ``self`` and in ``tensor1``, not in ``tensor2``. Coefficients
and signs are omitted. ``data/terms.txt`` has the operators of several arguments without reference definition; the
others are derived from their definitions (:mod:`derivlint.operators.reference.derivation`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct, field

from derivlint.operators.book import Book
from derivlint.source.records import Choice


class Parity(Choice):
    """The parity of a value in complex variables."""

    #: real, or independent of complex variables
    REAL = "real"
    HOLOMORPHIC = "holomorphic"
    #: depends on the conjugates only
    CONJUGATED = "conjugated"
    #: depends on both, or through a non-holomorphic function, or flags decide
    NON_HOLOMORPHIC = "non-holomorphic"
    UNKNOWN = "unknown"

    @property
    def conjugate(self) -> Parity:
        """The parity of the conjugate."""
        return _FLIPPED.get(self, self)

    @property
    def is_pure(self) -> bool:
        """Whether it depends on complex variables, all with the same parity."""
        return self in _FLIPPED

    def of(self, inner: Parity) -> Parity:
        """The parity of a composition with an inner function."""
        if Parity.REAL in (self, inner):
            return Parity.REAL
        if Parity.UNKNOWN in (self, inner):
            return Parity.UNKNOWN
        if Parity.NON_HOLOMORPHIC in (self, inner):
            return Parity.NON_HOLOMORPHIC
        return inner.conjugate if self is Parity.CONJUGATED else inner


_FLIPPED = {Parity.HOLOMORPHIC: Parity.CONJUGATED, Parity.CONJUGATED: Parity.HOLOMORPHIC}


def joint(parities: Iterable[Parity]) -> Parity:
    """The parity of a sum or product."""
    distinct = set(parities)
    distinct.discard(Parity.REAL)
    if not distinct:
        return Parity.REAL
    if Parity.UNKNOWN in distinct:
        return Parity.UNKNOWN
    return distinct.pop() if len(distinct) == 1 else Parity.NON_HOLOMORPHIC


_FILE = Path(__file__).parents[1] / "data" / "terms.txt"
_MARKED = re.compile(r"(conj|mixed)\((\w+)\)")
_MARKS = {"conj": Parity.CONJUGATED, "mixed": Parity.NON_HOLOMORPHIC}


class Term(Struct, frozen=True):
    """A product of arguments, possibly nonlinear in others.

    Attributes:
        factors: the arguments in each of which it is linear.
        divisors: the arguments in which it is nonlinear.
        unclear: the arguments of unclear linearity.
        is_sure: whether it is present for all flags.
    """

    factors: tuple[str, ...]
    divisors: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    is_sure: bool = True


def _nothing() -> Mapping[str, Parity]:
    return {}


class Polynomial(Struct, frozen=True):
    """An operator as a sum of terms.

    Attributes:
        parameters: its parameters by position, up to the last one in the terms.
        terms: the terms; none for an operator that returns zeros.
        parities: its parities in complex parameters; holomorphic if not listed.
    """

    parameters: tuple[str, ...]
    terms: tuple[Term, ...]
    parities: Mapping[str, Parity] = field(default_factory=_nothing)

    def parity(self, parameter: str) -> Parity:
        """The parity in a complex parameter."""
        return self.parities.get(parameter, Parity.HOLOMORPHIC)

    @property
    def is_product(self) -> bool:
        """Whether it is a product of arguments."""
        return [len(term.factors) > 1 and not term.divisors for term in self.terms] == [True]


def read_terms(text: str) -> Iterator[tuple[str, Polynomial]]:
    """Parse a file of terms, by base name."""
    for line in text.splitlines():
        if line and not line.startswith("#"):
            head, _, body = line.partition(":")
            names, _, parameters = head.rstrip(")").partition("(")
            parities = {match[2]: _MARKS[match[1]] for match in _MARKED.finditer(body)}
            terms = []
            for term in filter(None, _MARKED.sub(r"\2", body).strip().split(" + ")):
                factors, *divisors = term.split("/")
                terms.append(Term(tuple(name for name in factors.split("*") if name != "1"), tuple(divisors)))
            polynomial = Polynomial(tuple(parameters.split(", ")), tuple(terms), parities)
            for name in names.split(", "):
                yield name, polynomial


def _first(parity: Parity) -> Polynomial:
    return Polynomial(("self",), (Term(("self",)),), {"self": parity})


_ZERO = Polynomial((), ())
#: The polynomial of operators that are linear in a list of tensors.
LINEAR_IN_LIST = Polynomial(("tensors",), (Term(("tensors",)),))


@cache
def not_holomorphic() -> frozenset[str]:
    """The known non-holomorphic functions without a definition."""
    return Book.by_hand("not-holomorphic") | Book.by_hand("real-valued") | Book.by_hand("makes-real")


@cache
def polynomials() -> Mapping[str, Polynomial]:
    """The polynomials of operators and helpers without a definition, by base name."""
    linear = Book.by_hand("linear")
    return {
        **dict.fromkeys(linear, _first(Parity.HOLOMORPHIC)),
        **dict.fromkeys(linear & Book.by_hand("conjugates"), _first(Parity.CONJUGATED)),
        **dict.fromkeys(linear & not_holomorphic(), _first(Parity.NON_HOLOMORPHIC)),
        **dict.fromkeys(Book.by_hand("zero"), _ZERO),
        **dict(read_terms(_FILE.read_text(encoding="ascii"))),
    }
