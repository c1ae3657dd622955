"""Symbols, folding, selection, semantic tokens, inlay hints, formatting, generated code."""

from __future__ import annotations

from itertools import pairwise

import pytest

from derivlint.lint import TextEdit
from derivlint.lsp.features.describe import generated_code, lenses
from derivlint.lsp.features.formatting import format_range
from derivlint.lsp.features.outline import Symbol, document_symbols, folds, selections, workspace_symbols
from derivlint.lsp.features.tokens import MODIFIERS, TYPES, inlay_hints, semantic_tokens
from derivlint.source import Span
from tests.lsp.feature_analysis import MUL, SORT, analysis_of, at, texts

DISPATCH = """\
- name: neg(Tensor self) -> Tensor
  dispatch:
    Default:
      self: grad.neg()
      result: auto_linear
    AutogradCUDA:
      self: -grad
"""
ROLL = """\
- name: roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor
  self: "grad.roll_symint(fmap(reverse_list_symint(shifts), [](c10::SymInt i){return -i;}), reverse_list(dims))"
"""


def whole(text: str) -> Span:
    return Span(0, len(text))


# ---- symbols


def shown(symbols: tuple[Symbol, ...]) -> list[object]:
    """Names and kinds of symbols, with those in them."""
    return [
        (item.kind, item.name, shown(item.children)) if item.children else (item.kind, item.name) for item in symbols
    ]


def test_symbols_are_entries_dispatch_keys_and_formulas() -> None:
    text = f"{MUL}\n{DISPATCH}"
    analysis = analysis_of(text)
    found = document_symbols(analysis)
    assert shown(found) == [
        ("Function", "mul.Tensor", [("Field", "self"), ("Field", "other"), ("Property", "result")]),
        (
            "Function",
            "neg",
            [
                ("Namespace", "Default", [("Field", "self"), ("Property", "result")]),
                ("Namespace", "AutogradCUDA", [("Field", "self")]),
            ],
        ),
    ]
    neg = found[1]
    assert neg.detail == "(Tensor self) -> Tensor"
    assert texts(analysis, (neg.selection, neg.children[1].span)) == ["neg", "AutogradCUDA:\n      self: -grad"]
    for outer in found:
        for inner in outer.children:
            assert outer.span.contains(inner.span)
            assert inner.span.contains(inner.selection)


def test_entries_without_a_readable_name_are_symbols_all_the_same() -> None:
    analysis = analysis_of("- self: grad\n- name: [1]\n- name: abs\n- 7\n")
    assert [item.name for item in document_symbols(analysis)] == [
        "entry without name",
        "entry without name",
        "abs",
        "entry without name",
    ]


def test_workspace_symbols_have_the_letters_of_the_query_the_best_ones_first() -> None:
    analysis = analysis_of(f"{SORT}\n{MUL}\n- name: matmul(Tensor self, Tensor other) -> Tensor\n  self: grad\n")
    assert [item.name for item in workspace_symbols(analysis, "MUL")] == ["mul.Tensor", "matmul"]
    assert [item.name for item in workspace_symbols(analysis, "mml")] == ["matmul"]
    assert [item.name for item in workspace_symbols(analysis, "")] == ["sort", "matmul", "mul.Tensor"]
    assert workspace_symbols(analysis, "xyz") == ()


# ---- folding and selection


def test_entries_dispatch_keys_long_values_and_comments_fold() -> None:
    text = f'# a\n# b\n# c\n\n{DISPATCH}\n- name: abs(Tensor self) -> Tensor\n  self: "a\n    b"\n- name: x\n'
    analysis = analysis_of(text)
    lines = [
        (analysis.source.position(fold.span.start).line, analysis.source.position(fold.span.end).line, fold.kind)
        for fold in folds(analysis)
    ]
    assert lines == [(1, 3, "Comment"), (5, 11, ""), (6, 11, ""), (7, 9, ""), (10, 11, ""), (13, 15, ""), (14, 15, "")]


def test_selection_grows_along_the_tree_of_the_formula() -> None:
    analysis, offset = at(MUL, "other_t * sel§f_p")
    assert texts(analysis, selections(analysis, offset)) == [
        "self_p",
        "other_t * self_p",
        "other_t * self_p + self_t * other_p",
        "result: other_t * self_p + self_t * other_p",
        MUL.removeprefix("- ").rstrip("\n"),
        MUL,
    ]


def test_selection_in_a_schema_grows_from_the_name_to_the_argument() -> None:
    analysis, offset = at(MUL, "Tensor oth§er)")
    assert texts(analysis, selections(analysis, offset))[:3] == [
        "other",
        "Tensor other",
        "mul.Tensor(Tensor self, Tensor other) -> Tensor",
    ]


@pytest.mark.parametrize("text", [MUL, SORT, ROLL, DISPATCH])
def test_every_selection_holds_the_one_before(text: str) -> None:
    analysis = analysis_of(text)
    for offset in range(len(text) + 1):
        found = selections(analysis, offset)
        assert found[-1] == whole(text)
        for inner, outer in pairwise(found):
            assert outer.contains(inner)
            assert outer != inner


# ---- semantic tokens


