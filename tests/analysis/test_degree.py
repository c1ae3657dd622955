"""The algebra of degrees: it holds for real polynomials, whatever they are made of."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from derivlint.analysis.interpretation.degree import Degree, function_of, product_of, sum_of

#: Polynomials in one direction as their coefficients, from the constant on.
POLYNOMIALS = st.lists(st.integers(-3, 3).map(Fraction), min_size=1, max_size=3)
DEGREES = st.sampled_from(Degree)


def degree_of(coefficients: list[Fraction]) -> Degree:
    """The degree of a polynomial, as exactly as it can be known."""
    constant, linear = coefficients[0], coefficients[1] if len(coefficients) > 1 else 0
    if any(coefficients[2:]):
        return Degree.NONLINEAR
    if linear:
        return Degree.AFFINE if constant else Degree.LINEAR
    return Degree.CONSTANT if constant else Degree.ZERO


def covers(reported: Degree, true: Degree) -> bool:
    """Whether a degree that is stated of a value holds: terms may cancel, so that the value is simpler."""
    if reported is true or reported is Degree.UNKNOWN or true is Degree.ZERO:
        return True
    return {
        Degree.AFFINE: {Degree.CONSTANT, Degree.LINEAR},
        Degree.NONLINEAR: {Degree.CONSTANT, Degree.LINEAR, Degree.AFFINE},
    }.get(reported, set()) >= {true}


@given(POLYNOMIALS, POLYNOMIALS)
def test_the_degree_of_a_sum_holds(left: list[Fraction], right: list[Fraction]) -> None:
    size = max(len(left), len(right))
    padded = [part + [Fraction(0)] * (size - len(part)) for part in (left, right)]
    total = [a + b for a, b in zip(*padded, strict=True)]
    assert covers(sum_of((degree_of(left), degree_of(right))), degree_of(total))


@given(POLYNOMIALS, POLYNOMIALS)
def test_the_degree_of_a_product_holds(left: list[Fraction], right: list[Fraction]) -> None:
    product = [Fraction(0)] * (len(left) + len(right) - 1)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            product[i + j] += a * b
    assert covers(product_of((degree_of(left), degree_of(right))), degree_of(product))


@given(st.lists(DEGREES, max_size=4))
def test_the_order_of_operands_does_not_matter(degrees: list[Degree]) -> None:
    for combine in (sum_of, product_of, function_of):
        assert combine(degrees) is combine(degrees[::-1])


@given(DEGREES)
def test_zero_adds_nothing_and_annihilates(degree: Degree) -> None:
    assert sum_of((degree, Degree.ZERO)) is degree
    assert product_of((degree, Degree.ZERO)) is Degree.ZERO


@given(st.lists(DEGREES, min_size=1, max_size=4))
def test_what_is_not_known_is_never_called_linear(degrees: list[Degree]) -> None:
    for combine in (sum_of, product_of, function_of):
        if Degree.UNKNOWN in degrees and Degree.ZERO not in degrees:
            assert combine(degrees) in (Degree.UNKNOWN, Degree.NONLINEAR)
