"""Forms of one operator, sibling operators, and the backends that formulas hold for."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.analysis.dispatch import autograd_key, bodies_without_default
from derivlint.analysis.siblings import common_name, main_form_without_derivative, odd_parts
from derivlint.model import Model, build_model
from derivlint.schema import NativeFunctions, load_index
from derivlint.source import SourceFile


@cache
def bundled() -> NativeFunctions:
    return load_index()


def model_of(text: str) -> Model:
    return build_model(SourceFile("derivatives.yaml", text), bundled())


# ---- forms of one operator

TRIL = "- name: tril(Tensor self, SymInt diagonal=0) -> Tensor\n  self: grad.tril_symint(diagonal)\n"
TRIL_INPLACE = "- name: tril_(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)\n  self: grad.tril_symint(diagonal)\n"


def main_forms(model: Model) -> list[tuple[str, bool]]:
    found = [main_form_without_derivative(model, entry) for entry in model.entries]
    return [(str(each.function.name), each.is_inplace) for each in found if each is not None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TRIL, []),
        (TRIL_INPLACE, [("tril", True)]),
        (TRIL + TRIL_INPLACE, []),
        # the second entry for the same function is reported as that
        (TRIL_INPLACE + TRIL_INPLACE, []),
        # the functional form is made of others
        ("- name: conj_physical_(Tensor(a!) self) -> Tensor(a!)\n  self: grad.conj_physical()\n", []),
        # it gives nothing a derivative
        ("- name: tril_(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)\n  self: non_differentiable\n", []),
        # the forward formula needs the old value, which is reported
        (TRIL_INPLACE + "  result: self_t.tril() * self_p\n", []),
        ("- name: erf_(Tensor(a!) self) -> Tensor(a!)\n  self: grad * f(self)\n  result: auto_element_wise\n", []),
        # overloads are compared in PyTorch's own file only
        ("- name: mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor\n  self: grad.mm(mat2.t())\n", []),
    ],
)
def test_an_in_place_entry_needs_an_entry_of_the_functional_form(text: str, expected: list[tuple[str, bool]]) -> None:
    assert main_forms(model_of(text)) == expected


def test_the_main_forms_of_the_installed_file(derivatives_path: Path, installed_natives: NativeFunctions) -> None:
    """None lacks a derivative; one whose entry is written for another overload or the in-place form does."""
    text = derivatives_path.read_text(encoding="utf-8")
    assert main_forms(build_model(SourceFile("derivatives.yaml", text), installed_natives)) == []
    schemas = {
        "mm(Tensor self, Tensor mat2) -> Tensor": "mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor",
        "tril(Tensor self, SymInt diagonal=0) -> Tensor": "tril_(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)",
    }
    for right, wrong in schemas.items():
        assert text.count(f"- name: {right}\n") == 1
        text = text.replace(f"- name: {right}\n", f"- name: {wrong}\n")
    changed = build_model(SourceFile("derivatives.yaml", text), installed_natives)
    assert sorted(main_forms(changed)) == [("mm", False), ("tril", True)]


# ---- siblings


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("max_pool2d_with_indices", ("max_poolNd_with_indices", "2")),
        ("max_pool3d_with_indices", ("max_poolNd_with_indices", "3")),
        ("cudnn_batch_norm", ("<library>_batch_norm", "")),
        ("miopen_batch_norm", ("<library>_batch_norm", "")),
        ("_cudnn_rnn", ("_<library>_rnn", "")),
        ("atan2", ("atan2", "")),
    ],
)
def test_siblings_have_a_name_in_common(name: str, expected: tuple[str, str]) -> None:
    assert common_name(name) == expected


PADS = """\
- name: replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor
  self: {0}
- name: replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor
  self: {1}
