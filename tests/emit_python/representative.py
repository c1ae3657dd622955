"""Run in a process of its own: gradcheck of some generated Functions, as JSON on standard output."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

from tests.emit_python.gradients import checked, load
from tests.emit_python.samples import Call


def calls() -> dict[str, Call]:
    """A call of each operator."""
    import torch

    torch.manual_seed(0)

    def some(*shape: int) -> Any:
        return torch.rand(*shape, dtype=torch.float64) + 0.2

    square = some(3, 3) + 2 * torch.eye(3, dtype=torch.float64)
    index = torch.tensor([[0, 1], [2, 0]])
    return {
        "add.Tensor": ((some(2, 3), some(3)), {"alpha": 2}),
        "mul.Tensor": ((some(2, 3), some(2, 1)), {}),
        "div.Tensor": ((some(2, 3), some(3)), {}),
        "pow.Tensor_Tensor": ((some(3), some(3)), {}),
        "sigmoid": ((some(4),), {}),
        "gelu": ((some(4),), {"approximate": "tanh"}),
        "addmm": ((some(2, 4), some(2, 3), some(3, 4)), {}),
        "bmm": ((some(2, 2, 3), some(2, 3, 2)), {}),
        "cat": (([some(2, 2), some(3, 2)], 0), {}),
        "stack": (([some(2), some(2)], 1), {}),
        "unbind.int": ((some(2, 3), 0), {}),
        "split.Tensor": ((some(5, 2), 2), {}),
        "t": ((some(2, 3),), {}),
        "transpose.int": ((some(2, 3), 0, 1), {}),
        "max.dim": ((some(3, 4), 1), {}),
        "gather": ((some(3, 2), 0, index), {}),
        "conj_physical_": ((some(3),), {}),
        "asinh": ((some(3),), {}),
        "sum.dim_IntList": ((some(3, 4), [1], True), {}),
        "var.correction": ((some(3, 4), [0]), {"correction": 1}),
        "prod.dim_int": ((some(3, 4), 1), {}),
        "native_layer_norm": ((some(3, 4), [4], some(4), some(4), 1e-5), {}),
        "native_batch_norm": ((some(4, 3), some(3), some(3), None, None, True, 0.1, 1e-5), {}),
        "convolution": ((some(1, 2, 5), some(3, 2, 3), some(3), [1], [0], [1], False, [0], 1), {}),
        "linalg_inv_ex": ((square,), {}),
        "_linalg_det": ((square,), {}),
        "linalg_cholesky_ex": ((square @ square.mT,), {}),
        "_linalg_eigh": ((square + square.mT,), {}),
        "linalg_qr": ((some(4, 3),), {}),
        "_linalg_svd": ((some(3, 2), False, True), {}),
        "_linalg_solve_ex": ((square, some(3, 2)), {}),
        "linalg_lu": ((square,), {}),
        "linalg_householder_product": ((some(4, 2), some(2)), {}),
        "mse_loss": ((some(3), some(3)), {}),
        "_softmax": ((some(3, 4), 1, False), {}),
    }


def main(module: str, operators: str) -> None:
    """Print the results."""
    warnings.simplefilter("ignore")
    generated = load(Path(module))
    facts = json.loads(Path(operators).read_text())
    found = {
        name: [checked(getattr(generated, facts[name]["function"]), facts[name], call)]
        for name, call in calls().items()
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
