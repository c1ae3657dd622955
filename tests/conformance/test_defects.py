"""The defects of PyTorch 2.13 that the rules find in its file are real: each is run here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

# PyTorch warns of itself when it takes tangents
pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.long]
#: Untyped, as is "Function.apply".
forward_ad: Any = torch.autograd.forward_ad
ALIASED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "frac": torch.frac,
    "fmod.Scalar": lambda x: torch.fmod(x, 2.0),
    "remainder.Scalar": lambda x: torch.remainder(x, 2.0),
    "sub.Scalar": lambda x: torch.ops.aten.sub.Scalar(x, 1.0),
    "native_dropout": lambda x: torch.native_dropout(x, 0.5, False)[0],
}


@pytest.mark.parametrize("operator", ALIASED)
def test_aliased_tangent(operator: str) -> None:
    """An in-place operation on the output changes the tangent of the input."""
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.tensor([0.25, 0.5]), torch.ones(2))
        y = ALIASED[operator](x)
        y.mul_(3)
        tangent = forward_ad.unpack_dual(x).tangent
        assert tangent is not None
        assert tangent.tolist() == [3, 3]


@pytest.mark.parametrize("operator", [torch._foreach_maximum, torch._foreach_minimum])
@pytest.mark.parametrize("scalars", [3.0, [3.0]])
def test_affine_tangent(operator: Callable[..., list[torch.Tensor]], scalars: float | list[float]) -> None:
    """Where the number wins, the tangent is that number, and not 0."""
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.tensor([1.0, 5.0]), torch.ones(2))
        (result,) = operator([x], scalars)
        tangent = forward_ad.unpack_dual(result).tangent
        assert tangent is not None
        assert sorted(tangent.tolist()) == [1, 3]


def is_right(function: Callable[[torch.Tensor], torch.Tensor], value: torch.Tensor) -> bool:
    """Whether PyTorch's gradient agrees with finite differences."""
    return torch.autograd.gradcheck(function, (value,), raise_exception=False)


def test_missing_conjugate_in_index_add() -> None:
    x = torch.zeros(3, dtype=torch.complex128)
    index = torch.tensor([0, 2])
    source = torch.rand(2, dtype=torch.complex128, requires_grad=True)
    assert is_right(lambda value: torch.index_add(x, 0, index, value, alpha=2), source)
    assert not is_right(lambda value: torch.index_add(x, 0, index, value, alpha=2 + 3j), source)


def test_missing_conjugate_in_sparse_addmm() -> None:
    self = torch.rand(2, 2, dtype=torch.complex128, requires_grad=True)
    sparse = torch.eye(2, dtype=torch.complex128).to_sparse()
    dense = torch.rand(2, 2, dtype=torch.complex128)
    assert is_right(lambda value: torch.sparse.addmm(value, sparse, dense, beta=2), self)
    assert not is_right(lambda value: torch.sparse.addmm(value, sparse, dense, beta=2 + 3j), self)


class Undefined(torch.autograd.Function):
    """Something whose gradient is undefined."""

    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        return torch.ones(1)

    @staticmethod
    def backward(ctx: object, *grad: torch.Tensor) -> None:
        return None


def test_unguarded_gradient_in_mkldnn_linear() -> None:
    x = torch.rand(2, 3).to_mkldnn().requires_grad_()
    y = torch._C._nn.mkldnn_linear(x, torch.rand(4, 3, requires_grad=True), torch.rand(4, requires_grad=True))
    undefined: Any = Undefined
    result = undefined.apply(y)
    with pytest.raises(NotImplementedError, match="Could not run 'aten::mkldnn_linear_backward_input'"):
        result.backward()


def test_missing_argument_derivative_in_soft_margin_loss() -> None:
    target = torch.tensor([1.0, -1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="not differentiable with respect to argument 'target'"):
        torch.nn.functional.soft_margin_loss(torch.rand(2), target)


def test_wrong_gradient_in_native_dropout() -> None:
    """Without "train" the forward call drops and scales, and the backward formula does not scale."""
    torch.manual_seed(0)
    x = torch.rand(100, dtype=torch.float64, requires_grad=True)
    result, mask = torch.native_dropout(x, 0.5, None)
    total: Any = result.sum()
    total.backward()
    gradient = x.grad
    assert gradient is not None
    torch.testing.assert_close(result[mask], 2 * x[mask])
    torch.testing.assert_close(gradient[mask], torch.ones_like(x[mask]))
