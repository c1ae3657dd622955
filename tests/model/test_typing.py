"""Where type problems of a formula are reported: at the exact part of the written text, and only once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from derivlint.cpp.declarations.header import read_declarations
from derivlint.cpp.library import library_of
from derivlint.model import Model, build_model
from derivlint.model.generated.evaluation import Mode, Origin
from derivlint.model.generated.typing import FormulaProblem
from derivlint.schema import NativeFunctions, installed_torch, read_native_functions
from derivlint.source import SourceFile


def problems_of(model: Model) -> list[FormulaProblem]:
    """The problems of all entries."""
    return [problem for entry in model.entries for problem in model.type_problems(entry)]


@pytest.fixture(scope="module")
def complete(bundled_natives: NativeFunctions) -> NativeFunctions:
    """The operators of a file of which every header is known."""
    return bundled_natives.with_declarations(bundled_natives.declarations, complete=True)


def reported(text: str, natives: NativeFunctions) -> list[tuple[str, str, str, str]]:
    """Every problem: its kind, the text at its place, whose formula it is, and which part of the code."""
    source = SourceFile("d.yaml", text)
    return [
        (
            item.problem.kind.value,
            source.text[item.where.start : item.where.end],
            item.evaluation.origin.value,
            item.evaluation.mode.value,
        )
        for item in problems_of(build_model(source, natives))
    ]


YAML, INPLACE, FOREACH = Origin.YAML.value, Origin.INPLACE.value, Origin.FOREACH.value
BACKWARD, FORWARD, SAVE = Mode.BACKWARD.value, Mode.FORWARD.value, Mode.SAVE.value


def test_places_are_exact_behind_saved_properties_and_in_folded_scalars(complete: NativeFunctions) -> None:
    text = """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: >-
    mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(),
    self.layout(), self.conjj())
