"""Recorded inputs of an operator, else those of an operator with nearly the same arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from derivlint.verify.code.functions import FunctionSpec
from derivlint.verify.inputs.points import SamplePoint, overload_of
from derivlint.verify.inputs.recipes import operators_with_like_inputs
from derivlint.verify.inputs.samples import stem
from derivlint.verify.inputs.stored import Inputs


def recorded_points(spec: FunctionSpec, inputs: Inputs) -> list[SamplePoint]:
    """Return the recorded inputs of an operator, else converted inputs of its nearest sibling.

    Args:
        spec: a function of the operator.
        inputs: what was recorded.
    """
    if spec.operator in inputs:
        return [SamplePoint(values) for values in inputs[spec.operator]]
    for name in siblings(spec.operator, inputs):
        names = [argument.name for argument in overload_of(name)._schema.arguments]
        made = [converted(spec, dict(zip(names, values, strict=True))) for values in inputs[name]]
        points = [SamplePoint(values, "sibling") for values in made if values is not None]
        if points:
            return points
    return []


def siblings(operator: str, recorded: Iterable[str]) -> list[str]:
    """The recorded operators whose inputs may fit: in-place and copying forms, other overloads, nearest first."""
    base, _, overload = operators_with_like_inputs().get(operator, operator).partition(".")
    own_stem = stem(base)

    def distance(name: str) -> tuple[bool, bool, bool, str]:
        base_there, _, overload_there = name.partition(".")
        return base_there != base, base_there.endswith("_") != base.endswith("_"), overload_there != overload, name

    return sorted((name for name in recorded if stem(name.partition(".")[0]) == own_stem), key=distance)


def converted(spec: FunctionSpec, values: dict[str, Any]) -> list[Any] | None:
    """The arguments of an operator out of those of another, by their names; None where one is missing."""
    made: list[Any] = []
    defaults = {argument.name: argument for argument in overload_of(spec.operator)._schema.arguments}
    for argument in spec.arguments:
        if argument.name in values:
            value = values[argument.name]
        elif argument.name in defaults and defaults[argument.name].has_default_value():
            value = defaults[argument.name].default_value
        elif argument.type.endswith("?"):
            value = None
        else:
            return None
        value = _as(argument.type.rstrip("?"), value)
        if value is None and not argument.type.endswith("?"):
            return None
        made.append(value)
    return made


def _as(kind: str, value: Any) -> Any:
    """A value as an argument of a schema type takes it; None where it cannot be one."""
    import torch

    is_number = isinstance(value, (int, float, complex)) and not isinstance(value, bool)
    if kind == "Tensor":
        if is_number:
            return torch.tensor(value, dtype=torch.complex128 if isinstance(value, complex) else torch.float64)
        return value if isinstance(value, torch.Tensor) else None
    if kind == "Scalar" and isinstance(value, torch.Tensor):
        return value.flatten()[0].item() if value.numel() else 1.0
    if kind == "Tensor[]" and isinstance(value, torch.Tensor):
        return [value, value * 0.5]
    if kind.startswith(("int[", "SymInt[")) and isinstance(value, int):
        return [value]
    return value
