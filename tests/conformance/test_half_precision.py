"""What the rules in preview say of PyTorch's own file about half precision is what PyTorch gives."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from derivlint.analysis.half_precision.judgement import Lost, losses_of
from derivlint.analysis.half_precision.values import LossCause
from derivlint.lint.engine.run import run_rules
from derivlint.model import build_model
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

# PyTorch warns of itself when it takes tangents
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
#: Untyped, as is "Function.apply".
forward_ad: Any = torch.autograd.forward_ad

#: The findings, in file order, each run below.
FOUND = [
    ("intermediate-overflow", "addcdiv", "tensor2"),
    ("intermediate-overflow", "acosh", "self"),
    ("intermediate-overflow", "asinh", "self"),
    ("intermediate-overflow", "atan2", "self, other"),
    ("intermediate-overflow", "atan2", "result"),
    ("derivative-from-rounded-result", "special_erfcx", "self"),
    ("derivative-from-rounded-result", "expm1", "self"),
    ("cancellation", "igamma", "other"),
    ("intermediate-overflow", "igamma", "other"),
    ("cancellation", "igammac", "other"),
    ("intermediate-overflow", "igammac", "other"),
    ("multiplied-mask", "maximum", "result"),
    ("multiplied-mask", "fmax", "result"),
    ("multiplied-mask", "minimum", "result"),
    ("multiplied-mask", "fmin", "result"),
    ("cancellation", "pow.Tensor_Tensor", "self"),
    ("intermediate-overflow", "pow.Tensor_Tensor", "self"),
    ("intermediate-overflow", "pow.Tensor_Tensor", "result"),
    ("derivative-from-rounded-result", "special_log_ndtr", "self"),
    ("derivative-from-rounded-result", "sigmoid", "self"),
    ("derivative-from-rounded-result", "tanh", "self"),
    ("derivative-from-rounded-result", "elu_", "self"),
    ("derivative-from-rounded-result", "elu_", "result"),
    ("derivative-from-rounded-result", "celu_", "self"),
    ("derivative-from-rounded-result", "celu_", "result"),
    ("multiplied-mask", "softplus_backward", "self"),
    ("multiplied-mask", "softplus_backward", "result"),
]
#: The operators as functions of the tensors that findings name.
FUNCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "acosh": torch.acosh,
    "addcdiv": torch.addcdiv,
    "asinh": torch.asinh,
    "atan2": torch.atan2,
    "celu_": lambda x: torch.celu_(x * 1),
    "elu_": lambda x: torch.nn.functional.elu_(x * 1),
    "expm1": torch.expm1,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "igamma": lambda a, x: torch.igamma(a.detach(), x),
    "igammac": lambda a, x: torch.igammac(a.detach(), x),
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "pow.Tensor_Tensor": torch.pow,
    "sigmoid": torch.sigmoid,
    "softplus_backward": lambda grad, x: torch.ops.aten.softplus_backward(grad, x, 1.0, 0.4),
    "tanh": torch.tanh,
}
TENSORS = ("self", "other", "exponent", "grad_output", "tensor1", "tensor2")
#: PyTorch has no kernels of half precision for these; with more digits they lose at a more extreme input.
IN_SINGLE = {"special_erfcx": (torch.special.erfcx, 3000.0), "special_log_ndtr": (torch.special.log_ndtr, -1000.0)}


def given(function: Callable[..., torch.Tensor], lost: Lost, dtype: torch.dtype) -> float:
    """What PyTorch gives for the gradient or tangent of a finding."""
    at = dict(lost.at)
    names = [name for name in at if f"{name}_t" in at or name in TENSORS]
    tensors = {name: torch.tensor(at[name], dtype=torch.float16).to(dtype) for name in names}
    if lost.formula.is_backward:
        for tensor in tensors.values():
            tensor.requires_grad_()
        result = function(*tensors.values())
        (gradient,) = torch.autograd.grad(result, tensors[lost.name], torch.tensor(at["grad"], dtype=dtype))
        return float(gradient)
    with forward_ad.dual_level():
        duals = [
            forward_ad.make_dual(tensor, torch.tensor(at[f"{name}_t"], dtype=dtype)) if f"{name}_t" in at else tensor
            for name, tensor in tensors.items()
        ]
        return float(forward_ad.unpack_dual(function(*duals)).tangent)


def test_what_is_lost_in_half_precision_is_lost_in_pytorch(
    derivatives_path: Path, bundled_natives: NativeFunctions
) -> None:
    model = build_model(SourceFile.read(derivatives_path), bundled_natives)
    preview = {rule.name for rule in load_rules() if rule.meta.status == "preview" and rule.meta.group == "precision"}
    rules = [rule for rule in load_rules() if rule.name in preview]
    found = [(item.rule, item.entry, item.message) for item in run_rules(model, rules).diagnostics]
    losses = [(entry.operator or "", item) for entry in model.entries for item in losses_of(model, entry)]
    assert len(found) == len(losses)
    assert sorted((rule, entry) for rule, entry, _ in found) == sorted((rule, entry) for rule, entry, _ in FOUND)
    assert [(entry, item.formula.written.key_text) for entry, item in losses] == [
        (entry, key) for _, entry, key in FOUND
    ]
    for entry, item in losses:
        if entry in IN_SINGLE:
            continue
        half = given(FUNCTIONS[entry], item, torch.float16)
        exact = given(FUNCTIONS[entry], item, torch.float64)
        assert half == pytest.approx(item.actual, rel=2e-3, nan_ok=True), entry
        if item.loss.cause is not LossCause.MASK:
            assert exact == pytest.approx(item.expected, rel=1e-3), entry


@pytest.mark.parametrize("name", IN_SINGLE)
def test_what_pytorch_has_no_half_precision_for_is_lost_in_single_precision(name: str) -> None:
    function, value = IN_SINGLE[name]
    single, double = (torch.tensor(value, dtype=dtype, requires_grad=True) for dtype in (torch.float32, torch.float64))
    found, expected = (float(torch.autograd.grad(function(x), x)[0]) for x in (single, double))
    assert abs(found - expected) > 0.04 * abs(expected)


def test_the_page_of_defects_names_the_operators_that_it_shows() -> None:
    page = (Path(__file__).parents[2] / "docs" / "pytorch-defects.md").read_text(encoding="utf-8")
    section = page.partition("## Gradients that are lost in half precision\n")[2].partition("\n## ")[0]
    decided = {"tanh", "sigmoid", "elu_", "celu_"}
    shown = {entry.partition(".")[0] for rule, entry, _ in FOUND if rule != "multiplied-mask"}
    assert {name for name in shown - decided if not re.search(rf"`{name}`", section)} == set()
