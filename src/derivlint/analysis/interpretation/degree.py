"""The degree of an expression in the seeds: the gradients of a backward or tangents of a forward formula.

A VJP is linear in the output gradients (*cotangents* in the literature), a JVP in the tangents; both are *seeds* here.
The degree serves to check linearity.
"""

from __future__ import annotations

from collections.abc import Iterable

from derivlint.source.records import Choice


class Degree(Choice):
    """The joint degree of an expression in the seeds."""

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
    """The degree of a function that is nonlinear in all arguments."""
    varying = set(degrees) - {Degree.ZERO, Degree.CONSTANT}
    if not varying:
        return Degree.CONSTANT
    return Degree.UNKNOWN if Degree.UNKNOWN in varying else Degree.NONLINEAR
