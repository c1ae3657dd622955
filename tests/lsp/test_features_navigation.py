"""Definition, references, highlights and rename."""

from __future__ import annotations

from pathlib import Path

import pytest

from derivlint.lsp.analysis import DocumentAnalysis, FileSpan
from derivlint.lsp.features.hover import hover
from derivlint.lsp.features.navigation import definition, function_places, highlights, references
from derivlint.lsp.features.rename import Refusal, prepare_rename, rename
from derivlint.project.headers import read_bodies
from derivlint.source import SourceFile, Span
from tests.lsp.feature_analysis import MUL, SORT, analysis_of, at, in_checkout, index, texts

ROLL = """\
- name: roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor
  self: "grad.roll_symint(fmap(reverse_list_symint(shifts), [](c10::SymInt i){return -i;}), reverse_list(dims))"
  result: auto_linear
"""
NATIVE = """\
- func: neg(Tensor self) -> Tensor
  variants: function, method
  dispatch:
    CPU: neg

- func: mul.Tensor(Tensor self, Tensor other) -> Tensor
  variants: function, method
  dispatch:
    CPU: mul
"""
NEG = """\
- name: neg(Tensor self) -> Tensor
  self: helper(grad.neg(), at::mul(grad, self))
"""
HEADER = """\
namespace torch::autograd::generated::details {
// helper(x) is not this
at::Tensor helper(const at::Tensor& grad, const at::Tensor& other);
at::Tensor helper(
    const at::Tensor& grad);
inline int64_t other() { return helper(1); }
}
"""
CPP = """\
#include "FunctionsManual.h"
namespace torch::autograd::generated::details {
using at::Tensor;
Tensor helper(const Tensor& grad, const Tensor& other) {
  Tensor result = helper(grad);
  return result;
}
}
"""


def spans(places: tuple[FileSpan, ...], analysis: DocumentAnalysis) -> list[tuple[int, str]]:
    """The lines and texts of places in the file itself."""
    return [
        (analysis.source.position(place.span.start).line, place.text)
        for place in places
        if place.source is analysis.source
    ]


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        (MUL, "grad, oth§er, self", [(1, "other")]),
        (MUL, "other: mul_tensor_backward(grad, sel§f", [(1, "self")]),
        (MUL, "result: other_§t", [(1, "other")]),
        (MUL, "* self_§p", [(1, "self")]),
        (MUL, "\n  oth§er: mul", [(1, "other")]),
        (MUL, "\n  res§ult: other", [(1, "Tensor")]),
        (MUL, "self: mul_tensor_backward(gr§ad,", [(1, "Tensor")]),
        (SORT, "dim, ind§ices, self", [(1, "indices")]),
        (SORT, "\n  val§ues: ", [(1, "values")]),
        (SORT, "self: value_selecting_reduction_backward_symint(grad, di§m", [(1, "dim")]),
        (ROLL, "return -§i", [(2, "i")]),
        (ROLL, "symint(shi§fts)", [(1, "shifts")]),
    ],
)
def test_variables_are_declared_in_the_schema(text: str, place: str, expected: list[tuple[int, str]]) -> None:
    analysis, offset = at(text, place)
    assert spans(definition(analysis, offset), analysis) == expected


def test_an_indexed_gradient_is_that_of_its_differentiable_output() -> None:
    text = "- name: linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)\n  A: f(grads[0], grads[1], A)\n"
    for place, expected in (("gra§ds[0]", "sign"), ("gra§ds[1]", "logabsdet")):
        analysis, offset = at(text, place)
        assert spans(definition(analysis, offset), analysis) == [(1, expected)]


def test_the_mask_leads_to_the_key_that_it_counts() -> None:
    text = (
        "- name: atan2(Tensor self, Tensor other) -> Tensor\n"
        "  self, other: atan2_backward(grad, self, other, grad_input_mask)\n"
    )
    analysis, offset = at(text, "grad_input_§mask")
    assert spans(definition(analysis, offset), analysis) == [(2, "self, other")]


def test_operators_are_declared_in_native_functions_and_derived_in_their_entry(tmp_path: Path) -> None:
    analysis = in_checkout(tmp_path, NEG, NATIVE)
    offset = NEG.index(".neg()") + 2
    found = definition(analysis, offset)
    assert [(place.source.path.rpartition("/")[2], place.text) for place in found] == [
        ("native_functions.yaml", "neg"),
        ("derivatives.yaml", "neg"),
    ]
    assert found[0].source.slice(found[0].whole or Span(0, 0)) == "neg(Tensor self) -> Tensor"
    found = definition(analysis, NEG.index("at::mul") + 5)
    assert [place.text for place in found] == ["mul.Tensor"]
    assert found[0].source.position(found[0].span.start) == (6, 9)
    name = definition(analysis, NEG.index("neg("))
    assert [(place.source.path.rpartition("/")[2], place.text) for place in name] == [("native_functions.yaml", "neg")]


def test_an_argument_of_the_schema_leads_to_native_functions(tmp_path: Path) -> None:
    analysis = in_checkout(tmp_path, NEG, NATIVE)
    (found,) = definition(analysis, NEG.index("self)") + 1)
    assert (found.text, found.source.position(found.span.start)) == ("self", (1, 20))


def test_helpers_are_declared_in_the_header_and_defined_in_the_source(tmp_path: Path) -> None:
    analysis = in_checkout(tmp_path, NEG, NATIVE, HEADER, CPP)
    found = definition(analysis, NEG.index("helper") + 2)
    places = [
        (place.source.path.rpartition(".")[2], place.source.position(place.span.start).line, place.text)
        for place in found
    ]
    assert places == [("h", 3, "helper"), ("h", 4, "helper"), ("cpp", 4, "helper")]
    assert found[1].source.slice(found[1].whole or Span(0, 0)) == "at::Tensor helper(\n    const at::Tensor& grad)"