"""


def odd(first: str, second: str) -> list[tuple[str, str]]:
    model = model_of(PADS.format(first, second))
    return [
        (model.source.text[slice(*part.written.range(part.start, part.end))], part.sibling_text)
        for entry in model.entries
        for part in odd_parts(model, entry)
    ]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("pad2d_backward(grad, self)", "pad3d_backward(grad, self)", []),
        ("pad2d_backward(grad, self)", "pad3d_backward(grad, padding)", [("padding", "self")]),
        ("f(grad, 2)", "f(grad, 3)", []),
        ("f(grad, 4)", "f(grad, 5)", [("5", "4")]),
        ("f(grad, 'message 2')", "f(grad, 'message 3')", [("'message 3'", "'message 2'")]),
        ('not_implemented("pad2d")', 'not_implemented("three")', []),
        ("f(grad,  self)", "f(grad, self)", []),
        # two differences, and another number of tokens
        ("f(grad, self)", "g(grad, padding)", []),
        ("f(grad, self)", "f(grad, self, padding)", []),
        # one difference twice
        ("f(grad, at::k, self, at::k)", "f(grad, at::m, self, at::m)", [("m", "k")]),
        # a method, and the argument of one
        ("f(grad.contiguous(), self)", "f(grad, self)", [("grad", "grad.contiguous()")]),
        ("f(grad, self)", "f(grad, self.contiguous(at::k))", [("self.contiguous(at::k)", "self")]),
        ("f(grad.contiguous(g()), self)", "f(grad.contiguous(), self)", [("contiguous()", "contiguous(g())")]),
    ],
)
def test_a_single_token_is_odd(first: str, second: str, expected: list[tuple[str, str]]) -> None:
    assert odd(first, second) == expected


WORDS = st.lists(st.sampled_from(["grad", "self", "padding"]), min_size=1, max_size=5)


@given(WORDS, WORDS)
def test_a_token_is_odd_exactly_where_one_argument_differs(first: list[str], second: list[str]) -> None:
    differences = list(
        dict.fromkeys((later, earlier) for earlier, later in zip(first, second, strict=False) if later != earlier)
    )
    expected = differences if len(first) == len(second) and len(differences) == 1 else []
    assert odd(f"f({', '.join(first)})", f"f({', '.join(second)})") == expected


def test_the_siblings_of_the_installed_file_agree(derivatives_path: Path, installed_natives: NativeFunctions) -> None:
    model = build_model(SourceFile.read(derivatives_path), installed_natives)
    assert [entry.operator for entry in model.entries if any(odd_parts(model, entry))] == []


# ---- dispatch keys


def test_nested_tensors_share_a_key() -> None:
    assert [autograd_key(each) for each in ("CUDA", "NestedTensorCPU", "NestedTensorCUDA")] == [
        "AutogradCUDA",
        "AutogradNestedTensor",
        "AutogradNestedTensor",
    ]


GELU = "- name: gelu(Tensor self, *, str approximate='none') -> Tensor\n  dispatch:\n"


def dispatched(*keys: str, head: str = GELU, formula: str = "self: f(grad)") -> tuple[str, ...]:
    model = model_of(head + "".join(f"    {key}:\n      {formula}\n" for key in keys))
    return bodies_without_default(model, model.entries[0])


def test_formulas_for_single_backends_need_a_default() -> None:
    assert dispatched("AutogradCUDA") == ("AutogradCUDA",)
    assert dispatched("AutogradCUDA", "AutogradNestedTensor") == ("AutogradCUDA", "AutogradNestedTensor")
    assert dispatched("Default", "AutogradCUDA") == ()
    # a misspelt key, which is reported as that
    assert dispatched("AutogradCUDO") == ()
    assert dispatched("AutogradCUDA", formula="self: non_differentiable") == ()


def test_a_composite_operator_needs_no_default() -> None:
    head = "- name: matmul(Tensor self, Tensor other) -> Tensor\n  dispatch:\n"
    assert dispatched("AutogradNestedTensor", head=head, formula="self, other: f(grad)") == ()


def test_an_operator_of_one_backend_needs_no_default() -> None:
    head = """\
- name: _cudnn_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank, \
bool deterministic, bool zero_infinity) -> (Tensor, Tensor)
  dispatch:
"""
    assert dispatched("AutogradCUDA", head=head, formula="log_probs: f(grad)") == ()
    assert dispatched("AutogradCPU", head=head, formula="log_probs: f(grad)") == ("AutogradCPU",)
