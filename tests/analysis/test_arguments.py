"""Which arguments lack a derivative, which masks are constant, and in which order keys have their names."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.analysis import analyses_of
from derivlint.analysis.calls.key_order import call_orders, reordered_key
from derivlint.analysis.dependence.arguments import (
    BY_ARGUMENT,
    dropped_values,
    is_discrete,
    missing_derivatives,
    other_masks,
)
from derivlint.model import Model, build_model
from derivlint.schema import NativeFunctions, load_index
from derivlint.source import SourceFile


@cache
def bundled() -> NativeFunctions:
    return load_index()


def model_of(text: str, natives: NativeFunctions | None = None) -> Model:
    return build_model(SourceFile("derivatives.yaml", text), natives or bundled())


@pytest.fixture(scope="module")
def installed(derivatives_path: Path, installed_natives: NativeFunctions) -> Model:
    """PyTorch's own file, with the declarations of the bundled index."""
    natives = installed_natives.with_declarations(load_index().declarations, complete=False)
    return build_model(SourceFile.read(derivatives_path), natives)


def missing(text: str) -> list[tuple[str, str | None, int]]:
    """Each argument, the key of the formula that reads it, and how many other entries give it one as a rule."""
    model = model_of(text)
    analyses = analyses_of(model)
    return [
        (
            each.argument,
            each.reader.written.key_text if each.reader is not None else None,
            each.n_with_formula,
        )
        for entry in model.entries
        for each in missing_derivatives(analyses, entry, 5)
    ]


# ---- arguments without a formula


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # lerp's weight had no formula until PyTorch 1.4
        (
            "- name: lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor\n"
            "  self: grad * (1 - weight)\n  end: grad * weight\n",
            [("weight", "self", 0)],
        ),
        (
            "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
            "  self: grad * other\n  other: non_differentiable\n",
            [("other", "self", 0)],
        ),
        # its sizes only
        ("- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  self: grad.expand(other.sym_sizes())\n", []),
        # an index by its name
        (
            "- name: gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor\n"
            "  self: grad.gather(dim, index)\n",
            [],
        ),
        # the tangent that does not exist is reported already
        (
            "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  self: grad * other\n"
            "  result: self_t * other_p + other_t * self_p\n",
            [],
        ),
        # nothing is differentiable, and no values are known
        ("- name: _masked_scale(Tensor self, Tensor mask, float scale) -> Tensor\n  self: non_differentiable\n", []),
    ],
)
def test_an_argument_whose_value_another_formula_reads_needs_one(
    text: str, expected: list[tuple[str, str | None, int]]
) -> None:
    assert missing(text) == expected


SELF = "- name: {0}(Tensor self) -> Tensor\n  self: grad * f(self)\n"
SCALE = (
    "- name: _masked_scale(Tensor self, Tensor mask, float scale) -> Tensor\n  self: non_differentiable\n  mask: {0}\n"
)


def test_an_argument_that_all_other_entries_give_a_formula_needs_one() -> None:
    three = "".join(map(SELF.format, ("exp", "log", "sin")))
    assert missing(three + SCALE.format("f(grad)")) == [("self", None, 3)]


def test_two_other_entries_are_not_enough_and_stubs_need_more() -> None:
    names = ("exp", "log", "sin", "cos", "tan", "sqrt", "rsqrt", "erf")
    assert missing("".join(map(SELF.format, names[:2])) + SCALE.format("f(grad)")) == []
    assert missing("".join(map(SELF.format, names[:7])) + SCALE.format('not_implemented("scale")')) == []
    assert missing("".join(map(SELF.format, names)) + SCALE.format('not_implemented("scale")')) == [("self", None, 8)]


def test_the_uses_of_arguments_are_counted_by_entries(installed: Model) -> None:
    assert all(installed.values_in(BY_ARGUMENT, "self"))
    assert len(installed.values_in(BY_ARGUMENT, "self")) > 400
    assert installed.values_in(BY_ARGUMENT, "index").count(False) > 10


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  self: non_differentiable\n", [("self", True)]),
        # a decision of op-plugin
        (
            "- name: kl_div(Tensor self, Tensor target, int reduction=Mean, *, bool log_target=False) -> Tensor\n"
            "  self: f(grad)\n  target: non_differentiable\n",
            [("target", False)],
        ),
        # the derivative is zero
        ("- name: floor(Tensor self) -> Tensor\n  self: non_differentiable\n", []),
        # without any key, the kernel refuses inputs that require a gradient
        ("- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  output_differentiability: [False]\n", []),
    ],
)
def test_an_argument_with_which_the_values_vary_is_differentiable(text: str, expected: list[tuple[str, bool]]) -> None:
    model = model_of(text)
    (entry,) = model.entries
    missing = list(missing_derivatives(analyses_of(model), entry, 5))
    assert [(item.argument, item.is_usual) for item in missing] == expected
    assert all(item.has_derivative for item in missing)