"""
    assert reported(text, complete) == [("no-such-member", "conjj", YAML, BACKWARD)]


def test_a_saved_property_is_underlined_as_a_whole(complete: NativeFunctions) -> None:
    text = "- name: abs(Tensor self) -> Tensor\n  self: maybe_multiply(self.sym_sizes(), grad)\n"
    assert reported(text, complete) == [("argument-type", "self.sym_sizes()", YAML, BACKWARD)]


def test_what_is_saved_must_be_computable_in_the_kernel(complete: NativeFunctions) -> None:
    text = (
        "- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
        "  self: handle_r_to_c(alpha.scalar_type(), grad)\n"
    )
    assert reported(text, complete) == [("no-such-member", "alpha.scalar_type()", YAML, SAVE)]


def test_variants_are_reported_only_where_the_formula_itself_is_right(complete: NativeFunctions) -> None:
    head = "- name: atan2(Tensor self, Tensor other) -> Tensor\n  self, other: atan2_backward(grad, self, other, {})\n"
    variant = head.format("grad_input_mask") + "  result: other_t * other_p\n"
    assert reported(variant, complete) == [("undeclared-name", "other_t * other_p", INPLACE, FORWARD)]
    both = head.format("grad_input_mask") + "  result: other_t.conjj() * other_p\n"
    assert reported(both, complete) == [("no-such-member", "conjj", YAML, FORWARD)]


def test_a_foreach_variant_has_types_of_its_own(complete: NativeFunctions) -> None:
    text = "- name: clamp_max(Tensor self, Scalar max) -> Tensor\n  self: where(self <= max.conj(), grad, max)\n"
    assert reported(text, complete) == []


@pytest.mark.parametrize(
    "text",
    [
        # a key that names something twice takes no type
        "- name: abs(Tensor self) -> Tensor\n  self, self: grad * self.sgn()\n",
        # a name that is not declared has no type
        "- name: abs(Tensor self) -> Tensor\n  self: grad * slef\n",
        # what is not C++ has no type
        "- name: abs(Tensor self) -> Tensor\n  self: grad * (self\n",
        # "auto linear" is a keyword that is misspelt
        "- name: neg(Tensor self) -> Tensor\n  self: grad.neg()\n  result: auto-linear\n",
    ],
)
def test_what_follows_from_something_else_is_not_reported(text: str, complete: NativeFunctions) -> None:
    assert reported(text, complete) == []


def test_an_automatic_formula_of_a_wrong_one_is_not_reported_as_well(complete: NativeFunctions) -> None:
    text = "- name: exp(Tensor self) -> Tensor\n  self: grad * result.conjj()\n  result: auto_element_wise\n"
    assert reported(text, complete) == [("no-such-member", "conjj", YAML, BACKWARD)]


def test_an_automatic_formula_that_does_not_compile_is_reported(complete: NativeFunctions) -> None:
    """The text replacement makes "at::mean_p" of "at::mean" where an argument is called mean."""
    text = (
        "- name: normal.Tensor_float(Tensor mean, float std=1, *, Generator? generator=None) -> Tensor\n"
        "  mean: grad * at::mean(grad)\n"
        "  result: auto_element_wise\n"
    )
    assert ("not-in-namespace", "auto_element_wise", YAML, FORWARD) in reported(text, complete)


@pytest.mark.parametrize("pair", ["()", "-", "f(", "!", "{"])
def test_a_formula_of_any_depth_is_read(pair: str, complete: NativeFunctions) -> None:
    opening, closing = {"()": ("(", ")"), "f(": ("f(", ")"), "{": ("f({", "})")}.get(pair, (f"{pair} ", ""))
    text = f"- name: exp(Tensor self) -> Tensor\n  self: {opening * 3_000}grad{closing * 3_000}\n"
    assert [item for item in reported(text, complete) if len(item[1]) > 20_000] == []


OWN = "- func: my_op(Tensor self, int n) -> Tensor\n"


def test_files_of_others_may_call_what_is_not_known(bundled_natives: NativeFunctions) -> None:
    own = read_native_functions([SourceFile("my.yaml", OWN)])
    natives = NativeFunctions((*bundled_natives.written, *own.written), declarations=bundled_natives.declarations)
    text = "- name: my_op(Tensor self, int n) -> Tensor\n  self: my_op_backward(grad, n, MY_CONSTANT) + my::f(grad)\n"
    assert reported(text, natives) == []
    wrong = "- name: my_op(Tensor self, int n) -> Tensor\n  self: maybe_multiply(n, grad)\n"
    assert reported(wrong, natives) == [("argument-type", "n", YAML, BACKWARD)]


def test_a_file_of_another_release_is_judged_without_the_helpers_of_this_one(bundled_natives: NativeFunctions) -> None:
    unknown = "".join(f"- name: gone_{index}(Tensor self) -> Tensor\n  self: grad\n" for index in range(5))
    text = "- name: neg(Tensor self) -> Tensor\n  self: maybe_multiply(grad, 1, 2, 3)\n"
    assert reported(text, bundled_natives) == [("argument-count", "maybe_multiply(grad, 1, 2, 3)", YAML, BACKWARD)]
    assert reported(unknown + text, bundled_natives) == []
    accepted = "- name: cos(Tensor self) -> Tensor\n  self: maybe_multiply(grad, 2).sinn()\n"
    assert reported(accepted, bundled_natives) == [("no-such-member", "sinn", YAML, BACKWARD)]
    # who returns what is not known then
    assert reported(unknown + accepted, bundled_natives) == []
    # the C++ is not put together again with each edit
    made = library_of.cache_info().misses
    assert reported(unknown + text + "\n", bundled_natives) == []
    assert library_of.cache_info().misses == made


def test_the_released_file_has_no_problems(derivatives_path: Path, bundled_natives: NativeFunctions) -> None:
    model: Model = build_model(SourceFile.read(derivatives_path), bundled_natives)
    assert model.is_pytorchs_own
    assert {item.problem.kind.value for item in problems_of(model)} == {"integer-base", "integer-division"}


#: Pieces of declarations that end up in wrong places of a header.
PIECES = (
    "T", "template <typename T> ", "&", "Tensor", "std::optional<", ">", ",", ")", "...", "};", "std::array<bool,N>",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_whatever_a_header_declares_formulas_are_read(
    seed: int, derivatives_path: Path, bundled_natives: NativeFunctions
) -> None:
    torch = installed_torch()
    assert torch is not None
    assert torch.functions_manual is not None
    dice = random.Random(seed)
    text = torch.functions_manual.read_text(encoding="utf-8")
    for _ in range(60):
        at = dice.randrange(len(text))
        text = text[:at] + dice.choice(PIECES) + text[at + dice.randrange(4) :]
    declarations = read_declarations(text).declarations.to_json()
    natives = bundled_natives.with_declarations(declarations, complete=True)
    model = build_model(SourceFile.read(derivatives_path), natives)
    assert all(item.written.entry in model.entries for item in problems_of(model))
