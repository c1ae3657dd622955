"""Hover: whole answers."""

from __future__ import annotations

import pytest

from derivlint.lsp.features.hover import hover
from derivlint.project.headers import read_bodies
from derivlint.source import SourceFile
from tests.lsp.feature_analysis import MUL, SORT, analysis_of, at, index

SUM = """\
- name: sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
  self: sum_backward(grad, self.sym_sizes(), dim, keepdim)
  result: auto_linear
"""


def reported(text: str, place: str) -> tuple[str, str]:
    """What is shown for a place, and the text that it is about."""
    analysis, offset = at(text, place)
    found = hover(analysis, offset)
    assert found is not None
    return found.markdown, analysis.source.slice(found.span)


def test_an_entry_shows_its_schema_what_is_differentiable_and_whom_it_serves() -> None:
    markdown, span = reported(MUL, "mul.T§ensor(")
    assert span == "mul.Tensor"
    reported_of_entry, _, kernels = markdown.rpartition("\n\n")
    assert reported_of_entry == (
        "```text\nmul.Tensor(Tensor self, Tensor other) -> Tensor\n```\n\n"
        "- differentiable arguments: `self`, `other`\n"
        "- differentiable outputs: `result`\n"
        "- saved for backward: `self`, `other_scalar_type`, `self_scalar_type`, `other`\n"
        "- forward formulas: `result`\n"
        "- autograd node: `MulBackward0`\n\n"
        "applies also to:\n"
        "- `mul_.Tensor` (in place)\n"
        "- `mul.out` (out)\n"
        "- `_foreach_mul.List` (foreach)\n"
        "- `_foreach_mul_.List` (foreach, in place)\n"
        "- `_foreach_mul.Tensor` (foreach)\n"
        "- `_foreach_mul_.Tensor` (foreach, in place)"
    )
    first, *others = kernels.splitlines()
    assert first.startswith("- kernels: those of `mul.out`, and `SparseCPU`, ")
    assert others == ["- tags: `core`, `pointwise`", "- called as function and method"]


