"""Operators and helpers as polynomials in their arguments: what a formula needs to know of them to have a degree.

``addcdiv`` is ``self + tensor1*value/tensor2``: linear in ``self`` and in ``tensor1``, not in ``tensor2``. Coefficients
and signs are left out, and so are arguments that choose or shape (indices, masks, sizes). ``data/terms.txt`` has the
operators that formulas are made of, besides those that are linear in their first argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from derivlint.operators.book import Book
from derivlint.source.records import dataclass

_FILE = Path(__file__).parent / "data" / "terms.txt"


@dataclass(frozen=True, slots=True)
class Term:
    """A product of arguments, divided by others.

    Attributes:
        factors: the arguments that it is linear in, each for itself.
        divisors: the arguments that it is not linear in.
    """

    factors: tuple[str, ...]
    divisors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Polynomial:
    """An operator as a sum of terms.

    Attributes:
        parameters: its parameters by position, as far as the terms speak of them.
        terms: the terms; none for an operator that returns zeros.
    """

    parameters: tuple[str, ...]
    terms: tuple[Term, ...]

    @property
    def is_product(self) -> bool:
        """Whether it only multiplies arguments."""
        return [len(term.factors) > 1 and not term.divisors for term in self.terms] == [True]


def _parse(line: str) -> tuple[str, Polynomial]:
    head, _, body = line.partition(":")
    name, _, parameters = head.rstrip(")").partition("(")
    terms = []
    for term in body.split("+"):
        factors, *divisors = term.strip().split("/")
        terms.append(Term(tuple(factors.split("*")), tuple(divisors)))
    return name, Polynomial(tuple(parameters.split(", ")), tuple(terms))


_FIRST = Polynomial(("self",), (Term(("self",)),))
_ZERO = Polynomial((), ())
#: An operator over a list that is linear in all of it.
LINEAR_IN_LIST = Polynomial(("tensors",), (Term(("tensors",)),))


@cache
def polynomials() -> Mapping[str, Polynomial]:
    """All operators and helpers that are known as polynomials, by base name."""
    lines = _FILE.read_text(encoding="ascii").splitlines()
    return {
        **dict.fromkeys(Book.by_hand("linear"), _FIRST),
        **dict.fromkeys(Book.by_hand("zero"), _ZERO),
        **dict(_parse(line) for line in lines if not line.startswith("#")),
    }
