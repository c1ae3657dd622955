"""What has to hold of the operators of examples/custom_ops_cpp, however their library was built.

Run by pytest in a process of its own, with the file of the library in an environment variable, or where the package
``my_ops`` can be imported.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.library import opcheck

LIBRARY = os.environ.get("MY_OPS_LIBRARY")
if LIBRARY is None:
    importlib.import_module("my_ops")
else:
    load_library: Callable[[str], None] = torch.ops.load_library
    load_library(LIBRARY)

torch.manual_seed(0)
own = torch.ops.my_ops


def tensor(*shape: int, dtype: torch.dtype = torch.double) -> torch.Tensor:
    return torch.randn(shape, dtype=dtype, requires_grad=True)


x, y, weight, bias, phase = tensor(3, 4), tensor(2, 4), tensor(4), tensor(4), tensor(3, 4)
z = tensor(3, 4, dtype=torch.cdouble)
Case = tuple[Callable[..., Any], tuple[torch.Tensor, ...]]
CASES: tuple[Case, ...] = (
    (own.scaled, (x,)), (lambda v: own.scaled(v, 3.5), (x,)), (lambda v: own.split_sign(v)[0], (x,)), (own.total, (x,)),
    (lambda v: own.total(v, 1), (x,)), (lambda v: own.total(v, [0, 1], True), (x,)),
    (lambda v, w: own.joined([v, w]), (x, y)), (own.affine, (x, weight, bias)), (own.affine, (x,)),
    (lambda v, b: own.affine(v, None, b), (x, bias)), (lambda v, w: own.affine(v, w), (x, weight)),
    (lambda v: own.scale_(v.clone(), 2.0), (x,)), (lambda v: own.tail(v, 2), (x,)),
    (lambda v, w: tuple(own.scale_all([v, w], 3)), (x, y)), (lambda v, w: own.scale_all([v, w], 3)[1], (x, y)),
    (own.turned, (z, phase)), (own.softplus2, (x,)), (own.softplus2_twice, (x,)),
)  # fmt: skip
#: PyTorch cannot functionalize operators of one's own that return what they write to, or a view.
FUNCTIONALIZED = tuple(case for index, case in enumerate(CASES) if index not in (11, 12))


@pytest.mark.parametrize("case", CASES)
def test_gradients(case: Case) -> None:
    """First order, second order and tangents."""
    function, arguments = case
    assert gradcheck(function, arguments, check_forward_ad=True, check_backward_ad=True)
    assert gradgradcheck(function, arguments, check_fwd_over_rev=True)


def test_an_output_is_not_differentiable() -> None:
    magnitude, sign = own.split_sign(x)
    assert (magnitude.requires_grad, sign.requires_grad) == (True, False)


def test_a_view_shares_history_and_version() -> None:
    base = x * 1
    view = own.tail(base, 2)
    assert view._is_view()
    assert view._base is base
    version = base._version
    view.mul_(3)
    assert base._version == version + 1
    (found,) = torch.autograd.grad(base.sum(), x)
    assert torch.equal(found, torch.tensor([1.0, 3.0, 3.0], dtype=torch.double)[:, None].expand(3, 4))


def test_a_view_of_a_tensor_that_requires_a_gradient_cannot_be_written_to() -> None:
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place"):
        own.tail(x, 2).mul_(2)


def test_a_view_is_made_again_of_another_base() -> None:
    with torch.autograd.grad_mode._force_original_view_tracking(True):
        view = own.tail(torch.ones(3), 2)
    other = torch.arange(3.0)
    assert torch.equal(view._view_func(other), other[1:])


def test_writing_in_place_counts() -> None:
    base = x * 1
    kept = base.sin()
    own.scale_(base, 2.0)
    assert base._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(kept.sum(), x)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        own.scale_(x, 2.0)


def test_nodes_have_names_and_what_they_save() -> None:
    node = own.scaled(x, 3.5).grad_fn
    assert node.name() == "ScaledBackward0"
    assert node._saved_by == 3.5
    assert isinstance(node, torch.autograd.graph.Node)


OPCHECKED: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (own.scaled, (x,)), (own.split_sign, (x,)), (own.total, (x, [1])), (own.joined, ([x, y],)),
    (own.affine, (x, weight, bias)), (own.affine, (x,)), (own.affine, (x, None, bias)), (own.scale_all, ([x, y], 2)),
    (own.turned, (z, phase)), (own.softplus2, (x,)), (own.softplus2_twice, (x,)),
)  # fmt: skip


@pytest.mark.parametrize("case", OPCHECKED)
def test_opcheck(case: tuple[Any, tuple[Any, ...]]) -> None:
    operator, arguments = case
    opcheck(operator.default, arguments)


@pytest.mark.parametrize("case", FUNCTIONALIZED)
def test_compiled(case: Case) -> None:
    function, arguments = case
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")

    def results(value: Any) -> list[torch.Tensor]:
        outputs = list(value) if isinstance(value, tuple) else [value]
        total = sum(each.abs().sum() for each in outputs)
        return [*outputs, *torch.autograd.grad(total, arguments, materialize_grads=True)]

    for found, wanted in zip(results(compiled(*arguments)), results(function(*arguments)), strict=True):
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("case", [case for case in CASES if case[1][0] is not z])
def test_transforms(case: Case) -> None:
    function, arguments = case

    def total(*values: torch.Tensor) -> Any:
        found = function(*values)
        return sum(each.sum() for each in found) if isinstance(found, tuple) else found.sum()

    wanted = torch.autograd.grad(total(*arguments), arguments[0], materialize_grads=True)[0]
    torch.testing.assert_close(torch.func.grad(total)(*(each.detach() for each in arguments)), wanted)
