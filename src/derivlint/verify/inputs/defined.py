"""Inputs that operators take although what they return is not defined there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from derivlint.operators import Book
from derivlint.verify.code.functions import FunctionSpec

Condition = Callable[[dict[str, Any]], bool]


def is_defined(spec: FunctionSpec, values: Sequence[Any]) -> bool:
    """Whether the result of an operator is defined for arguments, by its documentation."""
    named = dict(zip((argument.name for argument in spec.arguments), values, strict=True))
    return all(condition(named) for topic, condition in _CONDITIONS.items() if spec.operator in Book.by_hand(topic))


def _differ(values: dict[str, Any]) -> bool:
    """No index occurs twice in a plane, which has as many axes as sizes are given for it."""
    planes = values["indices"].flatten(-len(values["output_size"]))
    return all(plane.unique().numel() == plane.numel() for plane in planes.reshape(-1, planes.shape[-1]))


def _is_length(values: dict[str, Any]) -> bool:
    """An absolute value is not negative."""
    return bool((values["abs"] >= 0).all())


def _are_probabilities(values: dict[str, Any]) -> bool:
    """A probability lies between 0 and 1."""
    return bool(((values["self"] >= 0) & (values["self"] <= 1)).all())


def _are_classes(values: dict[str, Any]) -> bool:
    """No target is beyond the classes that there are; the kernel reads whatever is there."""
    targets, classes = values["targets"], next(iter(values.values())).shape[-1]
    return not targets.numel() or bool(((targets >= 0) & (targets < classes)).all())


def _differ_along(values: dict[str, Any]) -> bool:
    """No place is written twice."""
    index = values["index"]
    if index.dim() == 0 or not index.numel():
        return True
    ordered = index.sort(values["dim"]).values
    return bool((ordered.diff(dim=values["dim"]) > 0).all())


def _has_full_rank(values: dict[str, Any]) -> bool:
    """Least squares without a driver for other matrices suppose full rank; other factorizations are not unique."""
    import torch

    matrix = next(iter(values.values()))
    return bool((torch.linalg.matrix_rank(matrix) == min(matrix.shape[-2:])).all())


def _has_independent_first_columns(values: dict[str, Any]) -> bool:
    """An LU factorization can be differentiated where as many columns as there are pivots are independent."""
    import torch

    matrix = values["A"]
    size = min(matrix.shape[-2:])
    return bool((torch.linalg.matrix_rank(matrix[..., :size]) == size).all())


def _all_differ(values: dict[str, Any]) -> bool:
    """Among equal elements it is not defined which one is taken."""
    elements = values["self"].flatten()
    return bool(elements.unique().numel() == elements.numel())


def _is_smooth(values: dict[str, Any]) -> bool:
    """At zero the second derivative jumps: differences are off by their step."""
    return bool((values["self"] != 0).all())


#: What arguments are like, by the fact that says so.
_CONDITIONS: dict[str, Condition] = {
    "takes-different-indices": _differ,
    "takes-full-rank": _has_full_rank,
    "takes-independent-pivots": _has_independent_first_columns,
    "takes-different-elements": _all_differ,
    "takes-lengths": _is_length,
    "takes-probabilities": _are_probabilities,
    "takes-known-classes": _are_classes,
    "writes-places-once": _differ_along,
    "jumps-at-zero": _is_smooth,
}
