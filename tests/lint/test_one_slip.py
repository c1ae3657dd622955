"""One slip is one finding, which names its cause."""

from __future__ import annotations

import pytest

from derivlint.lint import run_rules
from derivlint.model import build_model
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

SINGLE = "grad-input-mask-of-single-argument"
SUB = "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
#: Entries with one slip each, and the rule that finds it.
SLIPS = [
    # a superfluous mask
    ("exp(Tensor self) -> Tensor", "self: maybe_multiply(grad * result.conj(), grad_input_mask[0])", SINGLE),
    ("tan(Tensor self) -> Tensor", "self: grad * (1 + result.pow(2)).conj() * grad_input_mask", SINGLE),
    (SUB, "self: handle_r_to_c(self.scalar_type(), grad, grad_input_mask)\n  other: -grad", SINGLE),
    (
        "atan2(Tensor self, Tensor other) -> Tensor",
        "self, other: atan2_backward(grad, self, other, grad_input_mask, grad_input_mask)",
        "wrong-argument-count",
    ),
    # one formula for several arguments
    ("mul.Tensor(Tensor self, Tensor other) -> Tensor", "self, other: grad * other", "wrong-result-type"),
    ("div.Tensor(Tensor self, Tensor other) -> Tensor", "self, other: grad / other", "wrong-result-type"),
    ("mm(Tensor self, Tensor mat2) -> Tensor", "self, mat2: grad.mm(mat2)", "wrong-result-type"),
    # operators that are never differentiated
    ("logical_not(Tensor self) -> Tensor", "self: grad", "ignored-derivative"),
    ("logical_and(Tensor self, Tensor other) -> Tensor", "self: grad * other\n  other: grad", "ignored-derivative"),
    ("isnan(Tensor self) -> Tensor", "self: grad * self", "ignored-derivative"),
    # exchanged arguments, whatever they are called
    (
        "huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor",
        "self: huber_loss_backward(grad, self, target, delta, reduction)\n  target: non_differentiable",
        "swapped-arguments",
    ),
    (
        "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
        "self: pow_backward_self(grad, exponent, self)\n"
        "  exponent: pow_backward_exponent(grad, self, exponent, result)",
        "swapped-arguments",
    ),
    (
        "div.Tensor(Tensor self, Tensor other) -> Tensor",
        "self: at::div(other, grad)\n  other: div_tensor_other_backward(grad, self, other)",
        "nonlinear-gradient",
    ),
    ("clamp_max(Tensor self, Scalar max) -> Tensor", "self: where(self <= max, 0, grad)", "swapped-arguments"),
    # a template whose arguments follow from those of its constructor
    (
        "exp(Tensor self) -> Tensor",
        "self: (grad * result.conj()).to(std::optional(result.dtype()))",
        "wrong-argument-type",
    ),
    # schemas and conditions
    ("abs(Tesnor self) -> Tensor", "self: grad * self.sgn()", "unknown-schema"),
    (
        "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
        'output_differentiability: ["False"]\n  self: zeros_like(grad)',
        "undefined-name",
    ),
    (
        "view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
        'output_differentiability: ["False"]',
        "undefined-name",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "lines", "rule"), SLIPS)
def test_one_slip_is_one_finding(schema: str, lines: str, rule: str, bundled_natives: NativeFunctions) -> None:
    source = SourceFile("derivatives.yaml", f"- name: {schema}\n  {lines}\n")
    result = run_rules(build_model(source, bundled_natives), load_rules())
    assert [item.rule for item in result.diagnostics] == [rule]
