"""Gradient checks on PyTorch's own samples, with an extension loaded or without; a script, run in its own process.

Arguments: the folder of the extension or ``-``, where it is built, the position of the first operator. A line of JSON
is printed for each operator: before it starts, and what came of it, so that a crash costs one operator.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from typing import Any

#: Samples with more elements take too long.
LARGEST = 200
SAMPLES = 2


def tensors(value: Any) -> list[Any]:
    """The tensors in an argument."""
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    return [item for part in value for item in tensors(part)] if isinstance(value, (list, tuple)) else []


def rebuilt(value: Any, given: Iterator[Any]) -> Any:
    """An argument with other tensors in the place of those that require a gradient."""
    import torch

    if isinstance(value, torch.Tensor):
        return next(given) if value.requires_grad else value
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(rebuilt(part, given) for part in value)
    return value


def check(operator: Any) -> tuple[str, list[str]]:
    """Whether the derivatives of an operator are right, and the classes of the nodes that Python does not know."""
    import torch

    checked = 0
    nodes: set[str] = set()
    for sample in operator.sample_inputs("cpu", torch.float64, requires_grad=True):
        flat = [item for part in (sample.input, *sample.args, *sample.kwargs.values()) for item in tensors(part)]
        inputs = tuple(item for item in flat if item.requires_grad)
        if not inputs or sum(item.numel() for item in inputs) > LARGEST or not all(item.numel() for item in inputs):
            continue

        def function(*given: Any, sample: Any = sample) -> tuple[Any, ...]:
            values = iter(given)
            first = rebuilt(sample.input, values)
            args = [rebuilt(part, values) for part in sample.args]
            keywords = {key: rebuilt(part, values) for key, part in sample.kwargs.items()}
            result = operator.op(first, *args, **keywords)
            if sample.output_process_fn_grad is not None:
                result = sample.output_process_fn_grad(result)
            return tuple(item for item in tensors(result) if item.is_floating_point() or item.is_complex())

        outputs = function(*inputs)
        nodes |= {item.grad_fn.name() for item in outputs if type(item.grad_fn).__name__ == "CppFunction"}
        if not any(item.requires_grad for item in outputs):
            continue
        options: dict[str, Any] = {"fast_mode": True, "nondet_tol": operator.gradcheck_nondet_tol or 0.0}
        torch.autograd.gradcheck(function, inputs, check_forward_ad=operator.supports_forward_ad, **options)
        if operator.supports_gradgrad:
            torch.autograd.gradgradcheck(function, inputs, **options)
        checked += 1
        if checked == SAMPLES:
            break
    return ("right" if checked else "no sample"), sorted(nodes)


def main(folder: str, build_folder: str, start: int) -> None:
    """Check all operators from a position on."""
    warnings.simplefilter("ignore")
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    if folder != "-":
        from derivlint.runtime import load

        load(folder, build_folder=build_folder)
    for position in range(start, len(op_db)):
        operator: Any = op_db[position]
        name = f"{operator.name} {operator.variant_test_name}".strip()
        print(json.dumps([position, name, "started", []]), flush=True)
        if not operator.supports_autograd or torch.float64 not in operator.supported_backward_dtypes("cpu"):
            continue
        try:
            result, nodes = check(operator)
        except Exception as error:
            result, nodes = f"wrong: {type(error).__name__}", []
        print(json.dumps([position, name, result, nodes]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
