"""Facts about formulas: keywords, plain sizes, gradients, guards, accidental saves, names."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.formula import parse_formula
from derivlint.model import Model, build_model
from derivlint.model.generated.forward import misread_base_name
from derivlint.model.generated.gradients import gradients_of, misread_gradients, out_of_range_masks, wrap_opt_if_calls
from derivlint.model.info import accidental_saves
from derivlint.model.keywords import near_keyword
from derivlint.model.scope import undeclared_names
from derivlint.model.words import plain_sizes, sizes_in_text
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

ABS = "abs(Tensor self) -> Tensor"
ATAN2 = "atan2(Tensor self, Tensor other) -> Tensor"
QR = "linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)"


def build(natives: NativeFunctions, schema: str, *lines: str) -> Model:
    text = f"- name: {schema}\n" + "".join(f"  {line}\n" for line in lines)
    return build_model(SourceFile("derivatives.yaml", text), natives)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("result: Auto_linear", "auto_linear"), ("result: ' auto_linear'", "auto_linear"),
        ("result: auto linear", "auto_linear"), ("result: auto-linear", "auto_linear"),
        ("result: elementwise", "auto_element_wise"), ("result: auto_elementwise", "auto_element_wise"),
        ("result: auto_element_wize", "auto_element_wise"), ("self: non_diferentiable", "non_differentiable"),
        ("self: non-differentiable", "non_differentiable"), ("self: auto_linear", "auto_linear"),
        ("result: auto_linear", None), ("self: Non_Differentiable", None), ("result: self_t", None),
        ("self: grad", None), ("self: linear_backward(grad)", None),
    ],
)  # fmt: skip
def test_a_formula_that_is_nearly_a_keyword(bundled_natives: NativeFunctions, line: str, expected: str | None) -> None:
    model = build(bundled_natives, ABS, line)
    assert [near_keyword(item) for item in model.entries[0].formulas] == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(self.sizes(), x->sizes())", [("sizes", "self"), ("sizes", "x")]),
        ("f(a.b.sizes(), g(x).strides())", [("sizes", None), ("strides", None)]),
        ("self.size(0) + self.size( -1 )", [("size", "self"), ("size", "self")]),
        ("f(self.size(dim), self.size(0, 1), self.size(), self.sym_sizes(), sizes(), self.stride(0))", []),
        ('f("x.sizes()")', []),
    ],
)
def test_plain_sizes_are_calls_in_the_tree(text: str, expected: list[tuple[str, str | None]]) -> None:
    assert [(item.method.text, item.receiver) for item in plain_sizes(parse_formula(text))] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('f("x.sizes()")', [5]),
        ('f("x.size(-1) and y->strides()")', [5, 21]),
        ('f("x.sizes ()", "size(0)", "x.size(n)", "x.size()", x.sizes())', []),
    ],
)
def test_sizes_in_strings_are_seen_as_torchgen_sees_them(text: str, expected: list[int]) -> None:
    assert [word.start for word in sizes_in_text(parse_formula(text))] == expected


@given(st.text(alphabet='.->sizetrd()01"x ', max_size=30))
def test_sizes_of_any_text_are_found_without_a_crash(text: str) -> None:
    formula = parse_formula(text)
    assert all(formula.text[word.start : word.end] == word.text for word in sizes_in_text(formula))
    assert all(text[item.method.start : item.method.end] == item.method.text for item in plain_sizes(formula))


@pytest.mark.parametrize(
    ("schema", "lines", "conflict", "misread"),
    [
        (ATAN2, ["self: grad", "other: grads[0]"], "mixed", None),
        (ATAN2, ["self: grads[0]", "other: grads[0]"], "only-first", None),
        (ATAN2, ["self: f(grads)", "other: grads[0]"], None, None),
        (ATAN2, ["self, other: f(grads,grads[0])"], None, ("only-first", "grads")),
        (ATAN2, ["self: f(grad, 'x')", "other: x.grads"], None, ("mixed", "grads")),
        (QR, ["A: f(grad_Q, grads[1])"], "mixed-named", None),
        (QR, ["A: f(grad_Q, x.grad)"], None, ("mixed-named", "grad")),
        (QR, ["A: f(grad_Q, grad_R)"], None, None),
    ],
)
def test_conflicts_of_gradients_as_meant_and_as_read(
    bundled_natives: NativeFunctions,
    schema: str,
    lines: list[str],
    conflict: str | None,
    misread: tuple[str, str] | None,
) -> None:
    body = build(bundled_natives, schema, *lines).entries[0].bodies[0]
    assert gradients_of(body).conflict == conflict
    found = misread_gradients(body)
    assert (None if found is None else (found[0], found[2].text)) == misread


def test_masks_beyond_the_names_of_the_key(bundled_natives: NativeFunctions) -> None:
    formula = "f(grad_input_mask[0], grad_input_mask[2], grad_input_mask[i], x.grad_input_mask[7])"
    written = build(bundled_natives, ATAN2, f"self, other: {formula}").entries[0].formulas[0]
    assert [(node.start, index) for node, index in out_of_range_masks(written)] == [(22, 2)]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("f(wrap_opt_if(self, grad_input_mask[0]))", [("self", False)]),
        ("f(wrap_opt_if(self , grad_input_mask[0]))", [("self", True)]),
        # torchgen does not find the variable at all and saves it without a condition
        ("f(wrap_opt_if( self , grad_input_mask[0]))", [("self", False)]),
        ("f(wrap_opt_if(self, true), wrap_opt_if(self , true))", [("self", False), ("self", False)]),
        ("f(wrap_opt_if(g(self), true))", [(None, False)]),
    ],
)
def test_conditions_of_wrap_opt_if(
    bundled_natives: NativeFunctions, formula: str, expected: list[tuple[str | None, bool]]
) -> None:
    written = build(bundled_natives, ATAN2, f"self, other: {formula}").entries[0].formulas[0]
    assert written.body.info is not None
    assert [(item.variable, item.is_hidden) for item in wrap_opt_if_calls(written, written.body.info)] == expected


def test_what_is_saved_by_accident_is_used_by_no_formula(bundled_natives: NativeFunctions) -> None:
    lines = ['self: f(grad, "self", at::other(grad))', "other: f(grad, self)"]
    body = build(bundled_natives, ATAN2, *lines).entries[0].bodies[0]
    assert [(item.saved.name, item.word.role) for item in accidental_saves(body)] == [("other", "qualified")]


def test_auto_element_wise_leaves_a_name_between_operators_without_blanks(bundled_natives: NativeFunctions) -> None:
    model = build(bundled_natives, ABS, "self: grad * (self*self)", "result: auto_element_wise")
    assert misread_base_name(model.entries[0].formulas[1]) == [("self", None)]
    model = build(bundled_natives, ABS, "self: grad * (self * self)", "result: auto_element_wise")
    assert misread_base_name(model.entries[0].formulas[1]) == []


def test_names_are_not_judged_under_a_key_that_is_not_understood(bundled_natives: NativeFunctions) -> None:
    model = build(bundled_natives, ABS, "slef: grad * no_such_name", "self: grad * no_such_name")
    assert [[item.word.text for item in undeclared_names(formula)] for formula in model.entries[0].formulas] == [
        [],
        ["no_such_name"],
    ]


def test_operators_with_an_entry_of_their_own_are_those_of_the_installed_torch(
    derivatives_path: Path, installed_natives: NativeFunctions
) -> None:
    model = build_model(SourceFile.read(derivatives_path), installed_natives)
    functions = {entry.function.declared for entry in model.entries if entry.function is not None}
    assert {function for function in installed_natives.functions if model.book.has_entry(function)} == functions
