"""A script that shows a wrong derivative with PyTorch's public API only: gradcheck at the input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from derivlint.source import open_input
from derivlint.verify.code.functions import BACKWARD, FORWARD, FunctionSpec
from derivlint.verify.comparison.failures import INCONSISTENT, MASK_IGNORED, OTHER_CONVENTION, WRONG_SECOND
from derivlint.verify.comparison.numeric import tensors
from derivlint.verify.inputs.layouts import is_plain
from derivlint.verify.inputs.points import SamplePoint, is_inexact, overload_of

#: The maximum number of elements of an input in a script.
MAX_ELEMENTS = 64

#: A marker in every gradcheck script.
_MARK = "Shown by PyTorch's own gradcheck at the input at which it was found."
#: A marker in every script that runs a formula of a file (:mod:`derivlint.verify.replay`).
REPLAYED = "Found by derivlint verify; runs the formula of a derivatives file at the input at which it was found."
_HEAD = """\
# {operator}, {key}: {rule}. Shown by PyTorch's own gradcheck at the input at which it was found.
# This runs the formulas that the installed PyTorch was built with. It raises an error, with both numbers, where the
# formula in the file is one of them. A formula that was edited is seen only after PyTorch was built with it.

import torch

"""
_SEVERAL = """\
    return tuple(item for item in result if torch.is_tensor(item) and (item.is_floating_point() or item.is_complex()))
"""
#: The tangents of a forward formula for tangents of ones, as a function of the inputs.
_TANGENTS = """\

def tangents(*inputs):
    with torch.autograd.forward_ad.dual_level():
        duals = [torch.autograd.forward_ad.make_dual(item, torch.ones_like(item)) for item in inputs]
        results = f(*duals)
        results = results if isinstance(results, tuple) else (results,)
        found = [torch.autograd.forward_ad.unpack_dual(item).tangent for item in results]
        return tuple(item for item in found if item is not None)
"""
_ONLY_FORWARD = ", check_forward_ad=True, check_backward_ad=False, check_undefined_grad=False"
#: Steps and tolerances for single precision.
_COARSE = ", eps=3e-2, atol=2e-2, rtol=2e-2"


def reproduction(spec: FunctionSpec, point: SamplePoint, rule: str, target: str) -> str:
    """Generate a script that reproduces a finding; empty if the input is large, not dense, or modified in place.

    Args:
        spec: the function whose formula is wrong.
        point: the input.
        rule: the violated rule.
        target: the argument or output concerned.
    """
    if rule == OTHER_CONVENTION or point.size > MAX_ELEMENTS or any(argument.is_write for argument in spec.arguments):
        return ""
    if not all(is_plain(tensor) for value in point.values for tensor in tensors(value) if tensor is not None):
        return ""
    needed = _needed(spec, rule, target)
    script = _Script()
    arguments = [
        (argument.name, script.written(argument.name, value, argument.name in needed))
        for argument, value in zip(spec.arguments, point.values, strict=True)
    ]
    script.lines += ["", *_function(spec, script.names, arguments)]
    names = ", ".join(script.names)
    check, function, more = _check(spec, rule)
    if function == "tangents":
        script.lines += _TANGENTS.splitlines()
    more += _COARSE if script.is_single else ""
    script.lines += ["", f"torch.autograd.{check}({function}, ({names},){more})"]
    return _HEAD.format(operator=spec.operator, key=spec.key, rule=rule) + "\n".join(script.lines) + "\n"


def written_arguments(spec: FunctionSpec, point: SamplePoint) -> str:
    """The lines that create the list ``arguments``; empty if the input is large or not dense.

    Args:
        spec: the function whose formula is wrong.
        point: the input.
    """
    items = [tensor for value in point.values for tensor in tensors(value) if tensor is not None]
    if point.size > 10 * MAX_ELEMENTS or not all(map(is_plain, items)):
        return ""
    script = _Script()
    names = [
        script.written(argument.name, value, False)
        for argument, value in zip(spec.arguments, point.values, strict=True)
    ]
    lines = [line for line in script.lines if not line.startswith("from math")]
    return "\n".join([*lines, f"arguments = [{', '.join(names)}]"])


def _needed(spec: FunctionSpec, rule: str, target: str) -> tuple[str, ...]:
    """Return the arguments that require a gradient or tangent."""
    if rule == MASK_IGNORED:
        # visible if nothing else is needed
        return (target,)
    if spec.kind == FORWARD:
        return spec.inputs
    return spec.with_gradients if rule == WRONG_SECOND else spec.targets


def _function(spec: FunctionSpec, names: list[str], arguments: list[tuple[str, str]]) -> list[str]:
    """The operator as a function of its differentiable inputs."""
    base, _, overload = spec.operator.partition(".")
    keywords = {argument.name for argument in overload_of(spec.operator)._schema.arguments if argument.kwarg_only}
    passed = ", ".join(f"{name}={text}" if name in keywords else text for name, text in arguments)
    call = f"torch.ops.aten.{base}.{overload or 'default'}({passed})"
    lines = [f"def f({', '.join(names)}):", "    torch.manual_seed(0)"]
    if len(spec.returns) > 1:
        return [*lines, f"    result = {call}", *_SEVERAL.splitlines()]
    return [*lines, f"    return {call}"]


def _check(spec: FunctionSpec, rule: str) -> tuple[str, str, str]:
    """Return PyTorch's check function, the checked function, and further arguments."""
    if rule == WRONG_SECOND:
        return ("gradgradcheck", "f", "") if spec.kind == BACKWARD else ("gradcheck", "tangents", "")
    if rule == INCONSISTENT:
        return "gradcheck", "f", ", check_forward_ad=True"
    return "gradcheck", "f", _ONLY_FORWARD if spec.kind == FORWARD else ""


