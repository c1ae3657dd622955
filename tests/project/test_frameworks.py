"""Frameworks of their own: of their types, defaults, returns and operators nothing but the schemas is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from derivlint.model import build_model
from derivlint.project.operators import OF_FRAMEWORK, load_operators, operators_for
from derivlint.project.settings import Settings
from derivlint.source import SourceFile
from tests.cli.conftest import Run

#: Own types instead of tensors.
ARRAYS = """\
- func: exp(Array x) -> Array
- func: mean(Array x, Axes? axis=None, bool keepdims=False, Dtype? dtype=None) -> Array
- func: transpose(Array x, Axes axes=(1, 0)) -> Array
- func: matmul(Array a, Array b) -> Array
- func: mul(Array a, Array b) -> Array
- func: cross_entropy(Array logits, Array labels, str reduction="mean", float label_smoothing=0.0) -> Array
- func: topk(Array x, int k, int axis=-1) -> TopK
- func: svd(Array x) -> (Array u, Array s, Array vt)
- func: layer_norm(Array x, Array? gamma=None, float eps=1e-05) -> (Array y, Array mu, Array rstd)
- func: concat(Array[] xs, int axis=0) -> Array
- func: where(Array cond, Array a, Array b) -> Array
"""
ARRAY_DERIVATIVES = """\
- name: exp(Array x) -> Array
  x: grad * result
  result: x_t * result
- name: mean(Array x, Axes? axis=None, bool keepdims=False, Dtype? dtype=None) -> Array
  x: expand_like(grad, x, axis, keepdims) / count(x.shape(), axis)
- name: transpose(Array x, Axes axes=(1, 0)) -> Array
  x: transpose(grad, inverse(axes))
  result: transpose(x_t, axes)
- name: matmul(Array a, Array b) -> Array
  a: matmul(grad, swap_last(b))
  b: matmul(swap_last(a), grad)
- name: mul(Array a, Array b) -> Array
  a: unbroadcast(grad * b, a.shape())
  b: unbroadcast(grad * a, b.shape())
  result: a_t * b_p + a_p * b_t
- name: cross_entropy(Array logits, Array labels, str reduction="mean", float label_smoothing=0.0) -> Array
  logits: cross_entropy_grad(grad, logits, labels, reduction, label_smoothing)
  labels: non_differentiable
- name: topk(Array x, int k, int axis=-1) -> TopK
  x: scatter_add(zeros_like(x), result.indices, grad, axis)
- name: svd(Array x) -> (Array u, Array s, Array vt)
  x: svd_vjp(grads, u, s, vt)
- name: layer_norm(Array x, Array? gamma=None, float eps=1e-05) -> (Array y, Array mu, Array rstd)
  output_differentiability: [True, False, False]
  x, gamma: layer_norm_vjp(grad, x, gamma, mu, rstd, grad_input_mask)
- name: concat(Array[] xs, int axis=0) -> Array
  xs: split_as(grad, xs, axis)
- name: where(Array cond, Array a, Array b) -> Array
  cond: non_differentiable
  a: where(cond, grad, 0)
  b: where(cond, 0, grad)
"""
#: Tensors, and own types of everything else.
TENSORS = """\
- func: add(Tensor lhs, Tensor rhs, *, Device? device=None) -> Tensor
- func: sum(Tensor x, Dims dims=all, bool keepdim=false) -> Tensor
- func: view(Tensor(a) x, Shape shape) -> Tensor(a)
- func: permute(Tensor x, usize[] order) -> Tensor
- func: masked_fill(Tensor x, Tensor mask, f32 value) -> Tensor
- func: lerp(Tensor a, Tensor b, f32 t) -> Tensor
- func: pool2d(Tensor x, PoolParams params) -> PoolResult
- func: quantize(Tensor x, f32 scale, Rounding mode=Rounding::NearestEven) -> QTensor
- func: dequantize(QTensor q) -> Tensor
- func: lstm(Tensor x, LstmState state) -> (Tensor y, LstmState next)
- func: foreach_add(Tensor[] xs, Tensor[] ys) -> Tensor[]
- func: argmax(Tensor x, Temperature t) -> Tensor
"""
TENSOR_DERIVATIVES = """\
- name: add(Tensor lhs, Tensor rhs, *, Device? device=None) -> Tensor
  lhs: reduce_to(grad, lhs.shape())
  rhs: reduce_to(grad, rhs.shape())
  result: lhs_t + rhs_t
- name: sum(Tensor x, Dims dims=all, bool keepdim=false) -> Tensor
  x: broadcast_to(grad, x.shape(), dims, keepdim)
  result: sum(x_t, dims, keepdim)
- name: view(Tensor(a) x, Shape shape) -> Tensor(a)
  x: view(grad, x.shape())
- name: permute(Tensor x, usize[] order) -> Tensor
  x: permute(grad, invert(order))
- name: masked_fill(Tensor x, Tensor mask, f32 value) -> Tensor
  x: grad.where(!mask, 0)
  mask: non_differentiable
- name: lerp(Tensor a, Tensor b, f32 t) -> Tensor
  a: grad * (1 - t)
  b: grad * t
  result: a_t + (b_t - a_t) * t
