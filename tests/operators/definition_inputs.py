"""Arguments for helpers, made from the types that their C++ declarations have."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch

from derivlint.cpp.declaration import Function, Parameter
from derivlint.cpp.library import HELPERS
from derivlint.cpp.load import library_of
from derivlint.schema import load_index

#: The texts that an argument may be.
TEXTS = {"approximate": ("none", "tanh"), "rounding_mode": ("floor", "trunc")}
#: Arguments that name several dimensions.
DIMS = ("dim", "dims", "opt_dims", "opt_dim", "dim_opt")


def declared(name: str) -> tuple[Function, ...]:
    """The declarations of a helper; of none where it is another kind of function."""
    return tuple(library_of(load_index()).declarations.functions[HELPERS].get(name, ()))


def argument(parameter: Parameter, shape: tuple[int, ...], random: Random, dtype: torch.dtype) -> Any:
    """A value for a parameter.

    Raises:
        LookupError: no value is made for its type.
    """
    name, kind = parameter.name, parameter.type.removeprefix("const ").rstrip("&")
    generator = torch.Generator().manual_seed(random.randrange(1 << 30))

    def tensor() -> torch.Tensor:
        return torch.rand(shape, generator=generator, dtype=dtype) * 0.8 + 0.1

    if kind in ("Tensor", "T", "optional<Tensor>"):
        if name in ("mask", "is_target"):
            return torch.rand(shape, generator=generator) > 0.5
        return tensor()
    if kind.startswith("optional<"):
        return None if random.random() < 0.4 else argument(Parameter(kind[9:-1], name), shape, random, dtype)
    if name in DIMS and kind != "int64_t":
        return random.sample(range(len(shape)), random.randint(1, len(shape))) if shape else []
    if kind == "ArrayRef<SymInt>":
        return list(shape)
    if kind == "array<bool,2>":
        return [True, True]
    values: dict[str, Callable[[], Any]] = {
        "Scalar": lambda: random.choice((0.5, 1.5, 2.0, 1.0)),
        "double": lambda: random.choice((0.25, 1.5)),
        "bool": lambda: random.random() < 0.5,
        "int64_t": lambda: random.randint(0, 2) if name == "reduction" else random.randrange(len(shape) or 1),
        "int": lambda: 1,
        "SymInt": lambda: torch.Size(shape).numel() if name == "numel" else 1,
        "ScalarType": lambda: dtype,
        "string_view": lambda: random.choice(TEXTS[name]),
        "TensorOptions": lambda: {"dtype": dtype},
        "Layout": lambda: torch.strided,
    }
    return values[kind]()