def is_script(path: Path) -> bool:
    """Whether a file is a script of an earlier run.

    Raises:
        OSError: the file cannot be read.
    """
    with open_input(path) as file:
        head = file.read(4096)
    return _MARK.encode() in head or REPLAYED.encode() in head


class _Script:
    """The lines of a script that create the inputs.

    Attributes:
        lines: the lines.
        names: the variables that require a gradient.
        is_single: whether one of them has single precision.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: list[str] = []
        self.is_single = False

    def written(self, name: str, value: Any, is_needed: bool) -> str:
        """The expression for an argument; a tensor is created on a separate line."""
        import torch

        if isinstance(value, torch.Tensor):
            return self._tensor(f"{name}_" if name in ("from", "lambda", "f") else name, value, is_needed)
        if isinstance(value, list):
            return f"[{', '.join(self.written(f'{name}{i}', item, is_needed) for i, item in enumerate(value))}]"
        if isinstance(value, torch.Generator):
            return "None"
        return repr(str(value)) if isinstance(value, torch.device) else repr(value)

    def _tensor(self, variable: str, value: Any, is_needed: bool) -> str:
        import torch

        numbers = value.detach()
        if (value.is_conj() or value.is_neg()) and not is_needed:
            inner = self._tensor(variable, value.conj() if value.is_conj() else torch._neg_view(value), is_needed)
            self.lines.append(
                f"{variable} = {inner}.conj()" if value.is_conj() else f"{variable} = torch._neg_view({inner})"
            )
            return variable
        text = f"torch.tensor({numbers.tolist()!r}, dtype={value.dtype})"
        if is_inexact(value) and not numbers.isfinite().all() and self.lines[:1] != ["from math import inf, nan"]:
            self.lines.insert(0, "from math import inf, nan")
        if not value.numel():
            text += f".reshape({list(value.shape)})"
        elif not value.is_contiguous() and 0 not in value.stride():
            text = f"torch.empty_strided({tuple(value.shape)}, {value.stride()}, dtype={value.dtype}).copy_({text})"
        if is_needed and is_inexact(value):
            text += ".requires_grad_()"
            self.names.append(variable)
            self.is_single = self.is_single or value.dtype == torch.float32
        self.lines.append(f"{variable} = {text}")
        return variable
