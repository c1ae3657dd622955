"""Nothing that a file holds makes derivlint crash."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derivlint.lint import run_rules
from derivlint.model import build_model
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.sampling import CAMPAIGN, examples, sample

pytestmark = pytest.mark.long

RULES = load_rules()

#: Pieces of entries, so that random texts reach every part of the model.
pieces = st.sampled_from(
    [
        "- name: abs(Tensor self) -> Tensor\n",
        "- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)\n",
        "- name: atan2(Tensor self, Tensor other) -> Tensor\n",
        "- name: _foreach_abs_(Tensor(a!)[] self) -> ()\n",
        "- name: abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n",
        "- name: nothing(Tensor self) -> Tensor\n",
        "- name: view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)\n",
        "  self: grad\n",
        "  self, other: f(grads[0], grads[9], grad_input_mask[4])\n",
        "  result: auto_element_wise\n",
        "  result: auto_linear\n",
        "  result0, result1: (self_t, self_p)\n",
        "  values: self_t * original_self_p\n",
        "  self: non_differentiable\n",
        "  output_differentiability: [True, False]\n",
        "  output_differentiability: [null]\n",
        "  output_differentiability: ['x']\n",
        "  dispatch:\n    Default:\n      self: grad\n    AutogradCUDA:\n      result: self_t\n",
        "  dispatch: {}\n",
        "  ? [1, 2]\n  : 3\n",
        "  'self,': \"gr\\x61d\"\n",
        "  other: |\n    grad *\n    self\n",
        "- 3\n",
        "- [a]\n",
        "  <<: *x\n",
        "&x a: &x b\n",
        "\t",
        "\0",
        "é: 𝄞\n",
        "  self: '\n",
        "  self: grads[0] ? wrap_opt_if(self , x) : {\n",
    ]
)


@settings(max_examples=150 if CAMPAIGN else 30, deadline=None)
@given(text=st.lists(pieces, max_size=10).map("".join))
def test_any_arrangement_of_entries_is_judged(text: str, bundled_natives: NativeFunctions) -> None:
    result = run_rules(build_model(SourceFile("d.yaml", text), bundled_natives), RULES)
    assert [item.message for item in result.diagnostics if item.rule == "internal-error"] == []
    for item in result.diagnostics:
        assert 0 <= item.span.start <= item.span.end <= len(text), (item, text)


@settings(max_examples=examples(60), deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_judged(data: bytes, bundled_natives: NativeFunctions) -> None:
    result = run_rules(build_model(SourceFile.from_bytes("d.yaml", data), bundled_natives), RULES)
    assert result.internal_errors == 0


@pytest.mark.parametrize("seed", sample(range(6), 3))
def test_a_damaged_release_is_judged(seed: int, derivatives_path: Path, bundled_natives: NativeFunctions) -> None:
    """The real file, or a sixth of its entries, with characters dropped, doubled and swapped in a hundred places."""
    rng = random.Random(seed)
    text = derivatives_path.read_text(encoding="utf-8")
    entries = text[text.index("- name: abs") :].split("\n- name: ")
    chars = list("\n- name: ".join(entries if CAMPAIGN else entries[seed::6]))
    for _ in range(100):
        at = rng.randrange(len(chars) - 1)
        kind = rng.randrange(4)
        if kind == 0:
            chars[at] = ""
        elif kind == 1:
            chars[at] *= 2
        elif kind == 2:
            chars[at], chars[at + 1] = chars[at + 1], chars[at]
        else:
            chars[at] = rng.choice("()[]{}:,.*&'\"\n é;")
    source = SourceFile("d.yaml", "".join(chars))
    result = run_rules(build_model(source, bundled_natives), RULES)
    assert [item.message for item in result.diagnostics if item.rule == "internal-error"] == []
    for item in result.diagnostics:
        assert 0 <= item.span.start <= item.span.end <= len(source.text)