@pytest.mark.parametrize(("is_shown", "places"), [(True, ["Tensor helper"]), (False, [])])
def test_a_source_of_bodies_that_may_be_shown_defines_helpers(is_shown: bool, places: list[str]) -> None:
    source = SourceFile("Mine.cpp", "Tensor helper(const Tensor& grad, const Tensor& other) { return grad; }\n")
    bodies = read_bodies(source, use_cache=False)._replace(is_shown=is_shown)
    analysis = analysis_of(NEG, index().with_bodies(lambda: bodies))
    found = definition(analysis, NEG.index("helper") + 2)
    assert [source.slice(Span(0, place.span.end)) for place in found] == places
    markdown = getattr(hover(analysis, NEG.index("helper") + 2), "markdown", "")
    assert ("Mine.cpp" in markdown) is is_shown


def test_a_header_that_changes_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.h"
    path.write_text("int f();\n")
    assert [place.span for place in function_places((path,), "f")] == [Span(4, 5)]
    path.write_text("int g(); int f();\n")
    import os

    os.utime(path, ns=(1, 1))
    assert [place.span for place in function_places((path,), "f")] == [Span(13, 14)]
    path.unlink()
    assert function_places((path,), "f") == ()


def test_references_of_a_variable_are_those_of_its_entry() -> None:
    analysis, offset = at(MUL + SORT, "grad, oth§er, self")
    assert spans(references(analysis, offset), analysis) == [
        (1, "other"),
        (2, "other"),
        (3, "other"),
        (3, "other"),
        (4, "other_t"),
        (4, "other_p"),
    ]
    without = references(analysis, offset, include_declaration=False)
    assert spans(without, analysis)[0] == (2, "other")
    assert references(analysis, MUL.index("Tensor other)") + 8) == references(analysis, offset)
    assert references(analysis, MUL.index("\n  other:") + 4) == references(analysis, offset)


def test_references_of_a_function_are_its_calls_in_the_file() -> None:
    text = (
        "- name: neg(Tensor self) -> Tensor\n  self: grad.neg()\n\n"
        '- name: abs(Tensor self) -> Tensor\n  self: at::neg(grad) + f("neg(x)")\n'
    )
    analysis, offset = at(text, "at::n§eg")
    assert spans(references(analysis, offset), analysis) == [(1, "neg"), (2, "neg"), (5, "neg")]
    analysis, offset = at(text, "- name: n§eg(")
    assert spans(references(analysis, offset), analysis) == [(1, "neg"), (2, "neg"), (5, "neg")]


def test_highlights_stay_in_the_entry() -> None:
    text = (
        "- name: neg(Tensor self) -> Tensor\n  self: f(f(grad))\n\n"
        "- name: abs(Tensor self) -> Tensor\n  self: f(grad)\n"
    )
    analysis, offset = at(text, "self: §f(f(")
    assert texts(analysis, highlights(analysis, offset)) == ["f", "f"]
    assert len(references(analysis, offset)) == 3


def test_a_parameter_of_a_lambda_can_be_renamed() -> None:
    analysis, offset = at(ROLL, "return -§i")
    found = prepare_rename(analysis, offset)
    assert isinstance(found, Span)
    assert analysis.source.slice(found) == "i"
    edits = rename(analysis, offset, "size")
    assert not isinstance(edits, Refusal)
    text = ROLL
    for edit in sorted(edits, reverse=True, key=lambda edit: edit.span):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    assert text == ROLL.replace("SymInt i){return -i;}", "SymInt size){return -size;}")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("2x", '"2x" is not a name in C++'),
        ("return", '"return" is not a name in C++'),
        ("é", '"é" is not a name in C++'),
        ("dims", '"dims" is used in the formula already'),
    ],
)
def test_a_name_that_would_break_the_formula_is_refused(name: str, reason: str) -> None:
    analysis, offset = at(ROLL, "return -§i")
    assert rename(analysis, offset, name) == Refusal(reason)


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        (MUL, "grad, oth§er, self", '"other" belongs to the schema in native_functions.yaml'),
        (MUL, "result: other_§t", '"other" belongs to the schema in native_functions.yaml'),
        (MUL, "\n  oth§er: mul", '"other" belongs to the schema in native_functions.yaml'),
        (MUL, "Tensor oth§er)", '"other" belongs to the schema in native_functions.yaml'),
        (MUL, "mul.Te§nsor(", '"mul.Tensor" belongs to the schema in native_functions.yaml'),
        (MUL, "self: mul_tensor_backward(gr§ad,", '"grad" is named by the generated code'),
        (MUL, "self: mul_ten§sor_backward", '"mul_tensor_backward" is declared in C++'),
        (SORT, "dim, ind§ices, self", '"indices" belongs to the schema in native_functions.yaml'),
        (ROLL, "grad.ro§ll_symint", '"roll_symint" is an operator of native_functions.yaml'),
        (ROLL, "c10::Sy§mInt", '"SymInt" is declared in C++'),
        (MUL, "- na§me", "nothing here can be renamed"),
    ],
)
def test_what_the_entry_does_not_own_is_refused_with_the_reason(text: str, place: str, reason: str) -> None:
    analysis, offset = at(text, place)
    assert prepare_rename(analysis, offset) == Refusal(reason)
    assert rename(analysis, offset, "x") == Refusal(reason)
