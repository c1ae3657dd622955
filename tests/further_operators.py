"""Operators outside PyTorch of the kinds that :mod:`tests.own_operators` lacks."""

FUNCTIONS = """\
- func: kept::pieces(Tensor x, int n) -> Tensor[]
- func: kept::leaky(Tensor x, Scalar? slope=None) -> Tensor
- func: kept::norm_over(Tensor x, int[]? dim=None, bool keepdim=False) -> Tensor
- func: kept::clip_flags(Tensor x, bool low=True, bool high=False) -> Tensor
- func: kept::act(Tensor x, str mode="tanh") -> Tensor
- func: kept::fused_(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
- func: kept::swap_(Tensor(a!) self, Tensor(b!) other) -> (Tensor(a!), Tensor(b!))
- func: kept::scaled_exp(Tensor x, Scalar s) -> Tensor
- func: kept::scaled_exp.out(Tensor x, Scalar s, *, Tensor(a!) out) -> Tensor(a!)
- func: kept::cmul(Tensor a, Tensor b) -> Tensor
- func: kept::bdiv(Tensor a, Tensor b) -> Tensor
- func: kept::stats(Tensor x) -> (Tensor mean, Tensor var, Tensor count)
- func: kept::stats_backward(Tensor? grad_mean, Tensor? grad_var, Tensor x) -> Tensor
- func: kept::diag_view(Tensor(a) self, int offset=0) -> Tensor(a)
- func: kept::pick(Tensor x, Tensor?[] indices) -> Tensor
- func: kept::_foreach_wave(Tensor[] self) -> Tensor[]
- func: kept::_foreach_axpy.List(Tensor[] self, Tensor[] other, Scalar alpha=1) -> Tensor[]
- func: kept::_foreach_times.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]
- func: kept::chain(Tensor x) -> Tensor
- func: kept::roll2(Tensor x, SymInt shift) -> Tensor
- func: kept::pad2(Tensor x, SymInt[] pad) -> Tensor
- func: kept::cast(Tensor x, ScalarType dtype, Device? device=None) -> Tensor
- func: kept::cube(Tensor x) -> Tensor
- func: kept::named_sum(Tensor x, Dimname dim) -> Tensor
- func: kept::lerp2(Tensor a, Tensor b, Tensor weight) -> Tensor
- func: kept::best(Tensor x, int k, bool largest=True) -> (Tensor values, Tensor index)
- func: kept::noise(Tensor x, float p=0.5, *, Generator? generator=None) -> (Tensor, Tensor)
"""
DERIVATIVES = """\
- name: pieces(Tensor x, int n) -> Tensor[]
  x: split_backward(grads, n, 0, x.sym_sizes(), x.options())
  result: auto_linear

- name: leaky(Tensor x, Scalar? slope=None) -> Tensor
  x: at::where(x > 0, grad, grad * slope.value_or(0.01))
  result: at::where(x_p > 0, x_t, x_t * slope.value_or(0.01))

- name: norm_over(Tensor x, int[]? dim=None, bool keepdim=False) -> Tensor
  x: linalg_vector_norm_backward(grad, x, 2, result, dim, keepdim)
  result: linalg_vector_norm_jvp(x_p, x_t, 2, result, dim, keepdim)

- name: clip_flags(Tensor x, bool low=True, bool high=False) -> Tensor
  x: "high ? (low ? grad.masked_fill(x < -1, 0) : grad).masked_fill(x > 1, 0)
    : (low ? grad.masked_fill(x < -1, 0) : grad)"
  result: auto_element_wise

- name: act(Tensor x, str mode="tanh") -> Tensor
  x: 'mode == "tanh" ? grad * (1 - result * result).conj() : grad * (result * (1 - result)).conj()'
  result: 'mode == "tanh" ? x_t * (1 - result * result) : x_t * result * (1 - result)'

- name: fused_(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
  self: grad
  other: grad * (other * 2 * alpha).conj()
  result: self_t.add_(other_t * other_p * 2 * alpha)

- name: swap_(Tensor(a!) self, Tensor(b!) other) -> (Tensor(a!), Tensor(b!))
  self: grad
  other: grad

- name: scaled_exp(Tensor x, Scalar s) -> Tensor
  x: grad * (result * s).conj()
  result: x_t * result * s

- name: cmul(Tensor a, Tensor b) -> Tensor
  a: handle_r_to_c(a.scalar_type(), grad * b)
  b: handle_r_to_c(b.scalar_type(), grad.conj() * a)
  result: a_t * b_p.conj() + a_p * b_t.conj()

- name: bdiv(Tensor a, Tensor b) -> Tensor
  a: grad / b.conj()
  b: -grad * (result / b).conj()
  result: (a_t - b_t * result) / b_p

- name: stats(Tensor x) -> (Tensor mean, Tensor var, Tensor count)
  output_differentiability: [True, True, False]
  x: stats_backward(grad_mean, grad_var, x)
  mean: x_t.mean()
  var: (2 * (x_p - mean) * x_t).mean()

- name: diag_view(Tensor(a) self, int offset=0) -> Tensor(a)
  self: diagonal_backward_symint(grad, self.sym_sizes(), offset, 0, 1)
  result: auto_linear

- name: pick(Tensor x, Tensor?[] indices) -> Tensor
  x: index_backward(grad.new_zeros_symint(x.sym_sizes(), x.options()), indices, grad)
  result: auto_linear

- name: _foreach_wave(Tensor[] self) -> Tensor[]
  self: grads[i] * self[i].cos().conj()
  result: self_t * self_p.cos()

- name: _foreach_axpy.List(Tensor[] self, Tensor[] other, Scalar alpha=1) -> Tensor[]
  self: grads[i]
  other: grads[i] * alpha
  result: self_t + other_t * alpha

- name: _foreach_times.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]
  self: grads[i] * scalars[i]
  result: self_t * scalars[i]

- name: chain(Tensor x) -> Tensor
  x: grad * act(x, "sigmoid")
  result: x_t * act(x_p, "sigmoid")

- name: roll2(Tensor x, SymInt shift) -> Tensor
  x: grad.roll_symint(-shift, 0)
  result: auto_linear

- name: pad2(Tensor x, SymInt[] pad) -> Tensor
  x: constant_pad_nd_backward(grad, pad)
  result: auto_linear

- name: cast(Tensor x, ScalarType dtype, Device? device=None) -> Tensor
  x: grad.to(x.scalar_type())
  result: x_t.to(dtype)

- name: cube(Tensor x) -> Tensor
  x: grad * (3 * x * x).conj()
  result: auto_element_wise

- name: named_sum(Tensor x, Dimname dim) -> Tensor
  x: grad.expand_as(x)

- name: lerp2(Tensor a, Tensor b, Tensor weight) -> Tensor
  a, b: lerp2_backward(grad, weight)
  weight: grad * (b - a).conj()

- name: best(Tensor x, int k, bool largest=True) -> (Tensor values, Tensor index)
  output_differentiability: [True, False]
  x: grad.new_zeros_symint(x.sym_sizes()).scatter(-1, index, grad)
  values: x_t.gather(-1, index)

- name: noise(Tensor x, float p=0.5, *, Generator? generator=None) -> (Tensor, Tensor)
  output_differentiability: [True, False]
  x: grad * result1
  result0: x_t * result1
"""
HELPERS = """\
def lerp2_backward(grad, weight):
    if grad is None:
        return None, None
    return grad * (1 - weight), grad * weight
"""
HEADER = """\
#pragma once
#include <ATen/ATen.h>
#include <tuple>
inline std::tuple<at::Tensor, at::Tensor> lerp2_backward(const at::Tensor& grad, const at::Tensor& weight) {
  if (!grad.defined()) return {at::Tensor(), at::Tensor()};
  return {grad * (1 - weight), grad * weight};
}
"""
KERNELS = """\
import torch
I = torch.library.impl
K = "CompositeExplicitAutograd"
def k(name):
    return I("kept::" + name, K)
@k("pieces")
def pieces(x, n): return [e.clone() for e in x.split(n)]
@k("leaky")
def leaky(x, slope=None): return torch.where(x > 0, x, x * (0.01 if slope is None else slope))
@k("norm_over")
def norm_over(x, dim=None, keepdim=False): return torch.linalg.vector_norm(x, 2, dim, keepdim)
@k("clip_flags")
def clip_flags(x, low=True, high=False): return x.clamp(-1 if low else -1e9, 1 if high else 1e9)
@k("act")
def act(x, mode="tanh"): return x.tanh() if mode == "tanh" else x.sigmoid()
@k("fused_")
def fused_(self, other, *, alpha=1): return self.add_(other * other, alpha=alpha)
@k("swap_")
def swap_(self, other):
    a = self.clone(); self.copy_(other); other.copy_(a); return self, other
@k("scaled_exp")
def scaled_exp(x, s): return (x * s).exp()
@k("scaled_exp.out")
def scaled_exp_out(x, s, *, out): return out.copy_((x * s).exp())
@k("cmul")
def cmul(a, b): return torch.mul(a, b.conj_physical())
@k("bdiv")
def bdiv(a, b): return a / b
@k("stats")
def stats(x): return x.mean(), x.var(unbiased=False), torch.ones((), dtype=torch.int64, device=x.device) * x.shape[0]
@k("stats_backward")
def stats_backward(gm, gv, x):
    r = torch.zeros_like(x)
    if gm is not None: r = r + gm / x.numel()
    if gv is not None: r = r + gv * 2 * (x - x.mean()) / x.numel()
    return r
@k("diag_view")
def diag_view(self, offset=0): return self.diagonal(offset)
@k("pick")
def pick(x, indices): return torch.ops.aten.index(x, indices)
@k("_foreach_wave")
def _foreach_wave(self): return [e.sin() for e in self]
@k("_foreach_axpy.List")
def _foreach_axpy(self, other, alpha=1): return [a + b * alpha for a, b in zip(self, other)]
@k("_foreach_times.ScalarList")
def _foreach_times(self, scalars): return [a * s for a, s in zip(self, scalars)]
@k("chain")
def chain(x): return torch.log1p(x.exp())
@k("roll2")
def roll2(x, shift): return torch.ops.aten.roll(x, [shift], [0])
@k("pad2")
def pad2(x, pad): return torch.ops.aten.constant_pad_nd(x, pad)
@k("cast")
def cast(x, dtype, device=None): return x.to(dtype, copy=True)
@k("cube")
def cube(x): return x ** 3
@k("lerp2")
def lerp2(a, b, weight): return a + weight * (b - a)
@k("best")
def best(x, k, largest=True):
    v, i = x.topk(k, -1, largest); return v, i
@k("noise")
def noise(x, p=0.5, *, generator=None):
    m = torch.full_like(x, p).bernoulli(generator=generator); return x * m, m
"""
CHECKS = """\
import generated as g
import kernels
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.library import opcheck

own = torch.ops.kept
torch.manual_seed(0)


def t(*shape, dtype=torch.double):
    return torch.randn(shape, dtype=dtype, requires_grad=True)


x, y, w, v, square = t(4, 3), t(4, 3), t(3), t(3), t(4, 4)
c, d = t(4, 3, dtype=torch.cdouble), t(4, 3, dtype=torch.cdouble)
index = torch.tensor([0, 2, 2])


def noise(value):
    torch.manual_seed(3)
    return own.noise(value)[0]


# name, function, tensors, overload and arguments for opcheck; what does not hold
CASES = (
    ("pieces", lambda a: own.pieces(a, 2), (x,), (own.pieces.default, (x, 2)), ""),
    ("pieces, one unused", lambda a: own.pieces(a, 3)[1], (x,), None, ""),
    ("leaky", lambda a: own.leaky(a), (x,), (own.leaky.default, (x,)), ""),
    ("leaky, 0.3", lambda a: own.leaky(a, 0.3), (x,), (own.leaky.default, (x, 0.3)), ""),
    ("norm_over", lambda a: own.norm_over(a), (x,), (own.norm_over.default, (x,)), ""),
    ("norm_over, dim", lambda a: own.norm_over(a, [1], True), (x,), (own.norm_over.default, (x, [0, 1])), ""),
    ("clip_flags", lambda a: own.clip_flags(a), (x,), (own.clip_flags.default, (x,)), ""),
    ("clip_flags, both", lambda a: own.clip_flags(a, True, True), (x,), (own.clip_flags.default, (x, False, True)), ""),
    ("act", lambda a: own.act(a), (x,), (own.act.default, (x,)), ""),
    ("act, complex", lambda a: own.act(a, "sigmoid"), (c,), (own.act.default, (c, "sigmoid")), ""),
    ("fused_", lambda a, b: own.fused_(a.clone(), b, alpha=1.5), (x, y), None, "compile"),
    ("fused_, complex", lambda a, b: own.fused_(a.clone(), b), (c, d), None, "compile"),
    ("scaled_exp", lambda a: own.scaled_exp(a, 0.7), (x,), (own.scaled_exp.default, (x, 0.7)), ""),
    ("cmul", own.cmul, (c, d), (own.cmul.default, (c, d)), ""),
    ("cmul, one real", own.cmul, (x, d), (own.cmul.default, (x, d)), ""),
    ("bdiv, broadcast", own.bdiv, (x, w), (own.bdiv.default, (x, w)), ""),
    ("bdiv, complex", own.bdiv, (c, d), None, ""),
    ("stats", lambda a: own.stats(a)[:2], (x,), (own.stats.default, (x,)), "second"),
    ("stats, one output", lambda a: own.stats(a)[1], (x,), None, "second"),
    ("pick", lambda a: own.pick(a, [None, index]), (x,), (own.pick.default, (x, [None, index])), ""),
    ("_foreach_wave", lambda a, b: own._foreach_wave([a, b]), (x, w), (own._foreach_wave.default, ([x, w],)), ""),
    ("_foreach_wave, complex", lambda a, b: own._foreach_wave([a, b]), (c, w), None, ""),
    (
        "_foreach_axpy",
        lambda *a: own._foreach_axpy(a[:2], a[2:], 2.5),
        (x, w, y, v),
        (own._foreach_axpy.List, ([x, w], [y, w])),
        "",
    ),
    (
        "_foreach_times",
        lambda a, b: own._foreach_times([a, b], [2, 0.5]),
        (x, w),
        (own._foreach_times.ScalarList, ([x, w], [2, 3.5])),
        "",
    ),
    ("chain", own.chain, (x,), (own.chain.default, (x,)), ""),
    ("roll2", lambda a: own.roll2(a, 1), (x,), (own.roll2.default, (x, 1)), ""),
    ("pad2", lambda a: own.pad2(a, [1, 2]), (x,), (own.pad2.default, (x, [1, 0])), ""),
    ("cast", lambda a: own.cast(a, torch.double), (x,), (own.cast.default, (x, torch.float)), ""),
    ("cube", own.cube, (x,), (own.cube.default, (x,)), ""),
    ("cube, complex", own.cube, (c,), None, ""),
    ("lerp2", own.lerp2, (x, y, d.real.detach().requires_grad_()), (own.lerp2.default, (x, y, y)), "forward"),
    ("best", lambda a: own.best(a, 2)[0], (x,), (own.best.default, (x, 2)), ""),
    ("noise", noise, (x,), None, "compile"),
    # PyTorch functionalizes no operator of one's own that returns a view
    ("diag_view", lambda a: own.diag_view(a, 1), (square,), None, "python compile"),
)
CASES = tuple(case for case in CASES if g.IS_CPP or "python" not in case[4])


def size(value):
    return sum(map(size, value)) if isinstance(value, (list, tuple)) else (value.abs() ** 2).sum()


def gradients(function, tensors):
    return torch.autograd.grad(size(function(*tensors)), tensors)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_derivatives(case):
    _, function, tensors, _, not_ = case
    assert gradcheck(function, tensors, check_forward_ad="forward" not in not_)
    assert "second" in not_ or gradgradcheck(function, tensors)
    plain = tuple(each.detach() for each in tensors)
    places = tuple(range(len(tensors)))
    found = torch.func.grad(lambda *values: size(function(*values)), argnums=places)(*plain)
    assert all(map(torch.allclose, found, gradients(function, tensors)))


@pytest.mark.parametrize("case", [case for case in CASES if case[3] is not None], ids=lambda case: case[0])
def test_opcheck(case):
    operator, arguments = case[3]
    opcheck(operator, arguments)


@pytest.mark.parametrize("case", [case for case in CASES if "compile" not in case[4]], ids=lambda case: case[0])
def test_compiled(case):
    _, function, tensors, _, _ = case
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    assert all(map(torch.allclose, gradients(compiled, tensors), gradients(function, tensors)))
"""
