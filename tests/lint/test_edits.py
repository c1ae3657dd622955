"""Fixes of formulas: what they write into the YAML of an entry."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derivlint.lint.edits import formula_edit, formula_fix, removal_fix
from derivlint.model import DerivativeFormula, build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

NAME = "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
VALUES = {
    "plain": "  self: grad * other\n",
    "folded plain": "  self: grad\n    * other # why\n",
    "single": "  self: 'grad * other'\n",
    "double": '  self: "grad\\\n    \\x20* other"\n',
    "literal": "  self: |-\n    grad * other\n",
    "folded": "  self: >-\n    grad *\n    other\n",
}


def line_of(text: str, natives: NativeFunctions) -> DerivativeFormula:
    model = build_model(SourceFile("derivatives.yaml", text), natives)
    return model.entries[0].bodies[0].formulas[0]


@settings(deadline=None)
@given(
    style=st.sampled_from(sorted(VALUES)),
    line_end=st.sampled_from(["\n", "\r\n"]),
    word=st.sampled_from(["grad", "other"]),
    new=st.sampled_from(["grads[0]", "other.conj()", 'f("x\\n")', "f('c')", "a ? b : c", "a  #b"]),
)
def test_the_formula_after_an_edit_is_the_edited_formula(
    style: str, line_end: str, word: str, new: str, bundled_natives: NativeFunctions
) -> None:
    text = NAME + VALUES[style].replace("\n", line_end)
    written = line_of(text, bundled_natives)
    formula = written.parsed.text
    start = formula.index(word)
    edit = formula_edit(written, start, start + len(word), new)
    if edit is not None:
        after = text[: edit.span.start] + edit.text + text[edit.span.end :]
        expected = formula.replace(word, new)
        assert line_of(after, bundled_natives).parsed.text == expected
    else:
        assert (style.endswith("plain") and (": " in new or " #" in new)) or "\\" in new


@pytest.mark.parametrize("value", ["{self: grad}", "{dispatch: {Default: {self: grad}}}"])
def test_flow_mappings_are_noticed(value: str, bundled_natives: NativeFunctions) -> None:
    """``{self: grads[0]}`` would be broken YAML."""
    formula = line_of(f"- {{name: 'abs(Tensor self) -> Tensor', {value[1:]}\n", bundled_natives)
    assert formula_edit(formula, 0, 4, "grads[0]") is None
    assert formula_edit(formula, 0, 4, "gradient") is not None


def test_a_fix_of_several_changes_has_all_of_them_or_none(bundled_natives: NativeFunctions) -> None:
    formula = line_of(NAME + VALUES["plain"], bundled_natives)
    fix = formula_fix(formula, "fix it", [(0, 4, "f(grad)"), (7, 12, "other.conj()")])
    assert fix is not None
    assert [edit.text for edit in fix.edits] == ["f(grad)", "other.conj()"]
    assert not fix.safe
    assert formula_fix(formula, "fix it", [(0, 4, "f(grad)"), (7, 12, "a #b")]) is None
    assert formula_fix(formula, "fix it", []) is None


def test_a_line_is_removed_below_a_dispatch_key_too(bundled_natives: NativeFunctions) -> None:
    text = NAME + "  dispatch:\n    Default:\n      self: grad * other\n      other: grad * self\n"
    fix = removal_fix(line_of(text, bundled_natives), "remove it")
    assert fix is not None
    (edit,) = fix.edits
    assert text[: edit.span.start] + text[edit.span.end :] == text.replace("      self: grad * other\n", "")


def test_the_only_line_of_a_mapping_stays(bundled_natives: NativeFunctions) -> None:
    text = NAME + "  dispatch:\n    Default:\n      self: grad * other\n"
    assert removal_fix(line_of(text, bundled_natives), "remove it") is None
