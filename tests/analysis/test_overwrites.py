"""Formulas that write to what they are given, and formulas that write to new tensors only."""

from __future__ import annotations

import pytest

from derivlint.analysis.dependence.aliasing import overwrites
from derivlint.schema import NativeFunctions
from tests.analysis.formulas import backward, forward, interpret

#: Forward formulas of ``mul``, each with the variables that it changes.
FORWARD = {
    "self_t * other_p.cosh_() + other_t * self_p": ("other_p",),
    "result.mul_(self_t)": ("result",),
    "other_t.mul_(self_p) + self_t * other_p": ("other_t",),
    "self_t * other_p.view(-1).detach().zero_().view_as(other_p)": ("other_p",),
    "self_t * other_p.data().cosh_()": ("other_p",),
    "self_t * at::relu_(other_p)": ("other_p",),
    "at::mul_out(self_t, self_t, other_p)": ("self_t",),
    "at::mul_outf(self_t, other_p, self_p)": ("self_p",),
    "self_t * (other_p.is_complex() ? other_p : self_p).conj_physical_()": ("other_p", "self_p"),
    "self_t * other_p.clone().cosh_()": (),
    "(self_t * 2).mul_(other_p)": (),
    "self_t * at::zeros_like(other_p).fill_(1)": (),
    "at::mul_outf(self_t, other_p, at::empty_like(self_p))": (),
}
BACKWARD = {
    "grad * other.cosh_()": ("other",),
    "grad.unsqueeze(0).squeeze(0).mul_(other)": ("grad",),
    "grad * at::relu_(other)": ("other",),
    "grad * [&]() { auto same = other; same.cosh_(); return same; }()": ("other",),
    "grad * [&]() { Tensor last; last = other.t(); last *= 2; return last; }()": ("other",),
    "grad * [](Tensor factor) { if (factor.dim() > 1) { factor.cosh_(); } return factor; }(other)": ("other",),
    "grad * [&]() { for (const auto& item : {other}) { item.cosh_(); } return other; }()": ("other",),
    "grad * [&]() { Tensor copy = other.clone(); copy.cosh_(); return copy; }()": (),
    "grad * [&]() { Tensor other; other.cosh_(); return other; }()": (),
    "(grad * 2).mul_(other)": (),
    "at::zeros_like(other).fill_(1) * grad": (),
}


@pytest.mark.parametrize("formula", FORWARD)
def test_forward_formulas_must_not_change_their_variables(formula: str, bundled_natives: NativeFunctions) -> None:
    """Primals, tangents and outputs, themselves or through views, by methods and by functions."""
    written = [write.names for write in overwrites(forward(formula, bundled_natives))]
    assert written == [names for names in [FORWARD[formula]] if names]


@pytest.mark.parametrize("formula", BACKWARD)
def test_backward_formulas_must_not_change_their_variables(formula: str, bundled_natives: NativeFunctions) -> None:
    written = [write.names for write in overwrites(backward(formula, bundled_natives))]
    assert written == [names for names in [BACKWARD[formula]] if names]


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("self_t.fill_(value_t)", []),
        ("self_t.zero_() + value_t * original_self_t.fill_(1)", []),
        ("self_t.zero_() + value_t * value_p.zero_()", [("value_p",)]),
        ("self_t.copy_(value_t.mul_(2))", [("value_t",)]),
    ],
)
def test_in_place_operators_change_the_tangent_of_what_they_change(
    formula: str, names: list[tuple[str, ...]], bundled_natives: NativeFunctions
) -> None:
    """The tangent of "self", and copies of what was there before; nothing else."""
    yaml = (
        "- name: fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)\n"
        f"  self: zeros_like(grad)\n  value: grad.sum()\n  result: {formula}\n"
    )
    assert [write.names for write in overwrites(interpret(yaml, "result", bundled_natives))] == names


def test_a_write_is_found_once_in_a_formula_and_what_is_made_of_it(bundled_natives: NativeFunctions) -> None:
    """The word auto_element_wise repeats the backward formula with a tangent in place of the gradient."""
    yaml = "- name: tanh(Tensor self) -> Tensor\n  self: tanh_backward(grad.mul_(1), result)\n"
    yaml += "  result: auto_element_wise\n"
    assert len(list(overwrites(interpret(yaml, "self", bundled_natives)))) == 1
    assert not list(overwrites(interpret(yaml, "result", bundled_natives)))