BESSEL_FUNCTIONS = [
    f"special_{name}" for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0",
                                   "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1")
]  # fmt: skip


def test_the_installed_file_lacks_the_formulas_of_two_targets_and_of_the_bessel_functions(installed: Model) -> None:
    """The targets of the other losses have formulas; the bias of ``_grouped_mm`` is optional, and refused as yet.

    A sibling declares the lengths. The Bessel functions have formulas since PyTorch 2.15.
    """
    analyses = analyses_of(installed)
    missing = [item for entry in installed.entries for item in missing_derivatives(analyses, entry, 5)]
    assert [item for item in missing if item.reader is not None] == []
    declared = [(item.body.entry.operator, item.argument) for item in missing if item.written is not None]
    assert declared == [(name, "self") for name in BESSEL_FUNCTIONS]
    undeclared = [item for item in missing if item.written is None]
    assert [(item.body.entry.operator, item.argument, item.is_optional) for item in undeclared] == [
        ("_grouped_mm", "bias", True),
        ("soft_margin_loss", "target", False),
        ("soft_margin_loss_backward", "target", False),
        ("_nested_from_padded_tensor", "min_seqlen", True),
        ("_nested_from_padded_tensor", "max_seqlen", True),
    ]
    siblings = {item.sibling.operator for item in missing if item.sibling is not None}
    assert siblings == {"_nested_view_from_jagged"}


@pytest.mark.parametrize(
    ("head", "formula", "expected"),
    [
        ("mse_loss(Tensor self, Tensor target, int reduction=Mean)", "f(grad, self, target, reduction)", ["target"]),
        # declared, but the values vary with it
        (
            "mse_loss(Tensor self, Tensor target, int reduction=Mean)",
            "f(grad, target)\n  target: non_differentiable",
            ["target"],
        ),
        # optional
        ("native_norm(Tensor self, Scalar p=2)", "f(grad, self, p)", []),
        ("embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type)", "f(grad, indices)", []),
    ],
)
def test_an_argument_that_a_helper_takes_needs_one(head: str, formula: str, expected: list[str]) -> None:
    assert [name for name, _, _ in missing(f"- name: {head} -> Tensor\n  self: {formula}\n")] == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("index", True), ("sorted_indices", True), ("attn_mask", True), ("target", False), ("self", False), ("map", True)],
)
def test_a_name_tells_what_is_discrete(name: str, expected: bool) -> None:
    assert is_discrete(name) == expected


# ---- values without a name


def dropped(text: str) -> list[int]:
    model = model_of(text)
    formulas = [formula for entry in model.entries for formula in analyses_of(model).formulas(entry)]
    return [count for formula in formulas if (count := dropped_values(model, formula)) is not None]


FAKE_QUANTIZE = """\
- name: _fake_quantize_learnable_per_tensor_affine(Tensor self, Tensor scale, Tensor zero_point, int quant_min, \
int quant_max, float grad_factor=1.0) -> Tensor
  {0}: _fake_quantize_learnable_per_tensor_affine_backward(grad, self, scale, zero_point, quant_min, quant_max, 1.0)
"""


@pytest.mark.parametrize(
    ("key", "expected"),
    [("self, scale, zero_point", []), ("self, zero_point", [3]), ("scale, zero_point", [3]), ("self", [])],
)
def test_a_formula_returns_as_many_values_as_its_key_has_names(key: str, expected: list[int]) -> None:
    assert dropped(FAKE_QUANTIZE.format(key)) == expected


def test_a_mask_of_another_length_says_the_same() -> None:
    text = """\
- name: linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
  input, weight: linear_backward(input, grad, weight, grad_input_mask)
"""
    model = model_of(text)
    assert len(model.type_problems(model.entries[0])) == 1
    assert dropped(text) == []


def test_the_installed_file_names_every_value(installed: Model) -> None:
    formulas = [formula for entry in installed.entries for formula in analyses_of(installed).formulas(entry)]
    assert [formula for formula in formulas if dropped_values(installed, formula) is not None] == []
    assert sum(len(formula.written.names) > 1 for formula in formulas) > 80