- name: pool2d(Tensor x, PoolParams params) -> PoolResult
  x: pool2d_dx(grad, result, x.shape(), params)
- name: quantize(Tensor x, f32 scale, Rounding mode=Rounding::NearestEven) -> QTensor
  x: grad
- name: dequantize(QTensor q) -> Tensor
  q: grad
- name: lstm(Tensor x, LstmState state) -> (Tensor y, LstmState next)
  x: lstm_dx(grads[0], x, state)
- name: foreach_add(Tensor[] xs, Tensor[] ys) -> Tensor[]
  xs: grads
  ys: grads
- name: argmax(Tensor x, Temperature t) -> Tensor
  x: soft_argmax_dx(grad, x, t)
"""
#: Generic types and braces.
GENERICS = """\
- func: nll(Node logp, Node label, str reduction='mean', Optional[Node] weight=None) -> Node
- func: stack(List[Node] xs, int axis=0) -> Node
- func: split(Node x, int sections, int axis=0) -> List[Node]
- func: pad(Node x, Tuple[int, int] width=(0, 0), float value=0.) -> Node
- func: rfft(Node x, quill::Norm norm=quill::Norm::Ortho) -> Array<c64, 2>
- func: flash(Node q, Node k, Config cfg={}) -> (Node out, Stats stats)
- func: rnn(Node x, Node h0, Weights w) -> (Node, Node, Workspace)
- func: log_softmax(Node x, int axis=-1) -> Node
- func: norm(Node x, float ord=2.0, float eps=1E-12) -> Node
"""
GENERIC_DERIVATIVES = """\
- name: nll(Node logp, Node label, str reduction='mean', Optional[Node] weight=None) -> Node
  logp: nll_bwd(grad, logp, label, weight, reduction)
- name: stack(List[Node] xs, int axis=0) -> Node
  xs: unstack(grad, axis)
- name: split(Node x, int sections, int axis=0) -> List[Node]
  x: concat(grads, axis)
- name: pad(Node x, Tuple[int, int] width=(0, 0), float value=0.) -> Node
  x: crop(grad, width)
  result: pad(x_t, width, 0.)
- name: rfft(Node x, quill::Norm norm=quill::Norm::Ortho) -> Array<c64, 2>
  x: irfft(grad, x.size(), norm)
- name: flash(Node q, Node k, Config cfg={}) -> (Node out, Stats stats)
  output_differentiability: [True, False]
  q, k: flash_bwd(grad, q, k, out, stats, cfg)
- name: rnn(Node x, Node h0, Weights w) -> (Node, Node, Workspace)
  x, h0, w: rnn_bwd(grads[0], grads[1], x, h0, w, result2)
- name: log_softmax(Node x, int axis=-1) -> Node
  x: grad - exp(result) * sum(grad, axis)
- name: norm(Node x, float ord=2.0, float eps=1E-12) -> Node
  x: grad * x / result
"""
#: PyTorch's names and types with other signatures.
RENAMED = """\
- func: add(Tensor a, Tensor b) -> Tensor
- func: mean(Tensor x, int[]? axis=None, bool keepdims=False) -> Tensor
- func: softmax(Tensor x, int axis=-1) -> Tensor
- func: cross_entropy(Tensor logits, Tensor labels, str reduction="mean") -> Tensor
- func: topk(Tensor x, int k, int axis=-1) -> (Tensor values, Tensor indices)
"""
RENAMED_DERIVATIVES = """\
- name: add(Tensor a, Tensor b) -> Tensor
  a: reduce_like(grad, a)
  b: reduce_like(grad, b)
- name: mean(Tensor x, int[]? axis=None, bool keepdims=False) -> Tensor
  x: mean_grad(grad, x.shape(), axis, keepdims)
- name: softmax(Tensor x, int axis=-1) -> Tensor
  x: (grad - sum(grad * result, axis, true)) * result
- name: cross_entropy(Tensor logits, Tensor labels, str reduction="mean") -> Tensor
  logits: grad * (softmax(logits) - one_hot(labels)) / count(labels, reduction)
- name: topk(Tensor x, int k, int axis=-1) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  x: scatter(zeros_like(x), axis, indices, grad)
"""
#: A few operators with PyTorch's own schemas.
MIXED = """\
- func: warp(Tensor x, Grid grid, Interp mode=Linear) -> Tensor
- func: blend(Tensor a, Tensor b, float t=0.5) -> Tensor
- func: relu(Tensor self) -> Tensor
- func: exp(Tensor self) -> Tensor
- func: sum(Tensor self, Shape? dims=None) -> Tensor
- func: mul(Tensor self, Tensor other) -> Tensor
"""
MIXED_DERIVATIVES = """\
- name: warp(Tensor x, Grid grid, Interp mode=Linear) -> Tensor
  x: warp_adjoint(grad, x, grid, mode)
- name: blend(Tensor a, Tensor b, float t=0.5) -> Tensor
  a: grad * (1 - t)
  b: grad * t
- name: relu(Tensor self) -> Tensor
  self: grad * (self > 0)
