"""The defects of PyTorch 2.13 that the rules find in its file are real: each is run here."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

from derivlint.operators.book import DEFAULT_RELEASE
from derivlint.verify.known import known_findings
from tests.conformance.released_findings import reviewed_findings

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


@pytest.mark.parametrize("operator", ["_batch_norm_with_update", "_batch_norm_no_update"])
def test_unguarded_optional_in_batch_norm(operator: str) -> None:
    x, mean, variance = torch.rand(4, 3, requires_grad=True), torch.zeros(3), torch.ones(3)
    result = getattr(torch.ops.aten, operator)(x, None, None, mean, variance, 0.1, 1e-5)[0]
    with pytest.raises(RuntimeError, match=r"undefined Tensor .* for argument #2 'weight'"):
        result.sum().backward()


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


REFUSED = "Trying to set a forward gradient that has a different size"


def test_wrong_tangent_shape_of_masked_scatter_backward() -> None:
    mask = torch.tensor([True, False, True, False])
    with forward_ad.dual_level():
        grad = forward_ad.make_dual(torch.ones(4), torch.ones(4))
        with pytest.raises(RuntimeError, match=REFUSED):
            torch.ops.aten.masked_scatter_backward.default(grad, mask, [2, 1])


def test_wrong_tangent_shape_of_normal() -> None:
    """The deviations have more elements than the means."""
    with forward_ad.dual_level():
        mean = forward_ad.make_dual(torch.zeros(3, 1), torch.ones(3, 1))
        with pytest.raises(RuntimeError, match=REFUSED):
            torch.normal(mean, torch.ones(2, 3, 5))


@pytest.mark.parametrize("spatial", [2, 3])
def test_illegal_operand_shapes_in_the_gradients_of_depthwise_convolutions(spatial: int) -> None:
    """The operators run on graphics cards only; their formulas call this, with one group instead of one by channel."""
    ones, zeros = [1] * spatial, [0] * spatial
    grad, image = torch.rand(2, 3, *[5] * spatial), torch.rand(2, 3, *[5] * spatial)
    weight = torch.rand(3, 1, *ones)
    backward = torch.ops.aten.convolution_backward.default
    arguments = (grad, image, weight, [3], ones, zeros, ones, False, zeros)
    assert backward(*arguments, 3, [True, True, True])[0].shape == image.shape
    with pytest.raises(RuntimeError, match="to have 1 channels, but got 3 channels instead"):
        backward(*arguments, 1, [True, True, True])


@pytest.mark.parametrize(("size", "is_refused"), [(1, False), (2, True)])
def test_wrong_gradient_shape_of_squeeze_of_nested_tensors(size: int, is_refused: bool) -> None:
    """A dimension of another size than 1 stays, and the formula adds one."""
    x: Any = torch.nested.nested_tensor(
        [torch.rand(3, size), torch.rand(4, size)], layout=torch.jagged, requires_grad=True
    )
    y: Any = torch.squeeze(x, 2)
    refused = pytest.raises(RuntimeError, match="returned an invalid gradient") if is_refused else nullcontext()
    with refused:
        y.backward(y.detach().clone())


def normalized(*arguments: Any) -> Callable[[Any, torch.Tensor], torch.Tensor]:
    """A normalization in training, of channels with the same weight."""
    return lambda function, x: function(x, torch.full((3,), 2.0).to(x), torch.zeros(3).to(x), *arguments)[0]


def running() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)


aten: Any = torch.ops.aten
FIRST_ORDER: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "_linalg_det": lambda x: aten._linalg_det(x)[0],
    "_linalg_slogdet": lambda x: aten._linalg_slogdet(x)[1],
    "_linalg_solve_ex": lambda x: aten._linalg_solve_ex(x, torch.ones(3, 2, dtype=x.dtype))[0],
    "native_batch_norm": lambda x: normalized(*running(), True, 0.1, 1e-5)(aten.native_batch_norm, x),
    "_native_batch_norm_legit": lambda x: normalized(*running(), True, 0.1, 1e-5)(aten._native_batch_norm_legit, x),
    "_native_batch_norm_legit.no_stats": lambda x: normalized(True, 0.1, 1e-5)(
        aten._native_batch_norm_legit.no_stats, x
    ),
    "native_layer_norm": lambda x: aten.native_layer_norm(x, [3], None, None, 1e-5)[0],
    "_batch_norm_with_update": lambda x: normalized(*running(), 0.1, 1e-5)(aten._batch_norm_with_update, x),
}
#: What gives no finding: a buffer that follows from the input, a permutation, what is not saved without training.
OF_ANY_ORDER: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "log_sigmoid_forward": lambda x: aten.log_sigmoid_forward(x)[0],
    "linalg_lu": lambda x: torch.linalg.lu(x)[1],
    "_native_batch_norm_legit_no_training": lambda x: normalized(*running(), 0.1, 1e-5)(
        aten._native_batch_norm_legit_no_training, x * x
    ),
    "_batch_norm_no_update": lambda x: normalized(*running(), 0.1, 1e-5)(aten._batch_norm_no_update, x * x),
}


def tangent_is_differentiable(function: Callable[[torch.Tensor], torch.Tensor]) -> bool:
    """Whether the gradient of the tangent agrees with differences of the tangent."""
    generator = torch.Generator().manual_seed(0)
    value, direction = torch.randn(2, 3, 3, dtype=torch.float64, generator=generator)
    weight = torch.randn(function(value).shape, dtype=torch.float64, generator=generator)

    def tangent(x: torch.Tensor) -> torch.Tensor:
        with forward_ad.dual_level():
            result = function(forward_ad.make_dual(x, direction))
            found: torch.Tensor = forward_ad.unpack_dual(result).tangent
            return (found * weight).sum()

    x = value.clone().requires_grad_()
    weighted = tangent(x)
    gradient = torch.autograd.grad(weighted, x)[0] if weighted.requires_grad else torch.zeros_like(x)
    step = 1e-5
    differences = torch.empty(9, dtype=torch.float64)
    for position, unit in enumerate(torch.eye(9, dtype=torch.float64).view(9, 3, 3)):
        with torch.no_grad():
            differences[position] = (tangent(value + step * unit) - tangent(value - step * unit)) / (2 * step)
    return torch.allclose(gradient.flatten(), differences, atol=1e-6)


@pytest.mark.parametrize("operator", FIRST_ORDER)
def test_first_order_tangent(operator: str) -> None:
    assert not tangent_is_differentiable(FIRST_ORDER[operator])


@pytest.mark.parametrize("operator", OF_ANY_ORDER)
def test_tangents_of_any_order(operator: str) -> None:
    assert tangent_is_differentiable(OF_ANY_ORDER[operator])


@pytest.mark.parametrize("operator", ["cudnn_batch_norm", "miopen_batch_norm"])
def test_first_order_tangent_of_operators_for_other_devices(operator: str, derivatives_path: Path) -> None:
    """Their forward formula is that of "native_batch_norm", which is run above."""
    text = derivatives_path.read_text()

    def formula(name: str) -> str:
        entry = text[text.index(f"- name: {name}(") :].partition("\n\n")[0]
        return entry.partition("result0: ")[2].splitlines()[0]

    assert formula(operator).replace("epsilon", "eps") == formula("native_batch_norm")


PAGE = Path(__file__).parents[2] / "docs" / "pytorch-defects.md"
RULE = re.compile(r"\(\[([a-z-]+)\]\(rules/")


def test_the_page_of_defects_says_which_command_finds_them() -> None:
    """A rule that is named for an operator has a finding there, on the list that test_released_findings.py compares."""
    found = {(line.finding.entry, line.finding.rule) for line in reviewed_findings() if line.is_in(DEFAULT_RELEASE)}
    known = {operator for item in known_findings() for operator, _, _ in item.findings}
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, rest = section.partition("\n\n")
        command = rest.partition("\n\n")[0]
        assert command.startswith(("Found by `derivlint ", "No command finds it: ")), title
        operators = re.findall(r"`([^`]+)`", title)[:1]
        for rule in RULE.findall(command):
            assert any(name == rule and (entry in operators or not operators) for entry, name in found), title
        if "`derivlint verify`" in command:
            assert known.issuperset(operators), title
