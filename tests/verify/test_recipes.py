"""Recipes and siblings: arguments that operators take."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from derivlint.operators import Book
from derivlint.verify.code.functions import FunctionSpec, FunctionValue
from derivlint.verify.inputs.points import call, generator, is_inexact, overload_of
from derivlint.verify.inputs.recipes import (
    converted,
    input_expressions,
    is_single,
    operators_with_like_inputs,
    recipe_points,
    recorded_points,
    siblings,
)

# sparse and nested tensors say that they are in beta state
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def spec(operator: str) -> FunctionSpec:
    """An operator as it is passed to the process that checks, by the installed schema."""
    schema = overload_of(operator)._schema
    arguments = tuple(
        FunctionValue(each.name, str(each.type).replace("Optional[Tensor]", "Tensor?")) for each in schema.arguments
    )
    return FunctionSpec(0, "backward", operator, "self", arguments, (), (), (), (), ())


@pytest.mark.parametrize("operator", sorted(input_expressions()))
def test_each_recipe_is_a_valid_call(operator: str) -> None:
    """The operator takes the arguments, which are the same each time and of the right precision."""
    (point,) = recipe_points(spec(operator), generator(0, operator))
    (again,) = recipe_points(spec(operator), generator(0, operator))
    assert point.size == again.size > 0
    dtype = torch.float32 if is_single(operator) else torch.float64
    assert any(value.dtype == dtype for value in _tensors(point.values))
    result = call(operator, point.values)
    assert _tensors(list(result) if isinstance(result, (list, tuple)) else [result])


def _tensors(values: list[Any]) -> list[Any]:
    found = [item for value in values for item in (value if isinstance(value, (list, tuple)) else [value])]
    return [item for item in found if is_inexact(item)] or [item for item in found if isinstance(item, torch.Tensor)]


def test_facts_about_recipes_speak_of_operators_with_a_recipe() -> None:
    assert Book.by_hand("single-precision") | Book.by_hand("other-layouts") <= input_expressions().keys()


def test_arguments_are_those_of_the_schemas() -> None:
    for operator, recipe in input_expressions().items():
        known = {argument.name for argument in overload_of(operator)._schema.arguments}
        assert recipe.keys() <= known, operator


def test_inputs_that_are_taken_over_are_recorded() -> None:
    """Both operators exist, and the other one has no inputs that are taken over, too."""
    for operator, other in operators_with_like_inputs().items():
        assert overload_of(operator)
        assert overload_of(other)
        assert other not in operators_with_like_inputs()


def test_operators_without_a_recipe_have_no_points() -> None:
    """What is recorded is not written by hand."""
    assert recipe_points(spec("mul.Tensor"), generator(0)) == []


def test_siblings_come_nearest_first() -> None:
    """The same name before in-place and copying forms, and the same overload before others."""
    recorded = ["mul_.Tensor", "mul.Scalar", "mul.Tensor", "add.Tensor"]
    assert siblings("mul.Tensor", recorded) == ["mul.Tensor", "mul.Scalar", "mul_.Tensor"]
    assert siblings("lift", ["clone", "lift_fresh"]) == ["clone"]


def test_arguments_of_siblings_are_taken_by_name_and_converted() -> None:
    """A number becomes a tensor, a tensor a number, and what has a default need not be there."""
    made = converted(spec("add.Tensor"), {"self": torch.ones(2), "other": 2.5})
    assert made is not None
    assert (made[0].tolist(), made[1].item(), made[2]) == ([1, 1], 2.5, 1)
    assert converted(spec("add.Tensor"), {"self": torch.ones(2)}) is None


def test_own_inputs_come_before_those_of_siblings() -> None:
    """Siblings are asked only where nothing of the operator's own was recorded."""
    own, other = [torch.ones(2), 2, 1], [torch.ones(3), torch.ones(3), 1]
    inputs = {"add.Scalar": [own], "add.Tensor": [other]}
    (point,) = recorded_points(spec("add.Scalar"), inputs)
    assert (point.label, point.values) == ("sample", own)
    (point,) = recorded_points(spec("add.Tensor"), {"add.Scalar": [own]})
    assert (point.label, point.values[1].item()) == ("sibling", 2)
