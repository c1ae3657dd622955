"""Run in a process of its own: generated Functions against PyTorch's autograd on our own calls, as JSON.

Usage: ``python -m tests.emit_python.helpers_checked MODULE.py OPERATORS.json``
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

from tests.emit_python.agreement import agreement
from tests.emit_python.gradients import load
from tests.emit_python.helper_calls import helper_calls


def main(module: str, operators: str) -> None:
    """Print the results."""
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    generated = load(Path(module))
    facts = json.loads(Path(operators).read_text())
    found: dict[str, list[Any]] = {}
    for name, call in helper_calls():
        base, _, overload = name.partition(".")
        own = getattr(getattr(torch.ops.aten, base), overload or "default")
        found.setdefault(name, []).append(
            agreement(getattr(generated, facts[name]["function"]), own, facts[name], call)
        )
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
