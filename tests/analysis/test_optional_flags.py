"""An optional where C++ wants a ``bool``: whether it has a value, however that is written."""

from __future__ import annotations

from collections import Counter

import pytest

from derivlint.analysis.soundness import Unsound, unsound
from derivlint.model import build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

SCALE = "(p == 1 ? 0.0 : 1.0 / (1.0 - p)) * input_t * result1"
BACKWARD = (
    "native_dropout_backward(grad, result1, "
    "(!train.has_value() || !train.value() ? 1 : (p == 1 ? 0.0 : 1.0 / (1.0 - p))))"
)
RELEASED = f"(!train.has_value() || train.value()) ? {SCALE} : input_t"


def mistakes(formula: str, natives: NativeFunctions) -> Counter[Unsound]:
    """The mistakes of the entry with a forward formula."""
    text = f"""\
- name: native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)
  input: "{BACKWARD}"
  result0: "{formula}"
"""
    model = build_model(SourceFile("derivatives.yaml", text), natives)
    return unsound(model, model.entries[0])


@pytest.mark.parametrize(
    "formula",
    [
        f"(!train.has_value() || train.value()) ? {SCALE} : input_t.clone()",
        f"(!train || train.value()) ? {SCALE} : input_t.clone()",
        f"!train ? {SCALE} : (*train ? {SCALE} : input_t.clone())",
        f"train ? (train.value() ? {SCALE} : input_t.clone()) : {SCALE}",
        f"(train && !train.value()) ? input_t.clone() : {SCALE}",
    ],
)
def test_equal_spellings_have_equal_values(formula: str, bundled_natives: NativeFunctions) -> None:
    """The released backward formula is wrong without "train", the forward formula is right in every spelling."""
    unsound_formulas = mistakes(formula, bundled_natives)
    assert unsound_formulas == mistakes(RELEASED, bundled_natives)
    assert {(item.key, item.kind) for item in unsound_formulas} == {("input", "value")}
