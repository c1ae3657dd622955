"""What is left of findings after an edit: what they rest on may have become wrong, or right again."""

from __future__ import annotations

import pytest

from derivlint.model.memos import Memos
from derivlint.project.check import CheckedFile, check_source
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

MAIN = """\
- name: elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor
  self: elu_backward(grad, alpha, scale, input_scale, /* is_result */ false, self)
"""
IN_PLACE = """\
- name: elu_(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor(a!)
  self: elu_backward(grad, alpha, scale, input_scale, /* is_result */ true, result)
"""
GAMMA = """\
- name: _standard_gamma(Tensor self, Generator? generator=None) -> Tensor
  self: grad * _standard_gamma_grad(self, result)
"""
GAMMA_GRAD = """\
- name: _standard_gamma_grad(Tensor self, Tensor output) -> Tensor
  self: not_implemented("_standard_gamma_grad")
"""
NEG = """\
- name: neg(Tensor self) -> Tensor
  self: gard.neg()
"""
TEXTS = {
    "the main form is misspelt, and later right": (
        MAIN + IN_PLACE + GAMMA,
        MAIN.replace("elu(", "ell(") + IN_PLACE + GAMMA,
        IN_PLACE + GAMMA,
        GAMMA + IN_PLACE + MAIN,
    ),
    "what a finding rests on breaks": (
        GAMMA + GAMMA_GRAD + NEG,
        GAMMA + GAMMA_GRAD.replace(': not_implemented("_standard_gamma_grad")', ": gard") + NEG,
        GAMMA + GAMMA_GRAD.replace("gamma_grad(", "gama_grad(") + NEG,
        NEG + GAMMA_GRAD + GAMMA,
        "- name: nge(Tensor self) -> Tensor\n  self: grad\n" + NEG + GAMMA_GRAD + GAMMA,
        "# one line more\n" + NEG + GAMMA_GRAD + GAMMA,
    ),
    "an entry is there twice for a while": (
        NEG + GAMMA,
        NEG + NEG + GAMMA,
        NEG + NEG.replace("gard", "grad") + GAMMA,
        NEG.replace("gard", "grad") + NEG + NEG + GAMMA,
        GAMMA,
        GAMMA + NEG,
    ),
}


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_what_is_left_of_findings_after_edits_is_what_a_check_from_scratch_leaves(
    texts: tuple[str, ...], bundled_natives: NativeFunctions
) -> None:
    rules = Settings().selected(load_rules())

    def checked(text: str, memos: Memos | None = None) -> CheckedFile:
        return check_source(SourceFile("d.yaml", text), bundled_natives, Settings(), rules, memos=memos)

    memos = Memos()
    for text in (*texts, *reversed(texts)):
        found = checked(text, memos)
        assert found.unfiltered == checked(text).unfiltered
        assert found.findings.formulas == checked(text).findings.formulas
