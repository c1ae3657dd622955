"""Arguments that PyTorch's own samples reach operators with, below autograd."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from typing import Any

Call = tuple[tuple[Any, ...], dict[str, Any]]


def copied(value: Any) -> Any:
    """A value with tensors that no one else has."""
    import torch

    if isinstance(value, torch.Tensor):
        try:
            return value.detach().clone()
        except (RuntimeError, NotImplementedError):
            return value.detach()
    if isinstance(value, list | tuple):
        return type(value)(copied(item) for item in value)
    return value


def described(value: Any) -> Any:
    """What tells one call from another: shapes, and the values of what is not a tensor."""
    import torch

    if isinstance(value, torch.Tensor):
        return (tuple(value.shape), str(value.dtype), str(value.layout))
    if isinstance(value, list | tuple):
        return tuple(described(item) for item in value)
    return repr(value)


def recorded(wanted: Collection[str], each: int = 4, *, complex_numbers: bool = False) -> dict[str, list[Call]]:
    """The calls of the wanted operators that the samples of PyTorch make, forward and backward.

    Args:
        wanted: names of operators, ``add.Tensor``.
        each: how many calls are kept of one operator.
        complex_numbers: whether the samples are complex instead of real.
    """
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.utils._python_dispatch import TorchDispatchMode

    calls: dict[str, list[Call]] = {}
    seen: dict[str, set[Any]] = {}

    class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch gives it no types
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            schema = func._schema
            name = schema.name.partition("::")[2] + (f".{schema.overload_name}" if schema.overload_name else "")
            if name in wanted and schema.name.startswith("aten::") and len(calls.get(name, ())) < each:
                key = described((*args, *sorted((kwargs or {}).items())))
                if key not in seen.setdefault(name, set()) and is_useful(schema, args):
                    seen[name].add(key)
                    calls.setdefault(name, []).append((copied(tuple(args)), dict(kwargs or {})))
            return func(*args, **(kwargs or {}))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for operator in op_db:
            for sample in samples(operator, complex_numbers):
                with Recorder():  # type: ignore[no-untyped-call]  # torch gives it no types
                    run(operator, sample)
    return calls


def is_useful(schema: Any, args: Any) -> bool:
    """Whether there are tensors, with something in them, and not too much; none of them is a mere number."""
    import torch

    for value, argument in zip(args, schema.arguments, strict=False):
        if str(argument.type) == "Tensor" and not isinstance(value, torch.Tensor):
            return False

    flat = [item for value in args for item in (value if isinstance(value, list | tuple) else [value])]
    tensors = [item for item in flat if isinstance(item, torch.Tensor)]
    floating = [item for item in tensors if item.is_floating_point() or item.is_complex()]
    return bool(floating) and all(0 < item.numel() <= 2000 for item in tensors)


def samples(operator: Any, complex_numbers: bool) -> Iterator[Any]:
    """The first samples of an operator over real or complex numbers."""
    import torch

    torch.manual_seed(0)
    dtype = torch.complex128 if complex_numbers else torch.float64
    try:
        if not operator.supports_dtype(dtype, "cpu"):
            return
        found = operator.sample_inputs("cpu", dtype, requires_grad=operator.supports_autograd)
        for _, sample in zip(range(4), found, strict=False):
            yield sample
    except Exception:  # an operator without samples for this type
        return


def run(operator: Any, sample: Any) -> None:
    """One sample forward, backward and twice backward, as far as that goes."""
    import torch

    try:
        out = operator(sample.input, *sample.args, **sample.kwargs)
        leaves = [item for item in leaf_tensors((sample.input, sample.args, sample.kwargs)) if item.requires_grad]
        outs = [item for item in leaf_tensors(out) if item.requires_grad]
        if not leaves or not outs:
            return
        total: Any = sum(
            ((item * torch.rand_like(item)).sum() if not item.is_complex() else item.abs().sum()) for item in outs
        )
        grads = torch.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
        second = [grad for grad in grads if grad is not None and grad.requires_grad]
        if second:
            again: Any = sum((grad * torch.rand_like(grad)).sum() for grad in second)
            torch.autograd.grad(again, leaves, allow_unused=True)
    except Exception:  # samples that PyTorch itself cannot run
        return


def leaf_tensors(value: Any) -> Iterator[Any]:
    """The tensors in a value."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from leaf_tensors(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaf_tensors(item)
