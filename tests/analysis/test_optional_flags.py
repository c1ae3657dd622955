"""An optional where C++ wants a ``bool``: whether it has a value, however that is written."""

from __future__ import annotations

import pytest

from derivlint.analysis.soundness import unsound
from derivlint.model import build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

SCALE = "(p == 1 ? 0.0 : 1.0 / (1.0 - p)) * input_t * result1"


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
    text = f'- name: native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)\n  result0: "{formula}"\n'
    model = build_model(SourceFile("derivatives.yaml", text), bundled_natives)
    assert not [item for item in unsound(model, model.entries[0]) if item.kind == "value"]
