"""Operators whose gradients call operators without an entry, so they can be differentiated only once."""

from __future__ import annotations

FUNCTIONS = """\
- func: once::rmsnorm(Tensor x, Tensor? weight=None, float eps=1e-06) -> (Tensor out, Tensor rstd)
- func: once::rmsnorm_backward(Tensor grad, Tensor x, Tensor? weight, Tensor rstd, bool[2] grad_input_mask) -> \
(Tensor, Tensor)
- func: once::cubed(Tensor x) -> Tensor
- func: once::cubed_backward(Tensor grad, Tensor x) -> Tensor
- func: once::product(Tensor x, Tensor y) -> Tensor
- func: once::product_backward(Tensor grad, Tensor x, Tensor y) -> (Tensor, Tensor)
- func: once::total(Tensor[] parts) -> Tensor
- func: once::total_backward(Tensor grad, Tensor[] parts) -> Tensor[]
- func: once::steps(Tensor x) -> Tensor
- func: once::scaled(Tensor x, Tensor by) -> Tensor
- func: once::powered(Tensor x, Tensor exponent) -> Tensor
"""
DERIVATIVES = """\
- name: rmsnorm(Tensor x, Tensor? weight=None, float eps=1e-06) -> (Tensor out, Tensor rstd)
  output_differentiability: [True, False]
  x, weight: rmsnorm_backward(grad, x, weight, rstd, grad_input_mask)

- name: cubed(Tensor x) -> Tensor
  x: once::cubed_backward(grad, x)
  result: once::cubed_backward(x_t, x_p)

- name: product(Tensor x, Tensor y) -> Tensor
  x, y: product_backward(grad, x, y)

- name: total(Tensor[] parts) -> Tensor
  parts: total_backward(grad, parts)

- name: steps(Tensor x) -> Tensor
  x: 'not_implemented("steps: x")'

- name: scaled(Tensor x, Tensor by) -> Tensor
  x: grad * by

- name: powered(Tensor x, Tensor exponent) -> Tensor
  x: grad * exponent * x.pow(exponent - 1)
  exponent: 'not_implemented("powered: exponent")'
"""
KERNELS = """\
import torch

I = torch.library.impl


@I("once::rmsnorm", "CPU")
def rmsnorm(x, weight=None, eps=1e-6):
    rstd = (x * x).mean(-1, keepdim=True).add(eps).rsqrt()
    return (x * rstd if weight is None else x * rstd * weight), rstd


@I("once::rmsnorm_backward", "CPU")
def rmsnorm_backward(grad, x, weight, rstd, grad_input_mask):
    scaled = grad if weight is None else grad * weight
    # both, whatever the mask asks for
    return (
        rstd * (scaled - x * rstd * rstd * (scaled * x).mean(-1, keepdim=True)),
        (grad * x * rstd).sum_to_size(x.shape[-1:]),
    )


@I("once::cubed", "CPU")
def cubed(x): return x ** 3


@I("once::cubed_backward", "CPU")
def cubed_backward(grad, x): return grad * 3 * x ** 2


@I("once::product", "CPU")
def product(x, y): return x * y


@I("once::product_backward", "CPU")
def product_backward(grad, x, y): return grad * y, grad * x


@I("once::total", "CPU")
def total(parts): return sum(part ** 2 for part in parts)


@I("once::total_backward", "CPU")
def total_backward(grad, parts): return [grad * 2 * part for part in parts]


@I("once::steps", "CPU")
def steps(x): return x.round()


@I("once::scaled", "CPU")
def scaled(x, by): return x * by


@I("once::powered", "CPU")
def powered(x, exponent): return x ** exponent
"""
CHECKS = r"""
import pytest
import torch
import generated as g
import kernels
from torch.autograd import gradcheck, gradgradcheck

torch.manual_seed(0)


def tensor(*shape):
    return (torch.rand(shape, dtype=torch.double) + 0.5).requires_grad_()


x, y, weight = tensor(3, 4), tensor(3, 4), tensor(4)
constant = weight.detach()
CASES = {
    "both": (lambda *given: g.rmsnorm(*given)[0], (x, weight)),
    "without weight": (lambda *given: g.rmsnorm(*given)[0], (x,)),
    "constant weight": (lambda v: g.rmsnorm(v, constant)[0], (x,)),
    "constant input": (lambda v: g.rmsnorm(x.detach(), v)[0], (weight,)),
    "cubed": (g.cubed, (x,)),
    "product": (g.product, (x, y)),
    "constant factor": (lambda v: g.product(y.detach(), v), (x,)),
    "list": (lambda *given: g.total(list(given)), (x, y)),
}
NOT_IMPLEMENTED = r"derivative for '?once::\w+_backward'? is not implemented"


@pytest.mark.parametrize("case", CASES)
def test_once(case):
    # with undefined gradients, too
    assert gradcheck(*CASES[case])


@pytest.mark.parametrize("case", CASES)
def test_not_twice(case):
    with pytest.raises(RuntimeError, match=NOT_IMPLEMENTED):
        gradgradcheck(*CASES[case])


@pytest.mark.parametrize("case", CASES)
def test_no_second_derivative_is_none(case):
    function, arguments = case = CASES[case]
    out = function(*arguments)
    (first,) = torch.autograd.grad((out * out).sum(), arguments[:1], create_graph=True)
    with pytest.raises(RuntimeError, match=NOT_IMPLEMENTED):
        torch.autograd.grad(first.sum(), arguments, allow_unused=True)


def test_transforms():
    def total(v): return (g.cubed(v) * v).sum()
    torch.testing.assert_close(torch.func.grad(total)(x.detach()), (4 * x ** 3).detach())
    with pytest.raises(RuntimeError):
        torch.func.grad(lambda v: torch.func.grad(total)(v).sum())(x.detach())


def test_no_formula():
    with pytest.raises(RuntimeError, match="steps: x"):
        g.steps(x).sum().backward()
    assert gradcheck(lambda v: g.scaled(v, y.detach()), (x,))
    with pytest.raises(RuntimeError, match="scaled.*by"):
        g.scaled(x, y).sum().backward()


def test_only_what_is_asked_for_raises():
    (found,) = torch.autograd.grad(g.powered(x, y).sum(), x)
    torch.testing.assert_close(found, (y * x ** (y - 1)).detach())
    with pytest.raises(RuntimeError, match="powered: exponent"):
        torch.autograd.grad(g.powered(x, y).sum(), y)
    with pytest.raises(RuntimeError, match="powered: exponent"):
        g.powered(x * 1, y * 1).sum().backward()
"""
PASSED = "27 passed"
