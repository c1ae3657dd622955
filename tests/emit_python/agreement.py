"""Run in a process of its own: generated Functions compared with PyTorch's own autograd, as JSON on standard output.

Usage: ``python -m tests.emit_python.agreement MODULE.py OPERATORS.json [NAME...]``

The gradients, the gradients of gradients and the tangents are equal, not only correct: also where an operator has a
kink, a zero or equal elements, and where the incoming gradients of some outputs are absent.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.emit_python.gradients import HERMITIAN, isolated, load, recorded_once
from tests.emit_python.samples import Call, copied

#: PyTorch's own formula for the tangent of logcumsumexp is as far off at large arguments.
TOLERANCE = 3e-6


class Subject:
    """One call of an operator, made through PyTorch or through the generated function."""

    def __init__(self, facts: dict[str, Any], call: Call) -> None:
        import torch

        args, self.kwargs = copied(call[0]), call[1]
        self.facts = facts
        self.values = dict(zip(facts["arguments"], args, strict=False))
        self.places: list[tuple[str, int | None]] = []
        self.leaves: list[Any] = []
        for name, value in self.values.items():
            for index, item in enumerate(value) if isinstance(value, list | tuple) else [(None, value)]:
                if isinstance(item, torch.Tensor) and (item.is_floating_point() or item.is_complex()):
                    self.places.append((name, index))
                    self.leaves.append(item)

    def run(self, function: Callable[..., Any], leaves: Sequence[Any]) -> list[Any]:
        """The outputs, in a list."""
        import torch

        filled = dict(self.values)
        for (name, index), tensor in zip(self.places, leaves, strict=True):
            value = tensor.clone() if self.facts["inplace"] and name == self.facts["arguments"][0] else tensor
            if self.facts["function"] in HERMITIAN and name == self.facts["arguments"][0]:
                value = (value + value.mH) / 2
            if index is None:
                filled[name] = value
            else:
                filled[name] = [*filled[name][:index], value, *filled[name][index + 1 :]]
        torch.manual_seed(0)
        out = function(*filled.values(), **self.kwargs)
        return list(out) if isinstance(out, list | tuple) else [out]

    def fresh(self) -> list[Any]:
        """Leaves that require gradients."""
        return [item.detach().clone().requires_grad_() for item in self.leaves]


def derivatives(subject: Subject, function: Callable[..., Any], chosen: int | None, order: int) -> list[Any]:
    """The gradients for random incoming gradients of one output, or of all, and those of their gradients."""
    import torch

    leaves = subject.fresh()
    outs = subject.run(function, leaves)
    generator = torch.Generator().manual_seed(1)
    kept = [(index, out) for index, out in enumerate(outs) if isinstance(out, torch.Tensor) and out.requires_grad]
    if chosen is not None:
        kept = kept[chosen : chosen + 1]
    if not kept:
        return []
    incoming = [
        torch.rand(out.shape, dtype=out.dtype, generator=generator).requires_grad_(order > 1) for _, out in kept
    ]
    found = torch.autograd.grad(
        [out for _, out in kept], leaves, incoming, create_graph=order > 1, allow_unused=True, materialize_grads=False
    )
    if order == 1:
        return list(found)
    again = [grad for grad in found if grad is not None and grad.requires_grad]
    if not again:
        return []
    second = [torch.rand(grad.shape, dtype=grad.dtype, generator=generator) for grad in again]
    return list(torch.autograd.grad(again, [*leaves, *incoming], second, allow_unused=True))


def tangents(subject: Subject, function: Callable[..., Any]) -> list[Any]:
    """The tangents of the outputs for random tangents of the arguments."""
    import torch
    from torch.autograd import forward_ad as untyped

    forward_ad: Any = untyped

    generator = torch.Generator().manual_seed(2)
    with forward_ad.dual_level():
        duals = [
            forward_ad.make_dual(item.detach().clone(), torch.rand(item.shape, dtype=item.dtype, generator=generator))
            for item in subject.leaves
        ]
        outs = subject.run(function, duals)
        return [forward_ad.unpack_dual(out).tangent if isinstance(out, torch.Tensor) else None for out in outs]


def difference(ours: list[Any], theirs: list[Any]) -> str:
    """What two lists of tensors differ in; an absent tensor is one of zeros; NaN of theirs is not a value."""
    import torch

    if not theirs:
        theirs = [None] * len(ours)
    if len(ours) != len(theirs):
        return f"{len(ours)} tensors instead of {len(theirs)}"
    for index, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        if mine is None and other is None:
            continue
        if mine is None or other is None:
            given = other if mine is None else mine
            if bool((given.detach().to_dense().abs() > TOLERANCE).any()):
                return f"number {index}: {'none' if mine is None else 'one'} instead of {other}"[:200]
            continue
        if mine.shape != other.shape or mine.dtype != other.dtype:
            return f"number {index}: {mine.dtype}{list(mine.shape)} instead of {other.dtype}{list(other.shape)}"
        mine, other = mine.detach().to_dense(), other.detach().to_dense()
        finite = other.isfinite()
        if not torch.allclose(mine[finite], other[finite], rtol=TOLERANCE, atol=TOLERANCE):
            return f"number {index}: {mine.flatten()[:6].tolist()} instead of {other.flatten()[:6].tolist()}"
    return "ok"


def compared(work: Callable[[Callable[..., Any]], list[Any]], ours: Any, theirs: Any) -> str:
    """``ok``, ``both refuse``, or the difference."""
    expected: list[Any] | str
    try:
        expected = work(theirs)
    except Exception as error:
        expected = f"{type(error).__name__}: {error}"
    try:
        found = work(ours)
    except Exception as error:
        if isinstance(expected, str):
            return "both refuse"
        return f"{type(error).__name__}: {error}"[:300]
    if isinstance(expected, str):
        return f"only PyTorch refuses: {expected[:200]}"
    return difference(found, expected)


def agreement(function: Callable[..., Any], own: Callable[..., Any], facts: dict[str, Any], call: Call) -> Any:
    """The comparison of one call."""
    subject = Subject(facts, call)
    if not subject.leaves:
        return {"gradient": "no input"}
    found = {"gradient": compared(partial(derivatives_of, subject, None, 1), function, own)}
    outputs = facts["outputs"]
    if outputs > 1:
        for index in range(outputs):
            work = partial(derivatives_of, subject, index, 1)
            found[f"gradient of output {index}"] = compared(work, function, own)
    found["second gradient"] = compared(partial(derivatives_of, subject, None, 2), function, own)
    if facts["jvp"]:
        found["tangent"] = compared(partial(tangents, subject), function, own)
    return found


def derivatives_of(subject: Subject, chosen: int | None, order: int, function: Callable[..., Any]) -> list[Any]:
    """:func:`derivatives`, with the function last."""
    return derivatives(subject, function, chosen, order)


def main(module: str, operators: str, *names: str) -> None:
    """Print the results of all operators with samples."""
    import torch

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    warnings.simplefilter("ignore")
    generated = load(Path(module))
    facts = json.loads(Path(operators).read_text())
    results: dict[str, Any] = {}
    for calls in recorded_once(facts):
        for name in names or facts:
            if name not in calls:
                continue
            base, _, overload = name.partition(".")
            own = getattr(getattr(torch.ops.aten, base), overload or "default")
            function = getattr(generated, facts[name]["function"])
            work = partial(all_of, function, own, facts[name], calls[name])
            results.setdefault(name, []).extend(isolated(work))
    json.dump(results, sys.stdout)


def all_of(function: Any, own: Any, facts: dict[str, Any], calls: list[Call]) -> list[Any]:
    """The comparison of each call."""
    return [agreement(function, own, facts, call) for call in calls]


if __name__ == "__main__":
    main(*sys.argv[1:])
