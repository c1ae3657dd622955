"""How sure a finding is: values of an operator count for more than the names of its arguments."""

from __future__ import annotations

import pytest

from derivlint.lint import Confidence, run_rules
from derivlint.model import build_model
from derivlint.rules import load_rule
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile


@pytest.mark.parametrize(
    ("operator", "passed", "confidence"),
    [
        # the loss varies with its target
        ("kl_div(Tensor self, Tensor target, int reduction=Mean, *, bool log_target=False)", "target", Confidence.HIGH),
        # nothing is known of the operator
        ("_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales)", "scales", Confidence.MEDIUM),
    ],
)
def test_an_argument_that_is_passed_on(
    operator: str, passed: str, confidence: Confidence, bundled_natives: NativeFunctions
) -> None:
    text = f"- name: {operator} -> Tensor\n  self: pass_on_backward(grad, self, {passed})\n"
    model = build_model(SourceFile("derivatives.yaml", text), bundled_natives)
    findings = run_rules(model, (load_rule("missing-argument-derivative"),)).diagnostics
    assert [item.confidence for item in findings] == [confidence]
