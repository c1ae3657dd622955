"""Inputs of special kinds, and what formulas decide by."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from derivlint.formula import parse_formula
from derivlint.verify.code.functions import FunctionValue
from derivlint.verify.inputs.arguments import NARROWER, WIDER, argument_states, expected_states
from derivlint.verify.inputs.hardening import noise_of
from derivlint.verify.inputs.points import SamplePoint, generator
from derivlint.verify.inputs.regimes import regimes
from derivlint.verify.inputs.sites import decisions_of, instrumented
from tests.verify.test_samples_hardening import spec


def made(operator: str, values: list[Any], **known: Any) -> dict[str, list[Any]]:
    """The special inputs by their labels."""
    of = replace(spec(operator), **known)
    return {
        each.label: each.values for each in regimes(SamplePoint(values), of, noise_of(generator(0)), ("sum", "amax"))
    }


def test_numbers_lie_at_bounds_and_on_both_sides() -> None:
    """Those that the formula compares with, and those that the operator is given."""
    x = torch.rand(8, dtype=torch.float64)
    inputs = made("leaky_relu", [x, 0.5], bounds=(-2.0,))
    assert torch.equal(inputs["at -2 (self)"][0], torch.full_like(x, -2))
    assert bool((inputs["above 0.5 (self)"][0] > 0.5).all())
    assert bool((inputs["below 0.5 (self)"][0] < 0.5).all())
    around = inputs["around -2 (self)"][0] + 2
    assert bool((around == 0).any())
    assert bool((around > 0).any())
    assert bool((around < 0).any())


def test_flags_and_optional_arguments_have_all_states() -> None:
    """Of several flags all combinations; words are those of any recorded input."""
    x = torch.rand(3, 3, dtype=torch.float64)
    index = torch.tensor([[0, 1, 2], [2, 0, 1]])
    inputs = made("scatter_reduce.two", [x, 0, index, x, "prod", True])
    assert {values[4] for label, values in inputs.items() if label.startswith("reduce ")} == {"sum", "amax"}
    assert inputs["smaller index 0, prod"][2].shape == (1, 3)
    assert inputs["smaller index 1, prod"][2].shape == (2, 2)
    inputs = made("std.correction", [x, [0], None, True])
    assert (inputs["correction present"][2], inputs["dim absent"][1]) == (0.4, None)
    flags = made("aminmax", [x, 0, True])
    assert {values[2] for label, values in flags.items() if label.startswith("flags")} == {True, False}


def test_integral_targets_are_meant() -> None:
    """A loss takes labels; that other operators take integers is not said."""
    x, y = torch.rand(3, dtype=torch.float64), torch.rand(3, dtype=torch.float64)
    loss = replace(spec("mse_loss"), arguments=(*spec("mse_loss").arguments[:2], FunctionValue("reduction", "int")))
    meant = {
        regime.label: regime.is_meant for regime in regimes(SamplePoint([x, y, 1]), loss, noise_of(generator(0)), ())
    }
    assert (meant["integers 0"], meant["integers 1"]) == (False, True)
    meant = {
        regime.label: regime.is_meant
        for regime in regimes(SamplePoint([x, y]), spec("mul.Tensor"), noise_of(generator(0)), ())
    }
    assert not meant["integers 1"]


def test_other_types_and_views_of_the_same_numbers() -> None:
    """Integers beside real numbers, NaN in one argument, numbers that are conjugated or negated when they are read."""
    one, other = torch.rand(2, 3, dtype=torch.float64), torch.rand(2, 3, dtype=torch.float64)
    inputs = made("mul.Tensor", [one, other])
    assert inputs["integers 1"][1].dtype == torch.int64
    assert inputs["single 0"][0].dtype == torch.float32
    assert math.isnan(float(inputs["nan 1"][1].sum()))
    assert bool(inputs["nan 1"][0].isfinite().all())
    assert float(inputs["far 1"][1].max() - inputs["far 1"][0].min()) > 1024
    assert inputs["negated"][0].is_neg()
    assert torch.equal(inputs["negated"][0], one)
    assert not inputs["stepped"][0].is_contiguous()
    z = torch.complex(one, other)
    conjugated = made("mul.Tensor", [z, z])["conjugated"][0]
    assert conjugated.is_conj()
    assert torch.equal(conjugated, z)


@pytest.mark.parametrize(
    ("formula", "sites", "bounds", "words"),
    [
        ("grad.defined() ? grad * 2 : Tensor()", [("grad.defined()", False)], (), ()),
        ("at::where(self > -0.5, grad, zeros_like(grad))", [("self > -0.5", True)], (-0.5,), ()),
        ("grad.masked_fill((self == 0.) & mask, 1)", [("(self == 0.) & mask", True)], (0.0,), ()),
        ("at::masked_fill(grad, mask, 0).ge(3)", [("mask", True)], (3.0,), ()),
        (
            'gelu_backward(grad, self, approximate == "tanh" ? "none" : "tanh")',
            [('approximate == "tanh"', False)],
            (),
            ("none", "tanh"),
        ),
        ("a ? (b ? x : y) : z", [("a", False), ("b", False)], (), ()),
        ("grad * (", [], (), ()),
    ],
)
def test_conditions_masks_and_bounds_are_those_of_the_tree(formula: str, sites: Any, bounds: Any, words: Any) -> None:
    """A name in a text or a method of another name is none."""
    found = decisions_of(formula)
    assert ([(each.text, each.is_mask) for each in found.sites], found.bounds, found.words) == (sites, bounds, words)


@given(
    st.recursive(
        st.sampled_from(["x", "y > 1", "f(z)"]),
        lambda part: st.builds("({} ? {} : {})".format, part, part, part),
        max_leaves=8,
    )
)
def test_a_formula_that_tells_its_arms_is_the_same_without_that(formula: str) -> None:
    """Every outermost condition is asked once, with its number."""
    sites = decisions_of(formula).sites
    text = instrumented(formula, sites, 7)
    assert parse_formula(text).tree is not None
    for number, each in enumerate(sites):
        assert text.count(f"arm(7, {number}, ") == 1
        text = text.replace(f"derivlint_verify::arm(7, {number}, {each.text})", each.text)
    assert text == formula


def test_axes_and_places_count_from_both_ends() -> None:
    """A length that ends at the last place is among them, from either end."""
    x = torch.rand(2, 5, dtype=torch.float64)
    inputs = made("narrow_copy", [x, 1, 1, 2])
    assert inputs["axes from the other end"][1] == -1
    assert inputs["places from the other end"][2] == -4
    assert {values[2] for values in inputs.values()} >= {-1, -2, 3}
    inputs = made("slice.Tensor", [x, -1, -4, 3, 1])
    assert (inputs["axes from the other end"][1], inputs["places from the other end"][2:4]) == (1, [1, -2])
    assert {values[3] for values in inputs.values()} >= {5, 7}
    # from the other end it would be the beginning
    assert made("slice.Tensor", [x, 1, 1, 5, 1])["places from the other end"][2:4] == [-4, 5]
    # the kernel writes out of bounds
    assert "axes from the other end" not in made("_fft_c2r", [x.to(torch.complex128), [1], 0, 8])
    assert made("slice.Tensor", [x, 1, 1, 5, 1])["start before the first place"][2] == -7
    assert made("roll", [x, [1, -2], [0, 1]])["shifts to the other side"][1] == [-1, 2]


def test_one_axis_of_several_and_no_axis() -> None:
    """An empty list of axes is another state than one or several."""
    x = torch.rand(2, 3, 4, dtype=torch.float64)
    inputs = made("sum.dim_IntList", [x, [0, -1], False, None])
    assert [inputs[label][1] for label in ("dim 0 of [0, -1]", "dim -1 of [0, -1]", "no dim")] == [[0], [-1], []]
    assert [label for label in made("sum.dim_IntList", [x, [1], False, None]) if " of [" in label] == []


def test_sizes_are_inferred() -> None:
    """The first and the last one."""
    x = torch.rand(2, 6, dtype=torch.float64)
    inputs = made("view", [x, [3, 2, 2]])
    assert [inputs[f"size {place} is -1"][1] for place in (0, 2)] == [[-1, 2, 2], [3, 2, -1]]


def test_results_are_asked_for_in_other_types() -> None:
    """Whatever type is passed."""
    x = torch.rand(3, dtype=torch.float64)
    arguments = (FunctionValue("self", "Tensor"), FunctionValue("dtype", "ScalarType?"))
    inputs = made("sum", [x, None], arguments=arguments)
    types = {torch.float16, torch.float32, torch.float64, torch.complex128}
    assert {values[1] for label, values in inputs.items() if label.startswith("dtype ")} == types


def test_indices_are_repeated_and_negative() -> None:
    """And rows have no deviation, or no norm."""
    x = torch.rand(3, 4, dtype=torch.float64)
    inputs = made("gather", [x, 0, torch.tensor([[0, 2], [1, 0]]), False])
    assert inputs["repeated index"][2].tolist() == [[0, 0], [0, 0]]
    assert inputs["negative index"][2].tolist() == [[0, -1], [1, 0]]
    assert (inputs["int32 index"][2].dtype, inputs["no index"][2].shape) == (torch.int32, (0, 2))
    inputs = made("std.correction", [x, [1], 1, False])
    assert (float(inputs["equal elements 0"][0][0].std()), bool(inputs["zero row 0"][0][0].any())) == (0, False)
    assert torch.equal(inputs["zero row 0"][0][1:], x[1:])


def test_states_of_arguments() -> None:
    """Signs, repetitions and types, beside presence."""
    of = spec("gather")

    def states(index: torch.Tensor) -> set[tuple[str, str]]:
        return set(argument_states(of, SamplePoint([torch.rand(3), -1, index, False])))

    flags = {("dim", "negative"), ("sparse_grad", "False")}
    index = torch.tensor([1, 1])
    assert states(index) == {("index", "repeated"), *flags}
    assert states(index.int()) == {("index", "of 32 bits"), *flags}
    assert states(index[:0]) == {("index", "empty"), *flags}
    assert expected_states(of, of.arguments[1]) == ("negative", "not negative")
    total = spec("sum.dim_IntList")
    x = torch.rand(3, 3)
    axes = {state for dim in ([0, 1], [-1], []) for state in argument_states(total, SamplePoint([x, dim, True, None]))}
    assert {state for name, state in axes if name == "dim"} == {
        *("several axes", "one axis", "empty"),
        *("negative", "not negative", "present"),
    }
    loss = replace(spec("huber_loss"), inputs=("self", "target"))
    mixed = SamplePoint([torch.rand(3), torch.rand(3, dtype=torch.float64), 1, 1.0])
    assert ("target", WIDER) in argument_states(loss, mixed)
    narrow = SamplePoint([torch.rand(3), torch.rand(3).half(), 1, 1.0])
    assert ("target", NARROWER) in argument_states(loss, narrow)
    assert {NARROWER, WIDER} <= set(expected_states(loss, loss.arguments[1]))


def test_signs_of_integers() -> None:
    """A padding may be negative."""
    x = torch.rand(3, dtype=torch.float64)
    inputs = made("constant_pad_nd", [x, [1, 0], 2.0])
    assert inputs["pad is [-1, -1]"][1] == [-1, -1]