- name: exp(Tensor self) -> Tensor
  self: grad * result
- name: sum(Tensor self, Shape? dims=None) -> Tensor
  self: broadcast(grad, self.shape())
- name: mul(Tensor self, Tensor other) -> Tensor
  self: grad * other
  other: grad * self
"""

FRAMEWORKS = {
    "arrays": (ARRAYS, ARRAY_DERIVATIVES),
    "tensors": (TENSORS, TENSOR_DERIVATIVES),
    "generics": (GENERICS, GENERIC_DERIVATIVES),
    "renamed": (RENAMED, RENAMED_DERIVATIVES),
    "mixed": (MIXED, MIXED_DERIVATIVES),
}


@pytest.mark.parametrize("natives_name", ["native_functions.yaml", "ops.yaml"])
@pytest.mark.parametrize(("natives", "derivatives"), FRAMEWORKS.values(), ids=FRAMEWORKS)
def test_right_files_of_frameworks_have_no_findings(
    here: Path, run: Run, natives: str, derivatives: str, natives_name: str
) -> None:
    (here / natives_name).write_text(natives)
    (here / "derivatives.yaml").write_text(derivatives)
    for options in ([], ["--native-functions", natives_name, "--no-pytorch-operators"]):
        outcome = run("check", "--preview", "--min-confidence", "low", *options)
        assert (outcome.status, outcome.out.splitlines()[0][:11]) == (0, "no findings"), outcome.out


def test_mistakes_in_frameworks_are_found(here: Path, run: Run) -> None:
    (here / "native_functions.yaml").write_text(ARRAYS)
    (here / "derivatives.yaml").write_text("""\
- name: exp(Array x) -> Array
  y: grad * result
- name: mul(Array a, Array b) -> Array
  a: unbroadcast(grad * bb, a.shape())
  b: unbroadcast(grad * grad, b.shape())
  result: a_t * b_t
- name: men(Array x, Axes? axis=None, bool keepdims=False, Dtype? dtype=None) -> Array
  x: expand_like(grad, x, axis, keepdims)
- name: matmul(Array a, Array b) -> Array
  a: matmul(b, b)
  b: grad * a + 1
- name: topk(Array x, int k, int axis=-1) -> TopK
  axis: grad
""")
    lines = run("check").out.splitlines()
    rules = [line.rpartition("[")[2].rstrip("]") for line in lines if line.startswith("derivatives.yaml:")]
    assert rules == [
        *("unknown-key", "undefined-name", "nonlinear-gradient", "nonlinear-tangent", "unknown-schema"),
        *("unused-gradient", "affine-gradient", "formula-for-non-tensor"),
    ]


def test_the_settings_tell_that_the_operators_are_not_those_of_pytorch(here: Path, run: Run) -> None:
    (here / "native_functions.yaml").write_text(ARRAYS)
    (here / "derivatives.yaml").write_text(ARRAY_DERIVATIVES)
    lines = run("check", "--show-settings").out.splitlines()[2:8]
    assert lines == [
        f"  operators: {here / 'native_functions.yaml'} ({OF_FRAMEWORK})",
        "  tags: none",
        "  C++ functions: unknown",
        "  headers: none",
        "  bodies of C++ functions: unknown",
        "  facts by release: none",
    ]


def test_entries_may_declare_all_operators(here: Path, run: Run) -> None:
    (here / "derivatives.yaml").write_text(ARRAY_DERIVATIVES)
    (here / "derivlint.toml").write_text("declares-operators = true\npytorch-operators = false\n")
    assert run("check").out.splitlines() == ["no findings in 1 file (11 entries, 19 formulas)"]


@pytest.mark.parametrize(
    ("natives", "is_framework"),
    [
        ("- func: my_relu(Tensor self) -> Tensor\n- func: my_tanh(Tensor self) -> Tensor\n", False),
        # one clash may be a mistake
        ("- func: my_relu(Tensor x) -> Tensor\n- func: sin(Tensor x) -> Tensor\n", False),
        ("- func: sin(Tensor x) -> Tensor\n- func: cos(Tensor x) -> Tensor\n", True),
        ("- func: mine::sin(Tensor x) -> Tensor\n- func: mine::cos(Tensor x) -> Tensor\n", False),
        ("- func: warp(Tensor x, Grid g) -> Tensor\n- func: bend(Grid g) -> Tensor\n", True),
        ("- func: warp(Tensor x, Grid g) -> Tensor\n- func: my_relu(Tensor x) -> Tensor\n", False),
        ("custom:\n- func: sin(Tensor x) -> Tensor\n- func: cos(Tensor x) -> Tensor\n", False),
    ],
)
def test_additions_to_pytorch_are_no_framework(here: Path, natives: str, is_framework: bool) -> None:
    (here / "ops.yaml").write_text(natives)
    settings = Settings().overridden(native_functions=(here / "ops.yaml",))
    loaded = load_operators(operators_for(here, settings), use_cache=False)
    assert loaded.natives.are_of_framework == is_framework
    model = build_model(SourceFile("derivatives.yaml", ""), loaded.natives, settings.layout)
    assert model.layout.cpp != is_framework
