"""Completion and signature help in text that is being written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.lsp.features.completions.completion import completions
from derivlint.lsp.features.completions.context import MAX_PROPOSALS, completion_context, decoded
from derivlint.lsp.features.completions.formula_completion import SignatureHelp, resolve, signature_help
from tests.lsp.feature_analysis import MUL, SORT, analysis_of

ADDCMUL = "- name: addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor\n"
SORTED = "- name: sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)\n"
#: What was readable before.
LAST = analysis_of(MUL)


def proposed(text: str) -> list[str]:
    """The labels that are proposed at the mark."""
    offset = text.index("§")
    return [item.label for item in completions(LAST, text.replace("§", ""), offset).items]


def written(text: str, label: str) -> str:
    """The text after a proposal was taken."""
    offset = text.index("§")
    present = text.replace("§", "")
    item = next(item for item in completions(LAST, present, offset).items if item.label == label)
    return present[: item.span.start] + item.text + present[item.span.end :]


# ---- formulas


def test_names_in_scope_come_first_in_the_order_of_the_schema() -> None:
    found = proposed(f"{ADDCMUL}  self: grad * §\n")
    assert found[:7] == ["self", "tensor1", "tensor2", "value", "result", "grad", "grads"]
    assert "self_t" not in found
    assert "auto_linear" not in found


def test_a_forward_formula_has_primals_tangents_and_automatic_formulas() -> None:
    text = f"{ADDCMUL}  self: grad\n  result: §\n"
    found = proposed(text)
    names = ["result", "self", "tensor1", "tensor2", "value", "self_p", "self_t", "auto_element_wise", "auto_linear"]
    assert found[:9] == names
    # the tangents of the others are there once their gradients are
    assert found[9:13] == ["tensor1_p", "tensor1_t", "tensor2_p", "tensor2_t"]
    assert "grad" not in found


def test_a_prefix_is_replaced_whatever_stands_around() -> None:
    assert written(f"{ADDCMUL}  self: grad * tens§ + 1\n", "tensor1") == f"{ADDCMUL}  self: grad * tensor1 + 1\n"
    assert written(f'{ADDCMUL}  self: "f(x,\n    va§"\n', "value") == f'{ADDCMUL}  self: "f(x,\n    value"\n'
    assert written(f"{ADDCMUL}  self: >\n    f(x,\n    va§\n", "value") == f"{ADDCMUL}  self: >\n    f(x,\n    value\n"


def test_gradients_follow_the_differentiable_outputs() -> None:
    assert proposed(f"{SORTED}  output_differentiability: [True, False]\n  self: grad§\n")[:3] == [
        "grad",
        "grads",
        "grad_values",
    ]
    assert proposed(f"{SORTED}  output_differentiability: [True, True]\n  self: grads§\n") == [
        "grads",
        "grads[0]",
        "grads[1]",
    ]


def test_the_mask_is_for_keys_with_several_names() -> None:
    assert "grad_input_mask" in proposed(f"{ADDCMUL}  self, tensor1: f(gra§)\n")
    assert "grad_input_mask" not in proposed(f"{ADDCMUL}  self: f(gra§)\n")


@pytest.mark.parametrize(
    ("formula", "expected", "kind", "detail"),
    [
        ("at::zero§", "zeros_like", "Function", "zeros_like(Tensor self, "),
        ("self.sym_si§", "sym_sizes", "Method", "ArrayRef<SymInt> sym_sizes()"),
        ("(grad * self).neg§", "neg", "Method", "neg(Tensor self) -> Tensor"),
        ("std::get<0>(std::tuple<Tensor, Tensor>()).neg§", "neg", "Method", "neg(Tensor self) -> Tensor"),
        ("self.sym_sizes().si§", "size", "Method", "size_t size()"),
        ("at::kLon§", "kLong", "Constant", "ScalarType"),
        ("maybe_mul§", "maybe_multiply", "Function", "Tensor maybe_multiply(Tensor t, Scalar s)"),
        ("at§", "at", "Module", "namespace"),
    ],
)
def test_functions_and_members_that_fit_are_proposed_with_their_signatures(
    formula: str, expected: str, kind: str, detail: str
) -> None:
    text = f"{ADDCMUL}  self: {formula}\n"
    offset = text.index("§")
    items = completions(LAST, text.replace("§", ""), offset).items
    found = next(item for item in items if item.label == expected)
    assert found.kind == kind
    assert found.detail.startswith(detail)


def test_broken_yaml_and_broken_formulas_are_completed() -> None:
    # "at::" at the end of a line is not YAML
    assert "abs" in proposed(f"{ADDCMUL}  self: at::§\n  result: auto_linear\n")
    assert "conj" in proposed(f"{ADDCMUL}  self: self.§\n")
    assert proposed(f'{ADDCMUL}  self: "grad * (f(x, val§')[0] == "value"
    assert proposed(f"{MUL}\n{ADDCMUL}  self: grad * tens§\n\n- name: [\n")[0] == "tensor1"


def test_nothing_is_proposed_in_strings_numbers_and_comments() -> None:
    assert proposed(f'{ADDCMUL}  self: not_implemented("add§\n') == []
    assert proposed(f"{ADDCMUL}  self: grad * 1§\n") == []
    assert proposed(f"{ADDCMUL}  self: grad # a comm§\n") == []
    assert proposed(f"{ADDCMUL}  # a comm§\n") == []
    assert proposed("# gra§\n") == []


def test_helpers_of_the_operator_come_before_others() -> None:
    found = proposed("- name: atan2(Tensor self, Tensor other) -> Tensor\n  self: a§\n")
    helpers = [name for name in found if name.endswith("_backward")]
    assert helpers[0] == "atan2_backward"


def test_the_declarations_of_a_proposal_are_reported_when_asked_for() -> None:
    text = f"{ADDCMUL}  self: at::neg§\n"
    offset = text.index("§")
    items = completions(LAST, text.replace("§", ""), offset).items
    found = next(item for item in items if item.label == "neg")
    assert resolve(LAST, found.data) == "```cpp\nTensor neg(Tensor self)\n```"


def test_a_long_list_is_cut_and_says_so() -> None:
    text = f"{ADDCMUL}  self: at::\n"
    found = completions(LAST, text, text.index("at::") + 4)
    assert len(found.items) == MAX_PROPOSALS
    assert not found.is_complete
    text = f"{ADDCMUL}  self: at::zeros_l\n"
    assert completions(LAST, text, text.index("zeros_l") + 7).is_complete


# ---- keys, schemas, comments


def test_missing_keys_of_the_entry_are_proposed() -> None:
    assert proposed(f"{ADDCMUL}  §\n") == [
        "self",
        "tensor1",
        "tensor2",
        "result",
        "output_differentiability",
        "dispatch",
    ]
    assert proposed(f"{ADDCMUL}  self, tensor2: f()\n  §\n") == ["tensor1", "result", "output_differentiability"]
    assert proposed(f"{ADDCMUL}  te§\n  self: grad\n") == ["tensor1", "tensor2"]
    assert proposed("- §") == ["name"]


def test_a_key_is_written_with_its_colon_unless_there_is_one() -> None:
    assert written(f"{ADDCMUL}  te§\n", "tensor1") == f"{ADDCMUL}  tensor1: \n"
    assert written(f"{ADDCMUL}  te§: grad\n", "tensor1") == f"{ADDCMUL}  tensor1: grad\n"
    assert written("- na§", "name") == "- name: "


def test_dispatch_has_keys_and_formulas() -> None:
    assert proposed(f"{ADDCMUL}  dispatch:\n    §\n")[:2] == ["Default", "AutogradNestedTensor"]
    text = f"{ADDCMUL}  dispatch:\n    Default:\n      self: grad\n"
    assert "Default" not in proposed(f"{text}    §\n")
    assert proposed(f"{text}      §\n") == ["tensor1", "tensor2", "result"]
    assert proposed(f"{text}    AutogradCUDA:\n      §\n") == ["self", "tensor1", "tensor2", "result"]
    assert proposed(f"{ADDCMUL}  dispatch:\n    Default:\n      self: val§\n")[0] == "value"
    assert proposed(f"{text}  §\n") == ["output_differentiability"]


def test_whole_schemas_are_proposed_behind_name() -> None:
    found = proposed("- name: addcm§")
    assert found[:3] == ["addcmul", "addcmul_", "addcmul.out"]
    assert written("- name: addcm§\n", "addcmul") == ADDCMUL
    assert written("- name: addcmul(Ten§sor self)\n", "addcmul") == ADDCMUL
    assert written('- name: "addcm§"\n', "addcmul") == ADDCMUL.replace("addcmul", '"addcmul').replace("\n", '"\n')


def test_operators_with_an_entry_come_behind_those_without() -> None:
    found = proposed("- name: mul§")
    assert found.index("mul_.Tensor") < found.index("mul.Tensor")


def test_flags_have_the_length_of_the_outputs() -> None:
    assert proposed(f"{SORTED}  output_differentiability: §\n") == [
        "[True, True]",
        "[False, False]",
        "[True, False]",
        "[False, True]",
    ]
    assert (
        written(f"{SORTED}  output_differentiability: [T§\n", "[True, False]")
        == f"{SORTED}  output_differentiability: [True, False]\n"
    )


def test_rules_are_proposed_in_suppressions() -> None:
    text = "# derivlint: ignore[nonlinear-gradient, nonlinear-§\n"
    assert proposed(text) == ["nonlinear-gradient", "nonlinear-helper", "nonlinear-tangent"]
    expected = "# derivlint: ignore[nonlinear-gradient, nonlinear-tangent\n"
    assert written(text, "nonlinear-tangent") == expected
    assert proposed(f"{ADDCMUL}  self: grad # derivlint: ignore[nonlinear-g§]\n") == ["nonlinear-gradient"]


# ---- reading what is written


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (" grad * self", "grad * self"), (" grad\n    * self\n", "grad * self"), (" 'it''s'", "it's"),
        (' "a \\"b\\""', 'a "b"'), (' "a" # comment', "a"), (" a # comment", "a"), (" |\n    a\n    b\n", "a b"),
        (' "open', "open"), ("", ""),
    ],
)  # fmt: skip
def test_values_are_decoded(raw: str, expected: str) -> None:
    assert decoded(raw) == expected


def test_the_keys_of_the_item_are_read_by_their_indentation() -> None:
    text = (
        f"{SORT}\n{ADDCMUL}  dispatch:\n    # why\n    Default:\n      self: grad ? a\n        : b\n"
        '      "tensor1, tensor2": x\n    AutogradCUDA:\n      self: y\n\n- name: z\n'
    )
    found = completion_context(LAST, text, text.index("? a"))
    assert found is not None
    assert [(pair.path, pair.key) for pair in found.pairs] == [
        ((), "name"),
        ((), "dispatch"),
        (("dispatch",), "Default"),
        (("dispatch", "Default"), "self"),
        (("dispatch", "Default"), "tensor1, tensor2"),
        (("dispatch",), "AutogradCUDA"),
        (("dispatch", "AutogradCUDA"), "self"),
    ]
    assert found.schema == ADDCMUL.removeprefix("- name: ").rstrip()
    assert found.before == "grad "


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_ends_a_line(end: str) -> None:
    text = f"# é😀\n{ADDCMUL}  dispatch:\n    Default:\n      self: grad\n      te§\n    AutogradCUDA:\n".replace(
        "\n", end
    )
    assert proposed(text) == ["tensor1", "tensor2"]
    assert written(text, "tensor2") == text.replace("te§", "tensor2: ")


@given(st.sampled_from([ADDCMUL + "  self: grad * (f(x\n", MUL, SORT, f"{MUL}  # derivlint: ignore[x]\n"]), st.data())
def test_any_text_is_answered_and_a_proposal_changes_one_line_at_most(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    typed = data.draw(
        st.sampled_from(["", '"', "'", "(", "[", "{", ":", "#", "\n", "- ", "::", ".", "\r\n", "|", "é", "\0"])
    )
    text = text[:offset] + typed + text[offset + data.draw(st.integers(0, 9)) :]
    offset += len(typed)
    signature_help(LAST, text, offset)
    for item in completions(LAST, text, offset).items:
        assert 0 <= item.span.start <= offset <= item.span.end <= len(text)
        assert "\n" not in text[item.span.start : item.span.end]


def test_crlf_and_non_ascii_text_are_no_obstacle() -> None:
    text = f"# é😀\r\n{ADDCMUL}  self: grad * ten§\r\n  result: auto_linear\r\n".replace("Tensor\n", "Tensor\r\n")
    assert written(text, "tensor1") == text.replace("ten§", "tensor1")


# ---- signature help


def helped(text: str) -> SignatureHelp | None:
    offset = text.index("§")
    return signature_help(LAST, text.replace("§", ""), offset)


@pytest.mark.parametrize(
    ("formula", "label", "parameter"),
    [
        ("maybe_multiply(§", "Tensor maybe_multiply(Tensor t, Scalar s)", "Tensor t"),
        ("maybe_multiply(grad, §)", "Tensor maybe_multiply(Tensor t, Scalar s)", "Scalar s"),
        ("maybe_multiply(f(a, b), §", "Tensor maybe_multiply(Tensor t, Scalar s)", "Scalar s"),
        ("grad + (maybe_multiply(grad * (1 + 2), v§", "Tensor maybe_multiply(Tensor t, Scalar s)", "Scalar s"),
        ("at::mul(grad, §", "Tensor mul(Tensor self, Tensor other)", "Tensor other"),
        ("grad.mul(§", "Tensor mul(Tensor other)", "Tensor other"),
        ("(grad + self).mul(§)", "Tensor mul(Tensor other)", "Tensor other"),
        (
            "at::stack({grad, §}",
            "Tensor stack(ArrayRef<Tensor> tensors, int64_t dim = ...)",
            "ArrayRef<Tensor> tensors",
        ),
    ],
)
def test_the_parameter_that_is_being_written_is_marked(formula: str, label: str, parameter: str) -> None:
    found = helped(f"{ADDCMUL}  self: {formula}\n")
    assert found is not None
    active = found.signatures[found.active]
    assert active.label == label
    start, end = active.parameters[found.parameter]
    assert active.label[start:end] == parameter


def test_the_overload_that_has_the_parameter_is_active() -> None:
    found = helped(f"{ADDCMUL}  self: grad.sum(0, §\n")
    assert found is not None
    assert found.signatures[found.active].label == (
        "Tensor sum(OptionalArrayRef<int64_t> dim, bool keepdim = ..., optional<ScalarType> dtype = ...)"
    )
    assert len(found.signatures) > 1


@pytest.mark.parametrize("formula", ["grad * §", "(grad * §", "f[0, §", "{1, §", "nosuch(§", "maybe_multiply(a, b)§"])
def test_outside_of_known_calls_there_is_no_help(formula: str) -> None:
    assert helped(f"{ADDCMUL}  self: {formula}\n") is None


def test_help_is_for_formulas_only() -> None:
    assert helped("- name: addcmul(Tensor§ self)\n") is None
    assert helped("# f(§\n") is None
