"""The domains of operators: dependent arguments, arguments on manifolds, and conditions.

The operator book lists the operators and arguments, with a topic for each domain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from derivlint.operators import Book
from derivlint.verify.code.functions import FunctionSpec

_Value = TypeVar("_Value")
#: Computes the arguments that depend on others; they are recomputed when those change.
Auxiliary = Callable[[dict[str, Any]], dict[str, Any]]
#: Projects a tensor to a manifold or to its tangent space, given all arguments.
Move = Callable[[Any, dict[str, Any]], Any]


def _layer_norm(values: dict[str, Any]) -> dict[str, Any]:
    """The moments that layer_norm saves, computed from its input."""
    x = values["input"]
    axes = tuple(range(x.dim() - len(values["normalized_shape"]), x.dim()))
    mean = x.mean(axes, keepdim=True)
    # the samples use the default epsilon
    return {"mean": mean, "rstd": (x.var(axes, unbiased=False, keepdim=True) + 1e-5).rsqrt()}


def _batch_norm(values: dict[str, Any]) -> dict[str, Any]:
    """The moments that batch_norm saves in training: the mean and the inverse standard deviation of the input."""
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


_AUXILIARIES: dict[str, Auxiliary] = {
    "saves-moments-of-rows": _layer_norm,
    "saves-moments-of-channels": _batch_norm,
    "saves-buffer-of-sigmoid": lambda values: {
        "buffer": (-values["self"].abs()).exp() if values["buffer"].numel() else values["buffer"]
    },
    "saves-weight-of-targets": _nll_loss,
}


def auxiliary_of(operator: str) -> Auxiliary | None:
    """Return the function that computes an operator's dependent arguments, or None."""
    return _by_fact(_AUXILIARIES, operator)


def _symmetric(tensor: Any) -> Any:
    return (tensor + tensor.mH) / 2


def _triangular(tensor: Any, values: dict[str, Any]) -> Any:
    import torch

    half = tensor.triu() if values["upper"] else tensor.tril()
    if not tensor.is_complex():
        return half
    # the factor of a Hermitian matrix has a real diagonal
    diagonal = torch.diag_embed(half.diagonal(dim1=-2, dim2=-1))
    return half - torch.complex(torch.zeros_like(diagonal.imag), diagonal.imag)


_MANIFOLDS: dict[str, Move] = {
    "symmetric": lambda tensor, values: _symmetric(tensor),
    "triangular": _triangular,
    "symmetric-if-hermitian": lambda tensor, values: _symmetric(tensor) if values["hermitian"] else tensor,
}
_SAMPLE_VALUES: dict[str, Move] = {
    "positive-definite": lambda tensor, values: tensor @ tensor.mH + tensor.new_ones(tensor.shape[-1]).diag(),
}


def tangent_space_of(operator: str, argument: str) -> Move | None:
    """Return the projection to the tangent space of an argument's manifold, or None."""
    return _by_fact(_MANIFOLDS, f"{operator}({argument})")


def manifold_of(operator: str, argument: str) -> Move | None:
    """Return the projection to an argument's manifold, or None."""
    return _by_fact(_SAMPLE_VALUES, f"{operator}({argument})") or tangent_space_of(operator, argument)


def _by_fact(table: Mapping[str, _Value], name: str) -> _Value | None:
    return next((function for topic, function in table.items() if name in Book.by_hand(topic)), None)


# ---- conditions


def _differ_along(values: dict[str, Any]) -> bool:
    """Whether no position is written twice."""
    index = values["index"]
    if index.dim() == 0 or not index.numel():
        return True
    ordered = index.sort(values["dim"]).values
    return bool((ordered.diff(dim=values["dim"]) > 0).all())


def _are_known_classes(values: dict[str, Any]) -> bool:
    targets, classes = values["targets"], next(iter(values.values())).shape[-1]
    return not targets.numel() or bool(((targets >= 0) & (targets < classes)).all())


def _has_full_rank(matrix: Any) -> bool:
    import torch

    return bool((torch.linalg.matrix_rank(matrix) == min(matrix.shape[-2:])).all())


def _differ_in_planes(values: dict[str, Any]) -> bool:
    """Whether no index occurs twice in a plane, which has as many axes as the given sizes."""
    planes = values["indices"].flatten(-len(values["output_size"]))
    return all(plane.unique().numel() == plane.numel() for plane in planes.reshape(-1, planes.shape[-1]))


_CONDITIONS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "takes-different-indices": _differ_in_planes,
    # least squares with the default driver assumes full rank; other factorizations are not unique
    "takes-full-rank": lambda values: _has_full_rank(next(iter(values.values()))),
    # an LU factorization is differentiable if as many columns as there are pivots are independent
    "takes-independent-pivots": lambda values: _has_full_rank(values["A"][..., : min(values["A"].shape[-2:])]),
    # among equal elements the choice is undefined
    "takes-different-elements": lambda values: values["self"].unique().numel() == values["self"].numel(),
    "takes-lengths": lambda values: bool((values["abs"] >= 0).all()),
    "takes-probabilities": lambda values: bool(((values["self"] >= 0) & (values["self"] <= 1)).all()),
    # for unknown classes the kernel reads arbitrary memory
    "takes-known-classes": _are_known_classes,
    "writes-places-once": _differ_along,
    # at zero the second derivative is discontinuous: differences are off by their step
    "jumps-at-zero": lambda values: bool((values["self"] != 0).all()),
}


def is_defined(spec: FunctionSpec, values: Sequence[Any]) -> bool:
    """Whether the result of an operator is defined for arguments, according to its documentation."""
    named = dict(zip((argument.name for argument in spec.arguments), values, strict=True))
    return all(condition(named) for topic, condition in _CONDITIONS.items() if spec.operator in Book.by_hand(topic))
