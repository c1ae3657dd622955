"""Operators outside PyTorch of every kind, with entries, kernels and checks."""

from __future__ import annotations

from pathlib import Path

from derivlint.cli.main import cli
from tests import warm
from tests.running import runner

FUNCTIONS = """\
- func: ops::scaled(Tensor x, Scalar by=2) -> Tensor
- func: ops::split_sign(Tensor x) -> (Tensor magnitude, Tensor sign)
- func: ops::total(Tensor x, int[1]? dim=None, bool keepdim=False) -> Tensor
- func: ops::joined(Tensor[] parts) -> Tensor
- func: ops::affine(Tensor x, Tensor? weight=None, Tensor? bias=None) -> Tensor
- func: ops::scale_(Tensor(a!) self, float by) -> Tensor(a!)
- func: ops::tail(Tensor(a) self, int n) -> Tensor(a)
- func: ops::halves(Tensor x) -> Tensor[]
- func: ops::turned(Tensor x, Tensor phase) -> Tensor
- func: ops::softplus2(Tensor x) -> Tensor
- func: ops::softplus2_twice(Tensor x) -> Tensor
"""
DERIVATIVES = """\
- name: scaled(Tensor x, Scalar by=2) -> Tensor
  x: scaled_by(grad, by)
  result: auto_linear

- name: split_sign(Tensor x) -> (Tensor magnitude, Tensor sign)
  output_differentiability: [True, False]
  x: grad * sign
  magnitude: x_t * sign

- name: total(Tensor x, int[1]? dim=None, bool keepdim=False) -> Tensor
  x: sum_backward(grad, x.sym_sizes(), dim, keepdim)
  result: x_t.sum(dim, keepdim)

- name: joined(Tensor[] parts) -> Tensor
  parts: cat_tensors_backward(grad, to_args_sizes_symint(parts), to_args_scalartypes(parts), 0)
  result: cat_jvp(parts, 0)

- name: affine(Tensor x, Tensor? weight=None, Tensor? bias=None) -> Tensor
  x: "weight.defined() ? grad * weight : grad"
  weight: (grad * x).sum(0)
  bias: grad.sum(0)

- name: scale_(Tensor(a!) self, float by) -> Tensor(a!)
  self: grad * by
  result: self_t.mul_(by)

- name: tail(Tensor(a) self, int n) -> Tensor(a)
  self: slice_backward_wrapper(grad, self.sym_sizes(), 0, -n, ::std::nullopt, 1)
  result: auto_linear

- name: halves(Tensor x) -> Tensor[]
  x: unbind_backward(grads, 0)
  result: auto_linear

- name: turned(Tensor x, Tensor phase) -> Tensor
  x: grad * at::polar(ones_like(phase), -phase)
  phase: at::real(grad.conj() * result * c10::complex<double>(0, 1))

- name: softplus2(Tensor x) -> Tensor
  x: grad * x.sigmoid()
  result: x_t * x_p.sigmoid()

- name: softplus2_twice(Tensor x) -> Tensor
  x: grad * softplus2(x).sigmoid() * x.sigmoid()
"""
HELPERS = """\
def scaled_by(grad, by):
    return None if grad is None else grad * by
"""
KERNELS = """\
import torch
from torch import Tensor
I = torch.library.impl
K = "CompositeExplicitAutograd"
@I("ops::scaled",K)
def scaled(x,by=2): return x*by
@I("ops::split_sign",K)
def split_sign(x): return x.abs(), x.sign()
@I("ops::total",K)
def total(x,dim=None,keepdim=False): return x.sum(dim,keepdim) if dim is not None else x.sum()
@I("ops::joined",K)
def joined(parts): return torch.cat(parts)
@I("ops::affine",K)
def affine(x,weight=None,bias=None):
    r=x*weight if weight is not None else x.clone()
    return r+bias if bias is not None else r
@I("ops::scale_",K)
def scale_(self,by): return self.mul_(by)
@I("ops::turned",K)
def turned(x,phase): return x*torch.polar(torch.ones_like(phase),phase)
@I("ops::softplus2",K)
def softplus2(x): return torch.log1p(torch.exp(x))
@I("ops::softplus2_twice",K)
def softplus2_twice(x): return torch.log1p(torch.exp(torch.log1p(torch.exp(x))))

@I("ops::halves",K)
def halves(x): return [each.clone() for each in x.unbind(0)]
"""
CHECKS = """\
import pytest
import torch
import generated as g
import kernels
from torch.autograd import gradcheck, gradgradcheck
from torch.library import opcheck
from tests.sampling import sample

torch.manual_seed(0)
own = torch.ops.ops


def tensor(*shape, dtype=torch.double):
    return torch.randn(shape, dtype=dtype, requires_grad=True)


x, y, weight, bias, phase = tensor(3, 4), tensor(2, 4), tensor(4), tensor(4), tensor(3, 4)
turned = tensor(3, 4, dtype=torch.cdouble)
# a function of tensors, its arguments, and whether it has forward formulas
CASES = (
    (g.scaled, (x,), True),
    (lambda v: g.scaled(v, 3.5), (x,), True),
    (lambda v: g.split_sign(v)[0], (x,), True),
    (g.total, (x,), True),
    (lambda v: g.total(v, 1, True), (x,), True),
    (lambda v, w: g.joined([v, w]), (x, y), True),
    (g.affine, (x, weight, bias), False),
    (g.affine, (x,), False),
    (lambda v, b: g.affine(v, None, b), (x, bias), False),
    (lambda v, b: g.affine(v, bias=b), (x, bias), False),
    (lambda v: g.scale_(v.clone(), 2.0), (x,), True),
    (g.halves, (x,), True),
    (g.turned, (turned, phase), False),
    (g.softplus2, (x,), True),
    (g.softplus2_twice, (x,), False),
)


@pytest.mark.parametrize("case", CASES)
def test_gradients(case):
    function, arguments, has_tangents = case
    assert gradcheck(function, arguments, check_forward_ad=has_tangents)
    assert gradgradcheck(function, arguments)


@pytest.mark.parametrize("case", [case for case in CASES if not case[2]])
def test_tangents_without_formulas_are_refused(case):
    function, arguments, _ = case
    values = tuple(each.detach() for each in arguments)
    with pytest.raises(NotImplementedError):
        torch.func.jvp(function, values, values)


@pytest.mark.parametrize("case", [case for case in CASES if case[1][0] is not turned])
def test_transforms(case):
    function, arguments, _ = case

    def total(*values):
        found = function(*values)
        return sum(each.sum() for each in found) if isinstance(found, (list, tuple)) else found.sum()

    wanted = torch.autograd.grad(total(*arguments), arguments[0])[0]
    assert torch.allclose(torch.func.grad(total)(*(each.detach() for each in arguments)), wanted)


OPCHECKED = (
    (own.scaled, (x,)),
    (own.split_sign, (x,)),
    (own.total, (x, [1])),
    (own.joined, ([x, y],)),
    (own.affine, (x, weight, bias)),
    (own.affine, (x,)),
    (own.affine, (x, None, bias)),
    (own.halves, (x,)),
    (own.turned, (turned, phase)),
    (own.softplus2, (x,)),
    (own.softplus2_twice, (x,)),
)


@pytest.mark.parametrize("case", sample(OPCHECKED, 5))
def test_opcheck(case):
    operator, arguments = case
    opcheck(operator.default, arguments)


# PyTorch cannot functionalize an operator of one's own that returns what it writes to
@pytest.mark.parametrize("case", sample([CASES[i] for i in range(len(CASES)) if i != 10], 5))
def test_compiled(case):
    function, arguments, _ = case
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    found, wanted = compiled(*arguments), function(*arguments)
    if isinstance(wanted, (list, tuple)):
        assert all(map(torch.allclose, found, wanted))
    else:
        assert torch.allclose(found, wanted)
        assert torch.allclose(
            torch.autograd.grad(found.abs().sum(), arguments[0])[0],
            torch.autograd.grad(wanted.abs().sum(), arguments[0])[0],
        )
"""


def emit(
    language: str, folder: Path, out: str, *more: str, functions: str = FUNCTIONS, derivatives: str = DERIVATIVES
) -> str:
    """Run ``derivlint emit`` on the operators; return its output."""
    (folder / "ops.yaml").write_text(functions, encoding="utf-8")
    (folder / "derivatives.yaml").write_text(derivatives, encoding="utf-8")
    arguments = [str(folder / "derivatives.yaml"), "--torch", "2.13.0", "--native-functions", str(folder / "ops.yaml")]
    done = runner().invoke(cli, ["emit", language, *arguments, *more, "--out", str(folder / out)])
    return done.stdout + done.stderr


def run_checks(folder: Path, checks: str, wanted: str) -> None:
    """Run tests in a folder with their imports; ``wanted`` is the number of tests that must pass."""
    (folder / "test_them.py").write_text(checks, encoding="utf-8")
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_them.py")
    assert wanted in warm.run(warm.module, "pytest", *options, folder=str(folder))
