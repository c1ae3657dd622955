"""Whether two formulas give the same at all inputs, in a process of its own: ``python -m tests.verify.values FILE``."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

from derivlint.verify.code.functions import BACKWARD, FunctionSpec
from derivlint.verify.comparison.checked_point import CheckedPoint
from derivlint.verify.comparison.failures import Tally
from derivlint.verify.comparison.numeric import OperatorAtPoint
from derivlint.verify.inputs.points import generator
from derivlint.verify.inputs.stored import StoredInputs
from derivlint.verify.processes.work import points_of


def main() -> None:
    """Print the numbers of the pairs that differ."""
    import torch

    content = json.loads(Path(sys.argv[1]).read_text())
    task = content["task"]
    torch.set_num_threads(1)
    load: Any = torch.ops.load_library
    load(task["libraries"][0])
    inputs = {dtype: StoredInputs(Path(path)) for dtype, path in task["samples"].items()}
    found = []
    for index, one, other in content["pairs"]:
        pid = os.fork()
        if not pid:
            status = 2
            try:
                status = differ(FunctionSpec.from_json(one), FunctionSpec.from_json(other), inputs, task)
            finally:
                os._exit(status)
        _, status = os.waitpid(pid, 0)
        if status:
            found.append(index)
    print(json.dumps(found))


def differ(one: FunctionSpec, other: FunctionSpec, inputs: Any, task: dict[str, Any]) -> int:
    """1 where two formulas differ at some input, else 0."""
    import torch

    namespace = torch.ops.derivlint_verify
    for dtype, recorded in inputs.items():
        points = points_of(one, recorded, dtype, task)
        for number, point in enumerate(points):
            subject = OperatorAtPoint(one, point, namespace)
            if one.kind == BACKWARD and not subject.variables(one.targets):
                # a node does not evaluate it
                continue
            try:
                with torch.no_grad():
                    called = subject.call(subject.point.values)
                names = one.targets if one.kind == BACKWARD else one.tangents
                at = CheckedPoint(subject, called, names, partial(generator, 0, number), Tally(), lambda number: None)
                first = values(at, one)
            except Exception:
                # no input of the formula as it was
                continue
            try:
                second = values(at, other)
            except Exception:
                return 1
            if not same(first, second):
                return 1
    return 0


def values(at: CheckedPoint, of: FunctionSpec) -> list[Any]:
    """What a formula gives at a point, as the engine makes it fit."""
    if of.kind != BACKWARD:
        return at.tangents(of, at.variables)
    found = []
    for variable, gradient in zip(at.subject.targets(of), at.gradients(of, at.cotangents), strict=True):
        if variable in at.directions:
            found.append(at.fitted(variable, gradient))
    return found


def same(first: list[Any], second: list[Any]) -> bool:
    """Whether all tensors are the same, up to rounding."""
    import torch

    if len(first) != len(second):
        return False
    for one, other in zip(first, second, strict=True):
        if one is None or other is None:
            present = one if one is not None else other
            if present is not None and bool(present.detach().abs().sum() > 0):
                return False
        elif one.shape != other.shape or not torch.allclose(
            one.detach(), other.detach(), rtol=1e-6, atol=1e-9, equal_nan=True
        ):
            return False
    return True


if __name__ == "__main__":
    main()
