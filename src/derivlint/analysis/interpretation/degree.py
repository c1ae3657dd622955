"""The dependence of an expression on the gradients of a backward formula, or on the tangents of a forward formula.

A VJP is linear in the output gradients, a JVP in the tangents, whatever the operator: that is what the degree is asked
for. Gradients and tangents together are called *cotangents and tangents* in the literature; here they are *seeds*.
"""

from __future__ import annotations

from collections.abc import Iterable

from derivlint.source.records import Choice


class Degree(Choice):
    """The degree of an expression in the seeds, jointly."""

    #: the value 0, an undefined tensor, an absent value
    ZERO = "zero"
    #: no seed has a part in it
    CONSTANT = "constant"
    LINEAR = "linear"
    #: linear, and a term without seed
    AFFINE = "affine"
    NONLINEAR = "nonlinear"
    #: nothing is known, and nothing is reported
    UNKNOWN = "unknown"

    @property
    def has_seed(self) -> bool:
        """Whether a seed surely has a part in it."""
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
    """The degree of a function that is linear in none of these."""
    varying = set(degrees) - {Degree.ZERO, Degree.CONSTANT}
    if not varying:
        return Degree.CONSTANT
    return Degree.UNKNOWN if Degree.UNKNOWN in varying else Degree.NONLINEAR
