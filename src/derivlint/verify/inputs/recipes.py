"""Recorded inputs of an operator or of a similar one, and recipes for inputs.

Recipes are for operators that PyTorch's samples do not call, or only with large or trivial inputs.

A recipe (``operators/data/inputs.txt``) gives the arguments that have no default, as expressions of reference
definitions; the functions that make tensors in them are here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from derivlint import operators
from derivlint.operators import Book
from derivlint.operators.reference.interpretation import Interpreter, Primitive
from derivlint.verify.code.functions import FunctionSpec
from derivlint.verify.inputs.points import SamplePoint, overload_of
from derivlint.verify.inputs.samples import stem
from derivlint.verify.inputs.stored import Inputs

#: Recipes, and operators that use the inputs of another one.
_FILE = Path(operators.__file__).parent / "data" / "inputs.txt"
_LIKE = " like "


def _blocks() -> Iterator[tuple[str, list[str]]]:
    """The unindented lines, each with the indented lines below it."""
    lines: list[str] = []
    head = ""
    for line in _FILE.read_text(encoding="ascii").splitlines():
        if line.startswith(" "):
            lines.append(line.strip())
        elif line and not line.startswith("#"):
            if head:
                yield head, lines
            head, lines = line, []
    yield head, lines


@cache
def input_expressions() -> Mapping[str, Mapping[str, str]]:
    """For each operator with a recipe, by full name, the expression of each argument.

    Raises:
        ValueError: an operator has two recipes.
    """
    expressions: dict[str, dict[str, str]] = {}
    for head, lines in _blocks():
        arguments = dict(part.split(" = ", 1) for line in lines for part in line.split("; "))
        for name in head.split(", ") if arguments else ():
            if name in expressions:
                raise ValueError(f'"{name}" has two recipes')
            expressions[name] = arguments
    return expressions


@cache
def operators_with_like_inputs() -> Mapping[str, str]:
    """The operators that use the inputs of another one, by full names."""
    pairs = (head.split(_LIKE) for head, _ in _blocks() if _LIKE in head)
    return {name: equal_operator for names, equal_operator in pairs for name in names.split(", ")}


def is_single(operator: str) -> bool:
    """Whether an operator only supports single precision."""
    return operator in Book.by_hand("single-precision")


def recipe_points(spec: FunctionSpec, random: Any) -> list[SamplePoint]:
    """The points of an operator's recipe; none without a recipe.

    Args:
        spec: a function of the operator.
        random: a generator of random numbers.
    """
    recipe = input_expressions().get(spec.operator)
    if recipe is None:
        return []
    interpreter = _interpreter(random, is_single=is_single(spec.operator))
    values: dict[str, Any] = {
        argument.name: argument.default_value for argument in overload_of(spec.operator)._schema.arguments
    }
    for name, expression in recipe.items():
        values[name] = _as_list(interpreter.value(expression, values))
    return [SamplePoint([values.get(argument.name) for argument in spec.arguments], "recipe", True)]


def _as_list(value: Any) -> Any:
    return [_as_list(item) for item in value] if isinstance(value, tuple) else value


def _interpreter(random: Any, *, is_single: bool) -> Interpreter:
    """Return the interpreter of recipes: definitions over tensors, and functions that create tensors."""
    import torch

    from derivlint.functional.definitions import Tensors

    dtype = torch.float32 if is_single else torch.float64

    def numbers(*shape: int) -> Any:
        return (torch.rand(shape, generator=random, dtype=torch.float64) * 0.8 + 0.2).to(dtype)

    def tensor(items: Any) -> Any:
        made = torch.tensor(items)
        return made.to(dtype) if made.is_floating_point() else made

    def places(step: int, *shape: int) -> Any:
        return (torch.arange(math.prod(shape)) * step).flip(0).reshape(1, *shape)

    def coo(rows: int, columns: int) -> Any:
        indices = torch.tensor([[row, (row + more) % columns] for row in range(rows) for more in (0, 1)]).T
        return torch.sparse_coo_tensor(indices, numbers(2 * rows), (rows, columns)).coalesce()

    def twice(sparse: Any) -> Any:
        indices, values = sparse.indices(), sparse.values()
        return torch.sparse_coo_tensor(torch.cat([indices, indices], 1), torch.cat([values, values / 2]), sparse.shape)

    makers: dict[str, Callable[..., Any]] = {
        "random": numbers,
        "tensor": tensor,
        "places": places,
        "coo": coo,
        "csr": lambda rows, columns: coo(rows, columns).to_sparse_csr(),
        "twice": twice,
        "nested": lambda tensors: torch.nested.as_nested_tensor(list(tensors)),
    }
    constants = {
        "NAN": math.nan,
        "cpu": torch.device("cpu"),
        **{name: getattr(torch, name) for name in ("float32", "float64", "int32", "sparse_coo", "sparse_csr")},
    }

    class Inputs(Tensors):
        def __init__(self) -> None:
            super().__init__()
            self.constants = constants

        def primitive(self, name: str) -> Primitive | None:
            maker = makers.get(name)
            return super().primitive(name) if maker is None else Primitive(maker)

    return Interpreter(Inputs())


def recorded_points(spec: FunctionSpec, inputs: Inputs) -> list[SamplePoint]:
    """Return the recorded inputs of an operator, else converted inputs of its nearest sibling.

    Args:
        spec: a function of the operator.
        inputs: the recorded inputs.
    """
    if inputs.get(spec.operator):
        return [SamplePoint(values, is_meant=True) for values in inputs[spec.operator]]
    for name in filter(inputs.get, siblings(spec.operator, inputs)):
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
    """Reorder the arguments of one operator for another, by name, or return None if one is missing."""
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
    """Convert a value to an argument of a schema type, or return None."""
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
