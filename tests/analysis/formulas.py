"""Single formulas and what they mean."""

from __future__ import annotations

from derivlint.analysis import analyses_of
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.model import build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile


def interpret(yaml: str, key: str, natives: NativeFunctions) -> Interpretation:
    """What the formula under a key of the first entry means."""
    model = build_model(SourceFile("derivatives.yaml", yaml), natives)
    for interpretation in analyses_of(model).interpretations(model.entries[0]):
        if interpretation.formula.written.key_text == key:
            return interpretation
    raise AssertionError(f"no formula for {key}")


def backward(formula: str, natives: NativeFunctions) -> Interpretation:
    """What a backward formula for ``self`` of ``mul`` means."""
    yaml = f"- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  self: '{formula}'\n  other: grad * self\n"
    return interpret(yaml, "self", natives)


def forward(formula: str, natives: NativeFunctions) -> Interpretation:
    """What a forward formula of ``mul`` means."""
    yaml = (
        "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
        f"  self: grad * other\n  other: grad * self\n  result: '{formula}'\n"
    )
    return interpret(yaml, "result", natives)