def test_words_have_the_types_of_what_they_are() -> None:
    text = ROLL + "  result: auto_linear\n"
    analysis = analysis_of(text)
    found = [(analysis.source.slice(token.span), token.type, token.modifiers) for token in semantic_tokens(analysis)]
    operator = ("defaultLibrary",)
    assert found == [
        ("grad", "variable", ("readonly",)), ("roll_symint", "method", operator), ("fmap", "function", ()),
        ("reverse_list_symint", "function", ()), ("shifts", "parameter", ()), ("c10", "namespace", ()),
        ("SymInt", "type", ()), ("i", "variable", ("declaration",)), ("return", "keyword", ()),
        ("i", "variable", ("declaration",)), ("reverse_list", "function", ()), ("dims", "parameter", ()),
        ("auto_linear", "keyword", ()),
    ]  # fmt: skip


def test_tokens_lie_on_one_line_in_order_and_are_those_of_a_range_where_one_is_given() -> None:
    text = f"{MUL}\n" + '- name: abs(Tensor self) -> Tensor\n  self: f("a\n    b",\n    0.5, self_p)\n' + SORT
    analysis = analysis_of(text)
    found = semantic_tokens(analysis)
    for token in found:
        assert "\n" not in analysis.source.slice(token.span)
        assert token.type in TYPES
        assert set(token.modifiers) <= set(MODIFIERS)
    for first, second in pairwise(found):
        assert first.span.end <= second.span.start
    start = text.index("- name: abs")
    part = semantic_tokens(analysis, Span(start + 5, start + 10))
    assert part == tuple(token for token in found if start < token.span.start < text.index("- name: sort"))


def test_tokens_move_with_their_entry() -> None:
    analysis = analysis_of(MUL)
    later = analysis_of(f"# é😀\n\n{MUL}")
    expected = [(token.span.shift(len("# é😀\n\n")), token.type) for token in semantic_tokens(analysis)]
    assert [(token.span, token.type) for token in semantic_tokens(later)] == expected


# ---- inlay hints


def test_hints_name_parameters_and_what_is_saved() -> None:
    text = MUL.replace("(grad, other, self.", "(grad * 2, other, self.")
    analysis = analysis_of(text)
    found = [
        (text[hint.offset : hint.offset + 5], hint.label, hint.kind) for hint in inlay_hints(analysis, whole(text))
    ]
    assert found == [
        ("grad ", "grad:", "Parameter"),
        ("self.", "self_st:", "Parameter"),
        ("\n  ot", "saves self_scalar_type, other", "Type"),
        ("self,", "other:", "Parameter"),
        ("other", "self_st:", "Parameter"),
        ("\n  re", "saves self, other_scalar_type", "Type"),
    ]


def test_hints_are_those_of_the_range() -> None:
    analysis = analysis_of(f"{MUL}\n{SORT}")
    start = analysis.source.text.index("- name: sort")
    assert all(hint.offset >= start for hint in inlay_hints(analysis, Span(start, start + 300)))
    assert inlay_hints(analysis, Span(0, 5)) == ()


# ---- formatting


def formatted(text: str) -> str:
    """The text after formatting."""
    edits: tuple[TextEdit, ...] = format_range(analysis_of(text), whole(text))
    for edit in sorted(edits, key=lambda edit: edit.span, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def test_blanks_around_keys_are_made_regular_and_nothing_else() -> None:
    text = (
        "# a  comment \n"
        "- name:   mul.Tensor(Tensor self, Tensor other) -> Tensor  \r\n"
        '  self,other :\tf(grad, "a  b")   # why  \n'
        "  result:\n"
        "      folded   \n"
        "      text\n"
    )
    assert formatted(text) == (
        "# a  comment \n"
        "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\r\n"
        '  self, other: f(grad, "a  b")   # why  \n'
        "  result:\n"
        "      folded   \n"
        "      text\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        MUL,
        SORT,
        DISPATCH,
        "- {name:   abs, self:   grad}\n",
        '- name: abs\n  self:   "open\n',
        "- name: abs\n  self: |  \n    grad  \n",
        "- name: abs\n  !!str self:   [grad\n",
    ],
)
def test_what_is_regular_or_not_understood_stays(text: str) -> None:
    assert formatted(text) == text


def test_formatting_twice_is_formatting_once() -> None:
    once = formatted(
        "- name:  abs(Tensor self) -> Tensor \n  'self' :  grad  \n  dispatch :\n    Default :\n      a,b :  c\n"
    )
    assert once == "- name: abs(Tensor self) -> Tensor\n  'self': grad\n  dispatch :\n    Default :\n      a, b: c\n"
    assert formatted(once) == once


def test_only_entries_of_the_range_are_formatted() -> None:
    text = "- name:  a\n- name:  b\n"
    edits = format_range(analysis_of(text), Span(12, 14))
    assert [edit.span.start for edit in edits] == [text.index(":  b")]


# ---- generated code


def test_entries_show_the_code_that_they_become() -> None:
    text = f"{MUL}\n{SORT}- name: eq.Tensor(Tensor self, Tensor other) -> Tensor\n  output_differentiability: [False]\n"
    analysis = analysis_of(text)
    assert [(analysis.source.slice(lens.span), lens.title) for lens in lenses(analysis)] == [
        ("mul.Tensor", "show generated C++"),
        ("sort", "show generated C++"),
    ]
    code = generated_code(analysis, lenses(analysis)[0].offset)
    assert code is not None
    assert code.count("struct NODE_CLASS MulBackward0 ") == 1
    assert "mul_tensor_backward(grad, other, self_scalar_type)" in code
    assert "SortBackward0" not in code
    assert generated_code(analysis, text.index("- name: sort") + 4) is not None
    assert generated_code(analysis_of("# nothing\n"), 3) is None
