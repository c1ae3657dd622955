"""Backward formulas that name no gradient are compared with the operator like all others."""

from __future__ import annotations

import pytest

from derivlint.analysis import analyses_of
from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.analysis.small_tensors.compare import small_tensors_of
from derivlint.model import build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

UNARY = "(Tensor self) -> Tensor"
#: Operators whose gradient is not zero, and formulas that say that it is.
WRONG = {
    "acosh": (UNARY, "zeros_like(self)"),
    "softplus": ("(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", "self * 0"),
    "hardtanh": ("(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", "self * 0"),
    "_softmax": ("(Tensor self, int dim, bool half_to_float) -> Tensor", "zeros_like(self)"),
    "sum": ("(Tensor self, *, ScalarType? dtype=None) -> Tensor", "zeros_like(self)"),
    "prod": ("(Tensor self, *, ScalarType? dtype=None) -> Tensor", "self - self"),
    "flip": ("(Tensor self, int[] dims) -> Tensor", "self * 0"),
    "cumsum": ("(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", "zeros_like(self)"),
    "transpose.int": ("(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", "zeros_like(self)"),
    "sort": ("(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", "zeros_like(self)"),
}
#: Operators whose gradient is zero.
RIGHT = {
    "floor": (UNARY, "zeros_like(self)"),
    "sign": (UNARY, "self * 0"),
    "ceil": (UNARY, "self * 0"),
    "round": (UNARY, "zeros_like(self)"),
}


def wrong(name: str, schema: str, formula: str, natives: NativeFunctions) -> int:
    """How many formulas contradict the operator."""
    model = build_model(SourceFile("d.yaml", f"- name: {name}{schema}\n  self: {formula}\n"), natives)
    (entry,) = model.entries
    assert analyses_of(model).interpretations(entry)
    return len(judgement_of(model, entry).wrong) + len(small_tensors_of(model, entry))


@pytest.mark.parametrize("name", WRONG)
def test_a_dropped_gradient_is_wrong(name: str, bundled_natives: NativeFunctions) -> None:
    """Although no formula of the entry names "grad"."""
    assert wrong(name, *WRONG[name], bundled_natives) == 1


@pytest.mark.parametrize("name", RIGHT)
def test_a_gradient_that_is_zero_is_right(name: str, bundled_natives: NativeFunctions) -> None:
    assert wrong(name, *RIGHT[name], bundled_natives) == 0
