"""Severities of single findings: errors where a call cannot be right, by rules that otherwise warn."""

from __future__ import annotations

import pytest

from derivlint.lint import Severity, run_rules
from derivlint.model import build_model
from derivlint.rules import load_rule
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

LEAKY = "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor\n  self: leaky_relu_backward"
RESIZE = "_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
RESIZE += "float? scales_w=None) -> Tensor\n  self: _upsample_bilinear2d_aa_backward_symint(grad, output_size, "
RESIZE += "self.sym_sizes(), "
NORM = "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor\n  result: norm_jvp"
VARIANCE = "var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
VARIANCE += "(Tensor, Tensor)\n  self: var_mean_backward"
TURN = "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)\n  self: at::transpose"
MASK = "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor\n  self: grad.masked_fill"
LENGTH = "hypot(Tensor self, Tensor other) -> Tensor\n  self: at::hypot"
LINEAR = "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor\n  input, weight, bias: linear_backward"
FIRST, SECOND, THIRD = (f"grad_input_mask[{index}]" for index in range(3))
PRODUCT = "mm(Tensor self, Tensor mat2) -> Tensor\n  self: mm_mat1_backward(grad, mat2, "
SELECTED = "masked_select(Tensor self, Tensor mask) -> Tensor\n  self: masked_select_backward"
CASES = [
    ("mismatched-argument", f"{LEAKY}(grad, self, negative_slope, true)", Severity.WARNING),
    ("mismatched-argument", f"{MASK}(self, 0)", Severity.ERROR),
    ("mismatched-argument", f"{PRODUCT}self.sym_strides(), self.sym_strides(), self.layout(), 1)", Severity.ERROR),
    ("mismatched-argument", f"{PRODUCT}self.sym_sizes(), self.sym_strides(), mat2.layout(), 1)", Severity.WARNING),
    ("mismatched-argument", f"{SELECTED}(grad, mask, mask)", Severity.ERROR),
    ("missing-grad-input-mask", f"{LINEAR}(input, grad, weight, {{{FIRST}, {SECOND}}})", Severity.ERROR),
    ("missing-grad-input-mask", f"{LINEAR}(input, grad, weight, {{{FIRST}, {FIRST}, {THIRD}}})", Severity.ERROR),
    ("missing-grad-input-mask", f"{LINEAR}(input, grad, weight, {{{SECOND}, {FIRST}, {THIRD}}})", Severity.WARNING),
    ("swapped-arguments", f"{NORM}(self_t, self_p, p, result, dim, keepdim)", Severity.ERROR),
    ("swapped-arguments", f"{TURN}(grad, dim1, dim0)", Severity.WARNING),
    ("repeated-gradient", f"{VARIANCE}(grads[0], grads[0], self, dim, correction, keepdim)", Severity.ERROR),
    ("repeated-gradient", f"{LENGTH}(grad, grad)", Severity.WARNING),
    ("dropped-argument", f"{RESIZE}!align_corners, scales_h, scales_w)", Severity.ERROR),
    ("dropped-argument", f"{RESIZE}false, scales_h, scales_w)", Severity.WARNING),
]


@pytest.mark.parametrize(("name", "entry", "severity"), CASES)
def test_a_finding_is_an_error_only_if_the_call_cannot_be_right(
    name: str, entry: str, severity: Severity, bundled_natives: NativeFunctions
) -> None:
    model = build_model(SourceFile("derivatives.yaml", f"- name: {entry}\n"), bundled_natives)
    findings = run_rules(model, [load_rule(name)]).diagnostics
    assert [item.severity for item in findings] == [severity]
