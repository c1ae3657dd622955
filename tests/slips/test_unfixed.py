"""Slips that no fix may touch, since another formula is as likely meant, and slips whose obvious fix was wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from derivlint.project.fixing import fix_source
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.slips.habits import Habit, HabitJudge

#: Operator, key, the slip, and what fixes make of it.
SLIPS = (
    ("relu", "self", "-threshold_backward(grad, result, 0)", None),
    ("scatter.value", "result", "self_t.scatter(0, index, 0)", "self_t.scatter(dim, index, 0)"),
    ("sort.stable", "values", "gather_with_keepdimed_indices(self_t, dim - 1, indices, true)", None),
    ("_softmax", "result", "result * (self_t - logsumexp_jvp(self_p, self_t, {dim + 1}, true))", None),
    ("put", "self", "accumulate ? grad : grad.put(index, zeros_like(source), true)", None),
    (
        "hardswish_backward",
        "self",
        "at::where(at::logical_and(-3.0 > self, self < 3.0), grad * grad_output / 3.0, at::zeros({}, self.options()))",
        None,
    ),
    ("index_fill.int_Scalar", "result", "self_t.index_fill(dim + 1, index, 0)", None),
    ("var_mean.correction", "self", "var_mean_backward(grads[0], grad, self, dim, correction, keepdim)", None),
    ("var_mean.correction", "self", "var_mean_backward(grads[0], grad s[1], self, dim, correction, keepdim)", None),
    # a derivative is linear in the tangent
    (
        "elu_",
        "result",
        "self_t.copy_(elu_backward(original_self, alpha, scale, input_scale, false, original_self_p))",
        "self_t.copy_(elu_backward(original_self_t, alpha, scale, input_scale, false, original_self_p))",
    ),
    # numbers do not decide whether the value or the tangent is meant
    ("_adaptive_avg_pool3d_backward", "result", "_adaptive_avg_pool3d_backward(grad_output_t, self)", None),
    ("reflection_pad3d_backward", "result", "reflection_pad3d_backward_symint(grad_output_t, self, padding)", None),
    ("masked_scatter_backward", "result", "masked_scatter_backward(grad_output, mask, grad_output_t.sizes())", None),
    ("threshold_", "result", "self.copy_(threshold_backward(self_t.conj(), original_self_p, threshold).conj())", None),
    # "grad" is as near as "grad_out", with which the formula has no gradient
    (
        "hardshrink_backward",
        "grad_out",
        "hardshrink_backward(grad_output, self, lambd)",
        "hardshrink_backward(grad, self, lambd)",
    ),
    (
        "cudnn_affine_grid_generator",
        "theta",
        "cudnn_affine_grid_generator_backward(result, N, C, H, W)",
        None,
    ),
    (
        "hardshrink_backward",
        "grad_out",
        "hardshrink_backward(grdd, self, lambd)",
        "hardshrink_backward(grad, self, lambd)",
    ),
    # a formula for outputs, under the key of a number
    ("slice_backward", "dim", "auto_linear", None),
    ("exp", "result", "auto_elementwise", "auto_element_wise"),
    # a factor that lacks its transposition as well as its conjugation
    ("linalg_inv_ex", "A", "-at::matmul(inverse, at::matmul(grad, inverse.mH()))", None),
    # the flag is wrong, the outputs are in their order
    ("_linalg_eigh", "eigenvalues, eigenvectors", "linalg_eig_jvp(A_t, eigenvalues, eigenvectors, false)", None),
    ("constant_pad_nd", "result", "constant_pad_nd_symint(self_t. pad, 0)", None),
    # the word that is meant is refuted
    ("kthvalue", "values", "auto_elementwise", None),
    ("logsumexp", "result", "auto_linaer", None),
    ("mm", "result", "auto_linaer", None),
    ("leaky_relu", "result", "auto_linaer", "auto_element_wise"),
    ("tan", "result", "auto linear", "auto_element_wise"),
    # other arguments are wrong
    ("linalg_lu_solve", "LU", "linalg_lu_solve_LU(grad, LU, pivots, result, left, !adjoint)", None),
    ("scatter_reduce.two", "self, src, index", "scatter_reduce_backward(grad, self, dim, index, src)", None),
    ("prod", "result", "(prod_backward(at::ones({}, grad.options()), self_p, result) * self_t).sum()", None),
    ("log", "result", "self_t", None),
    (
        "mm",
        "result",
        "at::mm(self, mat2_p) + at::mm(self_p, mat2_t)",
        "at::mm(self_t, mat2_p) + at::mm(self_p, mat2_t)",
    ),
    (
        "diagonal_scatter",
        "self",
        "diagonal_scatter(grads, zeros_like(src), offset, dim1, dim2)",
        "diagonal_scatter(grad, zeros_like(src), offset, dim1, dim2)",
    ),
    ("clamp_max", "self", "where(self > max, grad, 0)", "where(self > max, 0, grad)"),
    ("pow.Tensor_Tensor", "self", "pow_backward_self(grad, exponent, self)", "pow_backward_self(grad, self, exponent)"),
)


@pytest.fixture(scope="module")
def judge(derivatives_path: Path, bundled_natives: NativeFunctions) -> HabitJudge:
    return HabitJudge(SourceFile.read(derivatives_path), bundled_natives)


@pytest.mark.parametrize(("operator", "key", "slip", "meant"), SLIPS)
def test_a_fix_gives_what_is_meant_or_nothing(
    operator: str, key: str, slip: str, meant: str | None, judge: HabitJudge
) -> None:
    text = judge.entry_text(Habit(operator, key, slip, "", ()), slip, "double")
    assert judge.check(text)
    fixed = fix_source(SourceFile("derivatives.yaml", text), judge.checked, unsafe=True)
    assert judge.formula(fixed.text, key) == (meant or slip)


@pytest.mark.parametrize(
    ("slip", "formula", "meant"),
    [
        # one difference to each of two overloads
        ("special_hermite_polynomial_h(Tensor x, Scalar n) -> Tensor", "x: grad", None),
        # the formula is for "rsub", and for "sub" in the second one
        (
            "rsub.Scalar(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
            "self: handle_r_to_c(self.scalar_type(), maybe_multiply(-grad, alpha.conj()))",
            "rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        ),
        (
            "rsub.Scalar(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
            "self: handle_r_to_c(self.scalar_type(), grad)",
            "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        ),
        # the name or the arguments
        (
            "index_fill_.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
            "self: grad.index_fill(dim, index, 0)",
            None,
        ),
        ("tanh(Tensor(a!) self) -> Tensor(a!)", "self: tanh_backward(grad, result)", None),
        ("special_chebyshev_polynomial_(Tensor x, Tensor n) -> Tensor", "n: non_differentiable", None),
        # numbers refute the formula with the nearest name
        ("ne(Tensor self) -> Tensor", "self: -grad.neg()", None),
        ("sini(Tensor self) -> Tensor", "self: grad * self.cos().conj()", "sin(Tensor self) -> Tensor"),
        ("sini(Tensor self) -> Tensor", "self: grad * self.cosh().conj()", "sinh(Tensor self) -> Tensor"),
    ],
)
def test_the_overload_may_be_what_is_wrong(slip: str, formula: str, meant: str | None, judge: HabitJudge) -> None:
    source = SourceFile("derivatives.yaml", f"- name: {slip}\n  {formula}\n")
    assert [item.rule for item in judge.checked(source).shown][:1] == ["unknown-schema"]
    assert f"- name: {meant or slip}\n" in fix_source(source, judge.checked, unsafe=True).text
