"""Where operators are defined: arguments that follow from others, and arguments that lie on manifolds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: What some arguments are of others: they move along when those are changed.
Auxiliary = Callable[[dict[str, Any]], dict[str, Any]]


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


AUXILIARIES: dict[str, Auxiliary] = {
    "native_layer_norm_backward": _layer_norm,
    "native_batch_norm_backward": _batch_norm,
    "batch_norm_backward": _batch_norm,
    "log_sigmoid_backward": _log_sigmoid,
    "nll_loss_backward": _nll_loss,
    "nll_loss2d_backward": _nll_loss,
}


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


#: Arguments that must lie on a manifold: what brings a tensor to its tangent space.
MANIFOLDS: dict[tuple[str, str], Callable[[Any, dict[str, Any]], Any]] = {
    ("cholesky", "self"): _symmetric,
    ("linalg_cholesky_ex", "self"): _symmetric,
    ("_linalg_eigh", "A"): _symmetric,
    ("cholesky_inverse", "self"): _triangular,
    ("cholesky_solve", "input2"): _triangular,
    ("linalg_pinv.atol_rtol_tensor", "self"): _symmetric_if_hermitian,
}
#: What makes a point of such an argument, where the tangent space is not the manifold itself.
INHABITANTS: dict[tuple[str, str], Callable[[Any, dict[str, Any]], Any]] = {
    ("cholesky", "self"): _positive,
    ("linalg_cholesky_ex", "self"): _positive,
}
