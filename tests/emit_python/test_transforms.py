"""Generated Functions under the transforms of torch.func."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.emit_python.gradients import load


@pytest.fixture(scope="module")
def functions(written: Path) -> Any:
    """The generated module."""
    return load(written / "functions.py")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("sigmoid", 1), ("mul_Tensor", 2), ("atan2", 2), ("gelu", 1), ("logaddexp", 2), ("mm", 2), ("linalg_qr", 1)],
)
def test_gradients_of_batches(name: str, arguments: int, functions: Any) -> None:
    """Gradients of every element of a batch at once are those of one after the other."""
    torch.manual_seed(0)
    function = getattr(functions, name)
    batches = tuple(torch.randn(4, 3, 3, dtype=torch.float64) for _ in range(arguments))

    def scalar(*given: Any) -> Any:
        out = function(*given)
        return sum(each.sin().sum() for each in (out if isinstance(out, tuple) else (out,)))

    gradient = torch.func.grad(scalar, argnums=tuple(range(arguments)))
    together = torch.func.vmap(gradient)(*batches)
    for index in range(4):
        alone = gradient(*(batch[index] for batch in batches))
        for one, all_of_them in zip(alone, together, strict=True):
            torch.testing.assert_close(one, all_of_them[index])


LISTS: dict[str, Any] = {
    "cat": lambda function: lambda x, y: function([x, y, x], 1),
    "stack": lambda function: lambda x, y: function([x, y], 0),
    "block_diag": lambda function: lambda x, y: function([x, y]),
    "unbind_int": lambda function: lambda x, y: function(x, 0)[1] * y,
    "split_Tensor": lambda function: lambda x, y: function(x, 2, 0)[0] * y[:2],
    "hardsigmoid": lambda function: lambda x, y: function(x) * y,
}


@pytest.mark.parametrize("name", LISTS)
def test_gradients_of_batches_of_lists(name: str, functions: Any) -> None:
    """Functions from lists and to lists, and those that cannot be differentiated again, have a rule for batches."""
    torch.manual_seed(0)
    x, y = (torch.randn(4, 3, 3, dtype=torch.float64) for _ in range(2))
    called = LISTS[name](getattr(functions, name))
    gradient = torch.func.grad(lambda *given: called(*given).sin().sum(), argnums=(0, 1))
    together = torch.func.vmap(gradient)(x, y)
    for index in range(4):
        torch.testing.assert_close(tuple(each[index] for each in together), gradient(x[index], y[index]))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_forward_over_reverse(functions: Any) -> None:
    """A Hessian by torch.func is that of the operator itself."""
    torch.manual_seed(0)
    x = torch.randn(3, dtype=torch.float64)
    ours = torch.func.hessian(lambda value: functions.sigmoid(value).square().sum())(x)
    theirs = torch.func.hessian(lambda value: value.sigmoid().square().sum())(x)
    torch.testing.assert_close(ours, theirs)


def test_gradients_stop_where_nothing_is_differentiable(functions: Any) -> None:
    """A gradient that has no derivative is refused, not computed wrongly."""
    x, weights = (torch.rand(4, 4, requires_grad=True) for _ in range(2))
    scale, zero = torch.tensor([0.1]), torch.tensor([0.0])
    out = functions._fake_quantize_learnable_per_tensor_affine(x, scale, zero, 0, 255, 1.0)
    (gradient,) = torch.autograd.grad((out * weights).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"derivative for .* is not implemented"):
        gradient.sum().backward()  # type: ignore[no-untyped-call]  # torch gives it no types


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", ["copysign_Tensor", "nextafter", "soft_margin_loss", "native_batch_norm"])
def test_a_tangent_that_an_output_does_not_depend_on(name: str, functions: Any) -> None:
    """The tangent of the output is zero, not absent, which PyTorch does not take."""
    x, other = (torch.rand(3, 2, dtype=torch.float64) for _ in range(2))
    function = getattr(functions, name)
    called, moved = (lambda value: function(x, value)), other
    if name == "native_batch_norm":
        called, moved = (lambda value: function(x, None, None, value, value, False, 0.1, 1e-5)[0]), other[0]
    primal_and_tangent: Any = torch.func.jvp(called, (moved,), (torch.ones_like(moved),))
    out, tangent = primal_and_tangent
    assert torch.equal(tangent, torch.zeros_like(out))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_a_tangent_of_an_argument_without_a_formula_is_refused(functions: Any) -> None:
    """Where the forward formula reads it, as if it were constant."""
    x, target = (torch.rand(3, dtype=torch.float64) for _ in range(2))
    with pytest.raises(NotImplementedError, match="soft_margin_loss: target"):
        torch.func.jvp(functions.soft_margin_loss, (x, target), (x, target))
    primal_and_tangent: Any = torch.func.jvp(lambda value: functions.soft_margin_loss(value, target), (x,), (x,))
    assert primal_and_tangent[1].item() != 0
