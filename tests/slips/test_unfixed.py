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
    ("scatter.value", "result", "self_t.scatter(0, index, 0)", None),
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
    text = judge.entry_text(Habit(operator, key, slip, "", ()), slip)
    assert judge.check(text)
    fixed = fix_source(SourceFile("derivatives.yaml", text), judge.checked, unsafe=True)
    assert judge.formula(fixed.text, key) == (meant or slip)


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        # one difference to each of two overloads
        ("special_hermite_polynomial_h(Tensor x, Scalar n) -> Tensor", None),
        (
            "rsub.Scalar(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
            "rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        ),
    ],
)
def test_the_overload_may_be_what_is_wrong(slip: str, meant: str | None, judge: HabitJudge) -> None:
    source = SourceFile("derivatives.yaml", f"- name: {slip}\n  self: grad\n")
    assert [item.rule for item in judge.checked(source).shown][:1] == ["unknown-schema"]
    assert f"- name: {meant or slip}\n" in fix_source(source, judge.checked, unsafe=True).text
