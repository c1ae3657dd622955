"""Where operators are defined: arguments that follow from others, and arguments that lie on manifolds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from derivlint.operators import Book

_Value = TypeVar("_Value")
#: Computes arguments that follow from others, and move along when those are changed.
Auxiliary = Callable[[dict[str, Any]], dict[str, Any]]
#: Brings a tensor to a manifold or to its tangent space, given all arguments.
Move = Callable[[Any, dict[str, Any]], Any]


def _layer_norm(values: dict[str, Any]) -> dict[str, Any]:
    """The moments that layer_norm saves are those of its input."""
    x = values["input"]
    axes = tuple(range(x.dim() - len(values["normalized_shape"]), x.dim()))
    mean = x.mean(axes, keepdim=True)
    # the samples have the default epsilon
    return {"mean": mean, "rstd": (x.var(axes, unbiased=False, keepdim=True) + 1e-5).rsqrt()}


def _batch_norm(values: dict[str, Any]) -> dict[str, Any]:
    """In training the saved moments are those of the input, with the inverse of the standard deviation."""
    if not values.get("train", values.get("update")):
        return {}
    x = values["input"]
    axes = (0, *range(2, x.dim()))
    deviation = (x.var(axes, unbiased=False) + values["eps"]).rsqrt()
    return {"save_mean": x.mean(axes), "save_invstd" if "save_invstd" in values else "save_var": deviation}


def _nll_loss(values: dict[str, Any]) -> dict[str, Any]:
    """The sum of the weights of the targets."""
    import torch

    target = values["target"].reshape(-1)
    target = target[target != values["ignore_index"]]
    classes = values["self"].shape[1 if values["self"].dim() > 1 else 0]
    weight = values["weight"] if values["weight"] is not None else torch.ones(classes, dtype=values["self"].dtype)
    return {"total_weight": weight[target].sum()}


def _log_sigmoid(values: dict[str, Any]) -> dict[str, Any]:
    return {"buffer": (-values["self"].abs()).exp() if values["buffer"].numel() else values["buffer"]}


_AUXILIARIES: dict[str, Auxiliary] = {
    "saves-moments-of-rows": _layer_norm,
    "saves-moments-of-channels": _batch_norm,
    "saves-buffer-of-sigmoid": _log_sigmoid,
    "saves-weight-of-targets": _nll_loss,
}


def auxiliary_of(operator: str) -> Auxiliary | None:
    """Return the function that computes the arguments of an operator that follow from others, or None."""
    return _by_fact(_AUXILIARIES, operator)


def _symmetric(tensor: Any, values: dict[str, Any]) -> Any:
    return (tensor + tensor.mH) / 2


def _positive(tensor: Any, values: dict[str, Any]) -> Any:
    import torch

    return tensor @ tensor.mH + torch.eye(tensor.shape[-1], dtype=tensor.dtype)


def _triangular(tensor: Any, values: dict[str, Any]) -> Any:
    import torch

    half = tensor.triu() if values["upper"] else tensor.tril()
    if not tensor.is_complex():
        return half
    # the factor of a Hermitian matrix has a real diagonal
    diagonal = torch.diag_embed(half.diagonal(dim1=-2, dim2=-1))
    return half - torch.complex(torch.zeros_like(diagonal.imag), diagonal.imag)


def _symmetric_if_hermitian(tensor: Any, values: dict[str, Any]) -> Any:
    return _symmetric(tensor, values) if values["hermitian"] else tensor


_MANIFOLDS: dict[str, Move] = {
    "symmetric": _symmetric,
    "triangular": _triangular,
    "symmetric-if-hermitian": _symmetric_if_hermitian,
}
_SAMPLE_VALUES: dict[str, Move] = {"positive-definite": _positive}


def tangent_space_of(operator: str, argument: str) -> Move | None:
    """Return the projection to the tangent space of the manifold that an argument must lie on, or None."""
    return _by_fact(_MANIFOLDS, f"{operator}({argument})")


def manifold_of(operator: str, argument: str) -> Move | None:
    """Return the projection to the manifold that an argument must lie on, or None."""
    return _by_fact(_SAMPLE_VALUES, f"{operator}({argument})") or tangent_space_of(operator, argument)


def _by_fact(table: Mapping[str, _Value], name: str) -> _Value | None:
    return next((function for topic, function in table.items() if name in Book.by_hand(topic)), None)
