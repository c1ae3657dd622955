"""Formulas in half precision: what they give there is what PyTorch gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from derivlint.analysis.formula_analyses import analyses_of
from derivlint.analysis.half_precision.evaluate import compile_in_half, rounding_implementation_named
from derivlint.analysis.half_precision.judgement import losses_of
from derivlint.analysis.half_precision.values import Half, LossCause, half, is_lost, operation
from derivlint.analysis.scalar_evaluation.values import UnknownValueError
from derivlint.model import Model, build_model
from derivlint.operators import Book
from derivlint.operators.reference.definitions import DefinitionKind, definitions
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

NUMBERS = (0.1, -0.3, 0.75, 1.5, 2.0, -4.0, 9.3, 250.0, -3000.0)
#: Operators with the helpers that are known to round as they are defined: names of entries, and PyTorch's functions.
RUN: dict[str, Callable[..., Any]] = {
    "atan2": torch.atan2, "copysign.Tensor": torch.copysign, "div.Tensor": torch.div, "log1p": torch.log1p,
    "mul.Tensor": torch.mul, "pow.Tensor_Tensor": torch.pow, "silu": torch.nn.functional.silu, "acosh": torch.acosh,
    "asinh": torch.asinh, "atan": torch.atan, "expm1": torch.expm1, "hypot": torch.hypot, "logaddexp": torch.logaddexp,
    "reciprocal": torch.reciprocal, "rsqrt": torch.rsqrt, "sqrt": torch.sqrt, "xlogy.Tensor": torch.xlogy,
}  # fmt: skip


@pytest.fixture(scope="module")
def installed(derivatives_path: Path, bundled_natives: NativeFunctions) -> Model:
    return build_model(SourceFile.read(derivatives_path), bundled_natives)


def judged(yaml: str, natives: NativeFunctions) -> list[tuple[str, LossCause, str, float, float]]:
    """What is lost of the formulas of an entry: where, how, and what is found and should be."""
    model = build_model(SourceFile("derivatives.yaml", yaml), natives)
    return [
        (item.name, item.loss.cause, item.formula.source_of(item.loss.node), item.actual, round(item.expected, 6))
        for item in losses_of(model, model.entries[0])
        if item.loss.node is not None
    ]


def test_numbers_round_as_those_of_pytorch() -> None:
    for value in (1.0, 1 / 3, 65504.0, 65519.9, 65520.0, -1e9, 6e-8, 2e-8, 1e-5, math.inf):
        assert half(value) == torch.tensor(value, dtype=torch.float64).half().item()
    assert math.isnan(half(math.nan))


def test_an_operation_rounds_its_result_and_remembers_the_exact_one() -> None:
    third = operation(lambda one, other: one / other)(Half.of(1.0), 3)
    assert (float(third), third.exact, third.loss) == (half(1 / 3), 1 / 3, None)
    overflowed = operation(lambda one, other: one * other)(third, 1e6)
    assert (float(overflowed), overflowed.exact, overflowed.loss.cause) == (math.inf, 1 / 3 * 1e6, LossCause.RANGE)
    # what is infinite harmlessly is near zero again
    assert operation(lambda one: 1 / one)(overflowed).loss is None or not is_lost(
        operation(lambda x: 1 / x)(overflowed)
    )


def test_numbers_below_those_with_all_digits_are_not_lost() -> None:
    assert not is_lost(Half.of(0.0, 1e-5))
    assert is_lost(Half.of(0.0, 1e-3))
    assert not is_lost(Half.of(math.inf, 1e9))
    assert is_lost(Half.of(math.nan, 1.0))


@pytest.mark.parametrize("name", RUN)
def test_backward_formulas_round_as_pytorch_rounds(name: str, installed: Model) -> None:
    """To the last bit but one: a product of three may be made in another order."""
    entry = next(each for each in installed.entries if each.operator == name)
    function = RUN[name]
    for formula in analyses_of(installed).formulas(entry):
        evaluate = compile_in_half(formula)
        if not formula.is_backward or evaluate is None:
            continue
        assert entry.function is not None
        names = [each.name for each in entry.function.arguments]
        for numbers in product(NUMBERS, repeat=len(names)):
            tensors = [torch.tensor(each, dtype=torch.float16).requires_grad_() for each in numbers]
            result = function(*tensors)
            given = dict(zip(names, [Half.of(half(each)) for each in numbers], strict=True))
            variables = {**given, "grad": Half.of(1.0), "result": Half.of(result.item())}
            try:
                found = evaluate({**variables, "grad_input_mask": (True, True), "GradMode::is_enabled()": True})
            except UnknownValueError:
                # outside of the operator's domain
                continue
            keys = [each.text for each in formula.written.names]
            wanted = [tensors[names.index(key)] for key in keys]
            expected = torch.autograd.grad(result, wanted, create_graph=True)
            for one, other in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
                assert float(one) == pytest.approx(other.item(), rel=2e-3, abs=1e-6, nan_ok=True), (keys, numbers)


def test_helpers_that_round_as_defined_are_defined() -> None:
    for name in Book.by_hand("rounds-as-defined"):
        assert definitions()[name].kind is DefinitionKind.HELPER
        assert rounding_implementation_named(name) is not None


def test_what_is_lost_is_named_with_its_cause(bundled_natives: NativeFunctions) -> None:
    tanh = "- name: tanh(Tensor self) -> Tensor\n  self: grad * (1 - result * result).conj()\n"
    assert judged(tanh, bundled_natives) == [
        ("self", LossCause.ROUNDED_OUTPUT, "1 - result * result", 2.0**-10, 0.001341),
    ]
    asinh = "- name: asinh(Tensor self) -> Tensor\n  self: grad * (self * self + 1).rsqrt().conj()\n"
    assert judged(asinh, bundled_natives) == [("self", LossCause.RANGE, "self * self", 0.0, 0.003333)]
    relu = "- name: relu(Tensor self) -> Tensor\n  self: grad * (self > 0)\n"
    ((name, cause, node, found, expected),) = judged(relu, bundled_natives)
    assert (name, cause, node, expected) == ("self", LossCause.MASK, "grad * (self > 0)", 0.0)
    assert math.isnan(found)


@pytest.mark.parametrize(
    "yaml",
    [
        # the difference is exact, or its operands never were rounded
        "- name: asin(Tensor self) -> Tensor\n  self: grad * ((1 - self) * (1 + self)).rsqrt().conj()\n",
        # a wrong formula is not judged
        "- name: tanh(Tensor self) -> Tensor\n  self: grad * (2 - result * result).conj()\n",
        # computed in a type that the formula names
        "- name: asinh(Tensor self) -> Tensor\n  self: grad * (self.to(at::kFloat).pow(2) + 1).rsqrt()\n",
        # the mask chooses
        "- name: relu(Tensor self) -> Tensor\n  self: grad.masked_fill(self <= 0, 0)\n",
        # nothing is known of the helper
        "- name: relu(Tensor self) -> Tensor\n  self: mine(grad) * (self > 0)\n",
    ],
)
def test_what_loses_nothing(yaml: str, bundled_natives: NativeFunctions) -> None:
    assert judged(yaml, bundled_natives) == []