# ---- masks


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ("grad_input_mask", []),
        ("{true, true, true}", ["{true, true, true}"]),
        ("std::array<bool, 3>{true, false, true}", ["std::array<bool, 3>{true, false, true}"]),
        ("{grad_input_mask[0], true, true}", []),
        ("{grad.defined(), true, true}", []),
        ("output_mask", ["output_mask"]),
    ],
)
def test_a_mask_is_that_of_needed_gradients_or_has_a_condition(mask: str, expected: list[str]) -> None:
    text = f"""\
- name: linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
  input, weight, bias: "grad.defined() ? (linear_backward(input, grad, weight, {mask})) : f()"
"""
    model = model_of(text)
    masks = [item for formula in analyses_of(model).formulas(model.entries[0]) for item in other_masks(formula)]
    assert [formula_text(item.formula.text, item.argument) for item in masks] == expected
    assert all((item.callee, item.parameter, item.size) == ("linear_backward", "output_mask", 3) for item in masks)


def formula_text(text: str, node: object) -> str:
    start, end = getattr(node, "start", 0), getattr(node, "end", 0)
    return text[start:end]


def test_a_call_that_is_only_a_part_of_the_value_may_mask_by_a_constant() -> None:
    text = """\
- name: linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
  input, weight, bias: f(std::get<0>(linear_backward(input, grad, weight, {true, false, false})))
"""
    model = model_of(text)
    assert [list(other_masks(formula)) for formula in analyses_of(model).formulas(model.entries[0])] == [[]]


# ---- the order of names

LSTM = """\
- name: _thnn_fused_gru_cell(Tensor input_gates, Tensor hidden_gates, Tensor hx, Tensor? input_bias=None, \
Tensor? hidden_bias=None) -> (Tensor, Tensor)
  {0}: f(grad, input_gates, hidden_gates.contiguous(), wrap_opt_if(hx, true), input_bias, hidden_bias)
"""
NAMES = ("input_gates", "hidden_gates", "hx", "input_bias", "hidden_bias")


@given(st.permutations(NAMES))
def test_only_the_order_of_schema_and_call_passes(names: list[str]) -> None:
    """Where both agree, every other order is found; it is one slip where exchanging two names fixes it."""
    formula = model_of(LSTM.format(", ".join(names))).entries[0].formulas[0]
    found = reordered_key(formula)
    wrong_places = sum(mine != right for mine, right in zip(names, NAMES, strict=True))
    if wrong_places == 0:
        assert found is None
        return
    assert found is not None
    assert found.right == NAMES
    assert NAMES.index(found.first) > NAMES.index(found.second)
    assert names.index(found.first) < names.index(found.second)
    assert found.is_exchange == (wrong_places == 2)


def test_a_call_in_another_order_than_the_schema_makes_both_orders_pass() -> None:
    text = """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  {0}: f(other, grad, self)
"""
    assert reordered_key(model_of(text.format("self, other")).entries[0].formulas[0]) is None
    assert reordered_key(model_of(text.format("other, self")).entries[0].formulas[0]) is None


def test_the_variables_of_calls_are_found_behind_methods_and_wrappers() -> None:
    formula = model_of(LSTM.format(", ".join(NAMES))).entries[0].formulas[0]
    assert [(call.callee, call.places) for call in call_orders(formula)] == [
        ("f", {"grad": 0, "input_gates": 1, "hidden_gates": 2, "hx": 3, "input_bias": 4, "hidden_bias": 5})
    ]


def test_an_exchange_of_neighbours_in_the_installed_file_is_found(derivatives_path: Path, installed: Model) -> None:
    """No key of the file is reported; of the keys with two names exchanged, nine of ten are."""
    formulas = [formula for entry in installed.entries for formula in entry.formulas if len(formula.names) > 1]
    assert [formula.key_text for formula in formulas if reordered_key(formula) is not None] == []
    text = derivatives_path.read_text(encoding="utf-8")
    tried = found = 0
    for formula in formulas:
        for first, second in list(combinations(range(len(formula.names)), 2))[:2]:
            names = [name.text for name in formula.names]
            names[first], names[second] = names[second], names[first]
            entry = formula.entry.span
            key = formula.key_span
            changed = "- " + text[entry.start : key.start] + ", ".join(names) + text[key.end : entry.end] + "\n"
            model = model_of(changed, installed.natives)
            tried += 1
            found += any(reordered_key(each) is not None for each in model.entries[0].formulas)
    assert tried > 150
    assert found >= 0.9 * tried, (found, tried)