NEG = "- name: neg(Tensor self) -> Tensor\n  self: at::neg(grad)\n  result: auto_linear\n"
DISPATCH = "- name: neg(Tensor self) -> Tensor\n  dispatch:\n    Default:\n      self: -grad\n"
#: What is shown for a place, and the text that it is about.
SHOWN = {
    "an argument of the schema: its gradient, and how it is saved": (
        MUL, "Tensor oth§er)",
        "```text\nTensor other\n```\n\nC++ type `at::Tensor`\n\n"
        "gradient: `mul_tensor_backward(grad, self, other.scalar_type())`\n\n"
        "saved as:\n- `at::Tensor other`, for `self`\n"
        "- `at::ScalarType other_scalar_type` = `other.scalar_type()`, for `other`",
        "other",
    ),
    "a return: its name and its forward formula": (
        SORT, "Tensor val§ues,",
        "```text\nTensor values\n```\n\noutput 0, `values` in formulas\n\n"
        "tangent: `gather_with_keepdimed_indices(self_t, dim, indices, true)`",
        "values",
    ),
    "a variable: its type, what it is, and how it is saved": (
        MUL, "(grad, oth§er, self.scalar",
        "```cpp\nTensor& other\n```\n\nargument `Tensor other`\n\nsaved as:\n- `at::Tensor other`", "other",
    ),
    "a gradient": (
        MUL, "(gr§ad, other", "```cpp\nconst Tensor& grad\n```\n\ngradient of the output `result`", "grad",
    ),
    "a tangent": (
        MUL, "result: oth§er_t", "```cpp\nat::Tensor other_t\n```\n\ntangent of `Tensor other`", "other_t",
    ),
    "an output": (
        SORT, "dim, ind§ices, self",
        "```cpp\nTensor& indices\n```\n\noutput 1, `Tensor indices`\n\nsaved as:\n- `at::Tensor indices`", "indices",
    ),
    "a helper: its declarations, and the type and degree of the call": (
        SUM, "self: sum_§backward",
        "```cpp\n"
        "Tensor sum_backward(Tensor grad, ArrayRef<SymInt> sizes, OptionalArrayRef<int64_t> opt_dims, bool keepdim)\n"
        "Tensor sum_backward(Tensor grad, ArrayRef<SymInt> sizes, ArrayRef<int64_t> dims, bool keepdim)\n```\n\n"
        "`sum_backward(…)` is a `Tensor`, linear in the gradients",
        "sum_backward",
    ),
    "an operator: its signatures, schemas and own derivatives": (
        NEG, "at::n§eg",
        "```cpp\nTensor neg(Tensor self)\n```\n\n```text\nneg(Tensor self) -> Tensor\n```\n\n"
        "derivatives:\n- `neg` (line 1): `self`, `result`\n\n"
        "`neg(…)` is a `Tensor`, linear in the gradients",
        "neg",
    ),
    "a method: its declaration": (
        MUL, "self.scal§ar_type()",
        "```cpp\nScalarType scalar_type()\n```\n\n`scalar_type(…)` is a `ScalarType`, without gradients", "scalar_type",
    ),
    "an operator of C++: type, degree, and what the formula needs": (
        MUL, "other_t §* self_p",
        "`other_t * self_p` is a `Tensor`, linear in the tangents\n\n"
        "forward formula (JVP): tangent of `result`\n\n"
        "needs `self_t`, `other_t`, `self_p`, `other_p`",
        "other_t * self_p",
    ),
    "an automatic formula: what it stands for": (
        SUM, "auto_§linear",
        "forward formula (JVP): tangent of `result`\n\n`auto_linear` stands for\n\n"
        "```cpp\nat::sum(self_t, dim, keepdim, dtype)\n```\n\nneeds `self_t`",
        "auto_linear",
    ),
    "a key: what it declares, and what the formula saves": (
        MUL, "\n  sel§f: mul",
        "`self`: argument `Tensor self`\n\nbackward formula (VJP): gradient of `self`\n\n"
        "saves:\n- `at::ScalarType self_scalar_type` = `self.scalar_type()`\n- `at::Tensor other`",
        "self",
    ),
    "a dispatch key: its formulas and its node": (
        DISPATCH, "Def§ault",
        "dispatch key `Default` with formulas for `self`\n\nautograd node: `NegBackward0`", "Default",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_a_place_shows(name: str) -> None:
    text, place, markdown, span = SHOWN[name]
    assert reported(text, place) == (markdown, span)


def test_a_helper_whose_body_is_known_shows_where_and_what_it_is_linear_in() -> None:
    text = "Tensor sum_backward(const Tensor& grad, int dim) {\n  return grad.expand(dim);\n}\n"
    natives = index().with_bodies(lambda: read_bodies(SourceFile("helpers/Mine.cpp", text), use_cache=False))
    offset = SUM.index("sum_backward") + 2
    found = hover(analysis_of(SUM, natives), offset)
    assert found is not None
    assert found.markdown.split("\n\n")[1] == "defined in:\n- Mine.cpp, line 1: linear in `grad`"


def test_the_keys_of_an_entry_are_explained() -> None:
    markdown, span = reported(SORT, "output_differ§entiability")
    assert span == "output_differentiability"
    assert markdown.endswith("- `values`: differentiable\n- `indices`: not differentiable")


def test_a_rule_in_a_suppression_shows_its_page() -> None:
    text = "# derivlint: ignore[nonlinear-gradient] a reason\n" + MUL
    markdown, span = reported(text, "nonlinear-§gradient")
    assert span == "nonlinear-gradient"
    assert markdown.startswith("# nonlinear-gradient\n")
    assert "## Why it is bad" in markdown
    assert "## Messages" not in markdown
    assert markdown.endswith("/nonlinear-gradient.md)")
    assert reported("# derivlint: ignore[no-such] x\n" + MUL, "no-§such")[0] == "no rule is called `no-such`"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("- name: nosuch(Tensor self) -> Tensor\n  self: grad * self.f(x)[0]\n", "nosu§ch"),
        ("- name: nosuch(Tensor self) -> Tensor\n  self: grad * self.f(x)[0]\n", "gra§d"),
        ("- name: nosuch(Tensor self) -> Tensor\n  self: grad * self.f(x)[0]\n", ".f§(x)"),
        ("- name: nosuch(\n  self: grad\n", "nosu§ch"),
        ("- name: neg(Tensor self) -> Tensor\n  self: grad * (\n", "gra§d"),
        ("- name: neg(Tensor self) -> Tensor\n  slef: grad\n", "sle§f"),
        ("- name: neg(Tensor self) -> Tensor\n  self: nosuch::f(grad)\n", "nosuch::f§("),
        ("- name: neg(Tensor self) -> Tensor\n  self: nosuch(grad)\n", "nosu§ch"),
    ],
)
def test_what_is_not_understood_is_still_answered(text: str, place: str) -> None:
    analysis, offset = at(text, place)
    found = hover(analysis, offset)
    assert found is not None
    assert found.markdown


def test_nothing_is_shown_for_what_is_outside_of_entries() -> None:
    analysis, offset = at(f"# a com§ment\n\n{MUL}".replace("§", ""), "# a com§ment")
    assert hover(analysis, offset) is None
