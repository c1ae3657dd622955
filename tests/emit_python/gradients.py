"""Run in a process of its own: gradcheck of generated Functions on PyTorch's samples, as JSON on standard output.

Usage: ``python -m tests.emit_python.gradients MODULE.py OPERATORS.json [NAME...]``
"""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

from tests.emit_python.samples import Call, copied, recorded

PER_OPERATOR = 2
#: Seconds after which the checks of one operator are given up.
LONGEST = 120
#: Operators that read one triangle of what they take as a Hermitian matrix.
HERMITIAN = frozenset({"linalg_cholesky_ex", "cholesky", "_linalg_eigh"})


def needs_gradient(value: Any) -> bool:
    """Whether a value is a tensor that gradients flow into."""
    import torch

    return isinstance(value, torch.Tensor) and value.requires_grad


def load(path: Path) -> Any:
    """A generated module."""
    spec = importlib.util.spec_from_file_location("generated_functions", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def checked(function: Callable[..., Any], facts: dict[str, Any], call: Call) -> dict[str, str]:
    """What gradcheck and gradgradcheck say of one call: ``ok`` or the beginning of the message."""
    import torch
    from torch.autograd.gradcheck import gradcheck, gradgradcheck

    args, kwargs = copied(call[0]), call[1]
    names, wanted = facts["arguments"], set(facts["differentiable"])
    values = dict(zip(names, args, strict=False))
    leaves: list[Any] = []
    places: list[tuple[str, int | None]] = []
    for name, value in values.items():
        if name not in wanted:
            continue
        for index, item in enumerate(value) if isinstance(value, list | tuple) else [(None, value)]:
            if isinstance(item, torch.Tensor) and item.dtype == torch.float64:
                leaves.append(item.requires_grad_())
                places.append((name, index))
    if not leaves:
        return {"gradcheck": "no input"}

    #: which outputs are differentiable, known after the first call
    kept: list[int] = []

    def run(*given: Any) -> Any:
        filled = dict(values)
        for (name, index), tensor in zip(places, given, strict=True):
            value = tensor.clone() if facts["inplace"] and name == names[0] else tensor
            if facts["function"] in HERMITIAN and name == names[0]:
                value = (value + value.mH) / 2
            if index is None:
                filled[name] = value
            else:
                filled[name] = [*filled[name][:index], value, *filled[name][index + 1 :]]
        torch.manual_seed(0)
        out = function(*filled.values(), **kwargs)
        if not isinstance(out, tuple):
            return out if out.layout == torch.strided else out.to_dense()
        if not kept:
            kept.extend(index for index, each in enumerate(out) if needs_gradient(each))
        return tuple(out[index] for index in kept)

    found: dict[str, str] = {}
    try:
        out = run(*leaves)
        outs = out if isinstance(out, tuple) else (out,)
        if not any(map(needs_gradient, outs)):
            return {"gradcheck": "no gradient"}
        if not all(bool(each.isfinite().all()) for each in outs if each.layout == torch.strided):
            return {"gradcheck": "no finite result"}
    except Exception as error:
        return {"call": f"{type(error).__name__}: {error}"[:300]}
    options: dict[str, Any] = {"fast_mode": True, "nondet_tol": 1e-6}
    runs: tuple[tuple[str, Any, dict[str, Any]], ...] = (
        ("gradcheck", gradcheck, {"check_undefined_grad": True}),
        ("forward", gradcheck, {"check_backward_ad": False, "check_forward_ad": True, "check_undefined_grad": False}),
        ("gradgradcheck", gradgradcheck, {}),
    )
    for what, check, more in runs:
        if (what == "forward" and not facts["jvp"]) or (what == "gradgradcheck" and not facts["twice"]):
            continue
        try:
            check(run, tuple(leaves), **options, **more)
            found[what] = "ok"
        except Exception as error:
            found[what] = f"{type(error).__name__}: {error}"[:300]
    return found


def is_plain(value: Any) -> bool:
    """Whether a value can be written to a file."""
    try:
        pickle.dumps(value)
    except Exception:  # what cannot be pickled raises anything
        return False
    return True


def all_checked(function: Callable[..., Any], facts: dict[str, Any], calls: list[Call]) -> list[dict[str, str]]:
    """What :func:`checked` says of each call."""
    return [checked(function, facts, call) for call in calls]


def isolated(work: Callable[[], Any]) -> Any:
    """The result of something that may crash."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(LONGEST)
        try:
            with os.fdopen(writing, "w") as file:
                json.dump(work(), file)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        text = file.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else [{"gradcheck": "crashed"}]


def recorded_once(wanted: Collection[str]) -> tuple[dict[str, list[Call]], dict[str, list[Call]]]:
    """The real and the complex calls of operators; kept in the file that ``DERIVLINT_SAMPLES`` names, where it does."""
    kept = os.environ.get("DERIVLINT_SAMPLES")
    if kept and Path(kept).exists():
        real, imaginary = pickle.loads(Path(kept).read_bytes())
        return real, imaginary
    calls = [recorded(wanted, complex_numbers=complex_numbers) for complex_numbers in (False, True)]
    real, imaginary = ({name: list(filter(is_plain, found)) for name, found in each.items()} for each in calls)
    if kept:
        Path(kept).write_bytes(pickle.dumps((real, imaginary)))
    return real, imaginary


def main(module: str, operators: str, *names: str) -> None:
    """Print the results of all operators with samples."""
    import torch

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    warnings.simplefilter("ignore")
    generated = load(Path(module))
    facts = json.loads(Path(operators).read_text())
    chosen = names or tuple(facts)
    calls, _ = recorded_once(facts)
    results = {}
    for name in chosen:
        if name not in calls:
            continue
        function = getattr(generated, facts[name]["function"])
        found = calls[name][:PER_OPERATOR]
        results[name] = isolated(partial(all_checked, function, facts[name], found))
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
