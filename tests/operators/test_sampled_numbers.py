"""Operators that only numbers have an implementation of compute what PyTorch computes for one element."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from derivlint.analysis.scalar_evaluation.domain import implementation_named

ATEN = torch.ops.aten


def numbers(name: str, **values: Any) -> Any:
    """What numbers give; parameters that are not looked at are left out."""
    implementation = implementation_named(name)
    assert implementation is not None
    return implementation.run(values)


def pixel(value: float, dimensions: int = 4) -> torch.Tensor:
    return torch.full((1,) * dimensions, value, dtype=torch.float64)


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("place", [0.7, -1.3, 2.5])
def test_an_image_of_one_pixel_is_sampled(place: float, aligned: bool) -> None:
    """The first coordinate moves; both gradients, and their gradients."""
    image, grad = pixel(1.7).requires_grad_(), pixel(0.6).requires_grad_()
    grid = torch.tensor([[[[place, 0.0]]]], dtype=torch.float64, requires_grad=True)
    own = {"interpolation_mode": 0, "padding_mode": 0, "align_corners": aligned}
    sampled = ATEN.grid_sampler_2d.default(image, grid, 0, 0, aligned)
    assert numbers("grid_sampler_2d", input=1.7, grid=place, **own) == pytest.approx(sampled.item())
    into_image, into_grid = torch.autograd.grad(sampled, (image, grid), grad, create_graph=True)
    first = numbers("grid_sampler_2d_backward", grad_output=0.6, input=1.7, grid=place, **own)
    assert first == pytest.approx((into_image.item(), into_grid[0, 0, 0, 0].item()))
    total = 0.3 * into_image.sum() + 0.8 * into_grid[0, 0, 0, 0]
    if total.requires_grad:
        again = torch.autograd.grad(total, (grad, image, grid), allow_unused=True)
        modes = {"interpolation": 0, "padding": 0, "aligned": aligned}
        given = {"of_input": 0.3, "of_grid": 0.8, "grad": 0.6, "input": 1.7, "grid": place, **modes}
        found = numbers("grid_sampler_2d_double_backward", **given)
        wanted = [0.0 if each is None else each.reshape(-1)[0].item() for each in again]
        assert found == pytest.approx(wanted)


def test_an_affine_grid_of_one_point_is_the_translation() -> None:
    theta = torch.tensor([[[2.0, 3.0, 0.7], [4.0, 5.0, 0.2]]], dtype=torch.float64)
    grid = ATEN.affine_grid_generator.default(theta, [1, 1, 1, 1], False)
    assert grid.reshape(-1).tolist() == pytest.approx([0.7, 0.2])
    assert numbers("affine_grid_generator", self=0.7) == 0.7


@pytest.mark.parametrize("weight", [None, 0.4])
def test_a_bag_of_one_row(weight: float | None) -> None:
    one = torch.tensor([0])
    rows = torch.tensor([[1.3]], dtype=torch.float64)
    weights = None if weight is None else torch.tensor([weight], dtype=torch.float64)
    found = ATEN._embedding_bag.default(rows, one, one, False, 0, False, weights)
    assert numbers("_embedding_bag", weight=1.3, per_sample_weights=weight)[0] == pytest.approx(found[0].item())


@pytest.mark.parametrize("name", ["cat", "stack", "block_diag"])
def test_one_tensor_is_joined(name: str) -> None:
    assert getattr(ATEN, name).default([torch.tensor([0.5])]).item() == numbers(name, tensors=(0.5,)) == 0.5


@pytest.mark.parametrize("scale", [0.3, 1.9])
@pytest.mark.parametrize("value", [0.2, -0.9, 2.4])
def test_rounding_counts_as_the_identity_within_the_range(value: float, scale: float) -> None:
    x = torch.tensor([value], requires_grad=True)
    output, mask = ATEN.fake_quantize_per_tensor_affine_cachemask.default(x, scale, 1, 0, 1)
    (gradient,) = torch.autograd.grad(output, x)
    given = {"self": value, "scale": scale, "zero_point": 1, "quant_min": 0, "quant_max": 1}
    found, within = numbers("fake_quantize_per_tensor_affine_cachemask", **given)
    assert within == bool(mask.item()) == bool(gradient.item())
    assert within or found == pytest.approx(output.item())
