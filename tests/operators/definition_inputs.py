"""Arguments for helpers, made from the types that their C++ declarations have."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

import torch

from derivlint.cpp.declarations.declaration import Function, Parameter
from derivlint.cpp.library import HELPERS, library_of
from derivlint.operators.history import bundled_versions, load_release

#: The texts that an argument may be.
TEXTS = {
    "approximate": ("none", "tanh"),
    "mode": ("reduced", "complete"),
    "rounding_mode": ("floor", "trunc"),
    "reduce": ("sum", "mean", "prod", "amax", "amin"),
}
#: Arguments that name several dimensions.
DIMS = ("dim", "dims", "opt_dims", "opt_dim", "dim_opt")


@cache
def releases() -> tuple[Mapping[str, Sequence[Function]], ...]:
    """The declarations of helpers in the default release and in the newest one."""
    loaded = (load_release(), load_release(bundled_versions()[-1]))
    return tuple(library_of(natives).declarations.functions[HELPERS] for natives in loaded)


def declared(name: str) -> tuple[Function, ...]:
    """The declarations of a helper in the default release, else in the newest one; none for another function."""
    for functions in releases():
        found = functions.get(name) or functions.get(f"{name}_symint")
        if found:
            return tuple(found)
    return ()


def argument(parameter: Parameter, shape: tuple[int, ...], random: Random, dtype: torch.dtype) -> Any:
    """A value for a parameter.

    Raises:
        LookupError: no value is made for its type.
    """
    name, kind = parameter.name, parameter.type.unreferenced.text
    generator = torch.Generator().manual_seed(random.randrange(1 << 30))

    def tensor() -> torch.Tensor:
        return torch.rand(shape, generator=generator, dtype=dtype) * 0.8 + 0.1

    if kind == "Tensor" and name in ("index", "indices"):
        return torch.zeros(shape, dtype=torch.int64)
    if kind in ("Tensor", "T", "optional<Tensor>"):
        if name in ("mask", "is_target"):
            return torch.rand(shape, generator=generator) > 0.5
        return tensor()
    if kind == "vector<Tensor>":
        return [tensor(), tensor()]
    if kind == "vector<ScalarType>":
        return [dtype] * 2
    if kind.startswith("optional<"):
        return (
            None
            if random.random() < 0.4
            else argument(Parameter(parameter.type.unreferenced.arguments[0], name), shape, random, dtype)
        )
    if name in DIMS and "ArrayRef" in kind:
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
        "int": lambda: random.randrange(len(shape) or 1),
        "SymInt": lambda: torch.Size(shape).numel() if name == "numel" else 0 if name == "start" else 1,
        "ScalarType": lambda: dtype,
        "string_view": lambda: random.choice(TEXTS[name]),
        "TensorOptions": lambda: {"dtype": dtype},
        "Layout": lambda: torch.strided,
    }
    return values[kind]()


def arguments(name: str, function: Function, shape: tuple[int, ...], random: Random, dtype: torch.dtype) -> list[Any]:
    """Values for the parameters of a helper, which belong together as those of its calls do.

    Raises:
        LookupError: no value is made for the type of one.
    """
    values = {each.name: argument(each, shape, random, dtype) for each in function.parameters}
    if name in CHOSEN:
        tensor, chosen = CHOSEN[name]
        values[chosen] = CHOOSE[name](values, values[tensor].real)
    if "reduce" in values:
        values["result"] = reduced(name, values, shape)
    if name == "scale_grad_by_count":
        values["mask"] = torch.ones_like(values["mask"])
    if name == "polar_backward":
        # what "polar" returns is complex
        values["result"] = torch.complex(values["result"].real, values["grad"].real)
    return list(values.values())


def reduced(name: str, values: dict[str, Any], shape: tuple[int, ...]) -> torch.Tensor:
    """The result of a reduction into the places of an index, which is made to fit.

    Raises:
        LookupError: PyTorch has no such reduction.
    """
    if values["grad" if "grad" in values else "self_t"].is_complex():
        raise LookupError("complex numbers have no order")
    made: torch.Tensor
    if name == "index_reduce_backward":
        if values["reduce"] == "sum":
            raise LookupError("index_add does that")
        values["index"] = torch.zeros(shape[values["dim"]], dtype=torch.int64)
        with warnings.catch_warnings():
            # "index_reduce() is in beta"
            warnings.simplefilter("ignore", UserWarning)
            made = values["self"].index_reduce(values["dim"], values["index"], values["source"], values["reduce"])
        return made
    suffix = "_p" if name.endswith("_jvp") else ""
    own, source = values[f"self{suffix}"], values[f"src{suffix}"]
    made = own.scatter_reduce(
        values["dim"], values["index"], source, values["reduce"], include_self=values["include_self"]
    )
    return made


#: Helpers that look for the elements of a tensor that another one has.
CHOSEN = {
    "amaxamin_jvp": ("x", "result"),
    "evenly_distribute_backward": ("input", "value"),
    "evenly_read_jvp": ("input", "value"),
}
CHOOSE: dict[str, Callable[[dict[str, Any], torch.Tensor], torch.Tensor]] = {
    "amaxamin_jvp": lambda values, tensor: tensor.amax(values["dim"], values["keepdim"]),
    "evenly_distribute_backward": lambda _, tensor: tensor.max(),
    "evenly_read_jvp": lambda _, tensor: tensor.max(),
}
