"""Inputs that operators take although what they return is not defined there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from derivlint.verify.functions import Described

Condition = Callable[[dict[str, Any]], bool]


def is_defined(described: Described, values: Sequence[Any]) -> bool:
    """Whether the result of an operator is defined for arguments, by its documentation."""
    condition = _CONDITIONS.get(described.operator)
    return condition is None or condition(dict(zip((each.name for each in described.arguments), values, strict=True)))


def _differ(axes: int) -> Condition:
    """No index occurs twice in a plane of so many axes: which value is kept would not be defined."""

    def differ(values: dict[str, Any]) -> bool:
        planes = values["indices"].flatten(-axes)
        return all(plane.unique().numel() == plane.numel() for plane in planes.reshape(-1, planes.shape[-1]))

    return differ


def _is_length(values: dict[str, Any]) -> bool:
    """An absolute value is not negative."""
    return bool((values["abs"] >= 0).all())


def _differ_along(values: dict[str, Any]) -> bool:
    """No place is written twice."""
    index = values["index"]
    if index.dim() == 0 or not index.numel():
        return True
    ordered = index.sort(values["dim"]).values
    return bool((ordered.diff(dim=values["dim"]) > 0).all())


def _has_full_rank(values: dict[str, Any]) -> bool:
    """Least squares without a driver for other matrices suppose full rank."""
    import torch

    matrix = values["self"]
    return bool((torch.linalg.matrix_rank(matrix) == min(matrix.shape[-2:])).all())


def _has_independent_columns(values: dict[str, Any]) -> bool:
    """A factorization of a singular matrix is not unique."""
    import torch

    matrix = values["A"]
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


_CONDITIONS: dict[str, Condition] = {
    "max_unpool2d": _differ(2),
    "max_unpool3d": _differ(3),
    "linalg_lstsq": _has_full_rank,
    "linalg_qr": _has_independent_columns,
    **dict.fromkeys(("linalg_lu", "linalg_lu_factor_ex"), _has_independent_first_columns),
    **dict.fromkeys(("median", "median.dim", "nanmedian", "nanmedian.dim"), _all_differ),
    "polar": _is_length,
    "scatter.src": _differ_along,
    "special_i1e": _is_smooth,
}
