"""The dependence of an expression on the gradients of a backward formula, or on the tangents of a forward formula.

A VJP is linear in the output gradients, a JVP in the tangents, whatever the operator; the degree serves to check that.
Output gradients are called *cotangents* in the literature; together with tangents they are *seeds* here.
"""

from __future__ import annotations

from collections.abc import Iterable

from derivlint.source.records import Choice


class Degree(Choice):
    """The degree of an expression in the seeds, jointly."""

    #: the value 0, an undefined tensor, an absent value
    ZERO = "zero"
    #: independent of the seeds
    CONSTANT = "constant"
    LINEAR = "linear"
    #: linear, plus a term without seed
    AFFINE = "affine"
    NONLINEAR = "nonlinear"
    #: unknown; never reported
    UNKNOWN = "unknown"

    @property
    def has_seed(self) -> bool:
        """Whether it certainly depends on a seed."""
        return self in (Degree.LINEAR, Degree.AFFINE, Degree.NONLINEAR)


def sum_of(degrees: Iterable[Degree]) -> Degree:
    """The degree of a sum, or of a choice between values."""
    nonzero = set(degrees) - {Degree.ZERO}
    if not nonzero:
        return Degree.ZERO
    for strong in (Degree.NONLINEAR, Degree.UNKNOWN, Degree.AFFINE):
        if strong in nonzero:
            return strong
    return Degree.AFFINE if len(nonzero) == 2 else nonzero.pop()


def product_of(degrees: Iterable[Degree]) -> Degree:
    """The degree of a product."""
    operands = list(degrees)
    if Degree.ZERO in operands:
        return Degree.ZERO
    factors = [degree for degree in operands if degree is not Degree.CONSTANT]
    if not factors:
        return Degree.CONSTANT
    if Degree.NONLINEAR in factors or sum(degree.has_seed for degree in factors) > 1:
        return Degree.NONLINEAR
    if Degree.UNKNOWN in factors:
        return Degree.UNKNOWN
    return factors[0]


def function_of(degrees: Iterable[Degree]) -> Degree:
    """The degree of a function that is linear in none of its arguments."""
    varying = set(degrees) - {Degree.ZERO, Degree.CONSTANT}
    if not varying:
        return Degree.CONSTANT
    return Degree.UNKNOWN if Degree.UNKNOWN in varying else Degree.NONLINEAR
