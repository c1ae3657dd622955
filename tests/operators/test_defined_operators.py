"""Operators of single elements that have a definition compute what PyTorch's own compute."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import torch

from derivlint.functional.definitions import INTERPRETER
from derivlint.operators.reference.definitions import FOLDER, DefinitionKind, read_definitions
from derivlint.schema import Argument, NativeFunction, NativeFunctions

#: The files whose operators take tensors of any shape.
FILES = ("activations", "elementwise", "losses")
OPERATORS = sorted(
    each.name
    for file in FILES
    for each in read_definitions((FOLDER / f"{file}.txt").read_text(encoding="utf-8"))
    if each.kind is DefinitionKind.OPERATOR
)
#: Tensors of one seed of arguments.
SHAPES = ((3, 2), (5,), ())
#: The constant of PyTorch's kernel is a number of single precision.
SINGLE = frozenset({"hardsigmoid_backward"})


def argument(function: NativeFunction, argument: Argument, shape: tuple[int, ...], random: Random) -> Any:
    """A value that the kernel is made for."""
    name, base = argument.name, function.name.base
    if argument.type.is_tensor_like:
        if argument.type.is_nullable and random.random() < 0.4:
            return None
        generator = torch.Generator().manual_seed(random.randrange(1 << 30))
        values = torch.rand(shape, generator=generator, dtype=torch.float64)
        if name == "mask":
            return values > 0.5
        if base in ("binary_cross_entropy", "binary_cross_entropy_backward", "logit_backward"):
            return values * 0.9 + 0.05
        return values * 6 - 3
    fixed = {"training": False, "min_val": -1.2, "generator": None}
    if name in fixed:
        return fixed[name]
    choices: dict[str, tuple[Any, ...]] = {
        "reduction": (0, 1, 2),
        "approximate": ("none", "tanh"),
        "eps": (None, 0.1),
        "is_result": (True, False),
        "self_is_result": (False,),
    }
    return random.choice(choices.get(name, (0.5, 0.8, 1.5)))


def arguments(function: NativeFunction, shape: tuple[int, ...], random: Random) -> dict[str, Any]:
    """Values that belong together, by name."""
    values = {each.name: argument(function, each, shape, random) for each in function.schema.arguments.flat_non_out}
    if values.get("reduction") and "grad_output" in values:
        values["grad_output"] = torch.tensor(1.7, dtype=torch.float64)
    if "buffer" in values:
        values["buffer"] = torch.ops.aten.log_sigmoid_forward(values["self"])[1]
    return values


def close(ours: torch.Tensor, theirs: torch.Tensor, tolerance: float) -> bool:
    return ours.shape == theirs.shape and torch.allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", OPERATORS)
def test_a_defined_operator_computes_what_pytorch_computes(name: str, installed_natives: NativeFunctions) -> None:
    """On tensors with any number of elements, with all kinds of reductions."""
    function = installed_natives.operator(name)
    assert function is not None
    compiled = INTERPRETER.function(name)
    assert compiled is not None
    schema = [each.name for each in function.schema.arguments.flat_non_out]
    assert set(compiled.parameters) <= set(schema)
    assert list(compiled.parameters) == [each for each in schema if each in compiled.parameters]
    keywords = {each.name for each in function.schema.arguments.flat_non_out} - {
        each.name for each in function.schema.arguments.flat_positional
    }
    for seed in range(30):
        random = Random(seed)
        given = arguments(function, random.choice(SHAPES), random)
        positional = [value for key, value in given.items() if key not in keywords]
        wanted = getattr(torch.ops.aten, name).default(*positional, **{key: given[key] for key in keywords})
        found = compiled.call({key: given[key] for key in compiled.parameters})
        pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
        same = all(close(ours, theirs, 1e-7 if name in SINGLE else 1e-10) for ours, theirs in pairs)
        assert same, f"{found} instead of {wanted} for {given}"
