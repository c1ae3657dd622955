"""One slip is one diagnostic: what rules yield to, and what findings rest on."""

from __future__ import annotations

from graphlib import TopologicalSorter

import pytest

from derivlint.lint import Diagnostic, run_rules
from derivlint.lint.engine.precedence import MISLEADING
from derivlint.model import build_model
from derivlint.project.settings import Settings
from derivlint.rules import NAMES, load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile


def check(text: str, natives: NativeFunctions, *, preview: bool = False) -> list[Diagnostic]:
    """What all rules find that are on by default, or all of them."""
    rules = load_rules() if preview else Settings().selected(load_rules())
    return list(run_rules(build_model(SourceFile("derivatives.yaml", text), natives), rules).diagnostics)


def found(text: str, natives: NativeFunctions) -> list[tuple[str, str | None]]:
    """The rules that find something, each with the operator."""
    return [(item.rule, item.entry) for item in check(text, natives)]


def test_rules_yield_to_rules_that_there_are() -> None:
    named = {name for rule in load_rules() for each in rule.meta.yields_to for name in each.rules}
    assert (named | MISLEADING) - set(NAMES) == set()


def test_of_two_rules_one_yields_at_most() -> None:
    """Else both findings would be dropped."""
    edges = {rule.name: {name for each in rule.meta.yields_to for name in each.rules} for rule in load_rules()}
    assert set(TopologicalSorter(edges).static_order()) <= set(NAMES)


SINGLE = "grad-input-mask-of-single-argument"
SUB = "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
#: Entries with one slip in all, and the rule that finds it.
SLIPS = [
    # a superfluous mask
    ("exp(Tensor self) -> Tensor", "self: maybe_multiply(grad * result.conj(), grad_input_mask[0])", SINGLE),
    ("tan(Tensor self) -> Tensor", "self: grad * (1 + result.pow(2)).conj() * grad_input_mask", SINGLE),
    (SUB, "self: handle_r_to_c(self.scalar_type(), grad, grad_input_mask)\n  other: -grad", SINGLE),
    (
        "atan2(Tensor self, Tensor other) -> Tensor",
        "self, other: atan2_backward(grad, self, other, grad_input_mask, grad_input_mask)",
        "wrong-argument-count",
    ),
    # one formula for several arguments
    ("mul.Tensor(Tensor self, Tensor other) -> Tensor", "self, other: grad * other", "wrong-result-type"),
    ("div.Tensor(Tensor self, Tensor other) -> Tensor", "self, other: grad / other", "wrong-result-type"),
    ("mm(Tensor self, Tensor mat2) -> Tensor", "self, mat2: grad.mm(mat2)", "wrong-result-type"),
    # operators that are never differentiated
    ("logical_not(Tensor self) -> Tensor", "self: grad", "ignored-derivative"),
    ("logical_and(Tensor self, Tensor other) -> Tensor", "self: grad * other\n  other: grad", "ignored-derivative"),
    ("isnan(Tensor self) -> Tensor", "self: grad * self", "ignored-derivative"),
    # exchanged arguments, whatever they are called
    (
        "huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor",
        "self: huber_loss_backward(grad, self, target, delta, reduction)\n"
        "  target: huber_loss_backward(grad, target, self, reduction, delta)",
        "swapped-arguments",
    ),
    (
        "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
        "self: pow_backward_self(grad, exponent, self)\n"
        "  exponent: pow_backward_exponent(grad, self, exponent, result)",
        "swapped-arguments",
    ),
    (
        "div.Tensor(Tensor self, Tensor other) -> Tensor",
        "self: at::div(other, grad)\n  other: div_tensor_other_backward(grad, self, other)",
        "nonlinear-gradient",
    ),
    ("clamp_max(Tensor self, Scalar max) -> Tensor", "self: where(self <= max, 0, grad)", "swapped-arguments"),
    # a template whose arguments follow from those of its constructor
    (
        "exp(Tensor self) -> Tensor",
        "self: (grad * result.conj()).to(std::optional(result.dtype()))",
        "wrong-argument-type",
    ),
    # schemas and conditions
    ("abs(Tesnor self) -> Tensor", "self: grad * self.sgn()", "unknown-schema"),
    (
        "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
        'output_differentiability: ["False"]\n  self: zeros_like(grad)',
        "undefined-name",
    ),
    (
        "view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
        'output_differentiability: ["False"]',
        "undefined-name",
    ),
]  # fmt: skip
#: The same of the rules that are on by default.
EXPLAINED = [
    # a full stop for a comma, which is an argument too few as well; another type
    (
        "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
        "self: leaky_relu_backward(grad, self. negative_slope, false)",
        "undefined-member",
    ),
    ("flip(Tensor self, int[] dims) -> Tensor", "self: grad.flip(dims).expand_symint(self.sizes())", "non-symint-size"),
    # the values are wrong as well where a tangent is missing
    (
        "atan2(Tensor self, Tensor other) -> Tensor",
        "self, other: atan2_backward(grad, self, other, grad_input_mask)\n"
        "  result: -self_p * other_t / (self_p.pow(2) + other_p.pow(2))",
        "missing-tangent",
    ),
    # an automatic formula rests on the backward formula
    ("expm1(Tensor self) -> Tensor", "self: grad * result.conj() + 1\n  result: auto_element_wise", "affine-gradient"),
    (
        "sin(Tensor self) -> Tensor",
        "self: grad.sum(7) * self.cos().conj()\n  result: auto_element_wise",
        "illegal-operand-shapes",
    ),
    # the sizes of a right backward formula do not fit a tangent
    (
        "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
        "self: select_backward_symint(grad, self.sym_sizes(), dim, index)\n  result: auto_element_wise",
        "wrong-auto-element-wise",
    ),
    ("abs(Tensor self) -> Tensor", "self: grad * self.sgn()\n  result: auto_element_wise", "wrong-auto-element-wise"),
    # the main form that is missing may be the entry whose schema is misspelt
    (
        "ell(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
        "self: elu_backward(grad, alpha, scale, input_scale, /* is_result */ false, self)\n"
        "- name: elu_(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor(a!)\n"
        "  self: elu_backward(grad, alpha, scale, input_scale, /* is_result */ true, result)",
        "unknown-schema",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "lines", "rule"), SLIPS + EXPLAINED)
def test_one_slip_is_one_finding(schema: str, lines: str, rule: str, bundled_natives: NativeFunctions) -> None:
    is_of_all = (schema, lines, rule) in SLIPS
    findings = check(f"- name: {schema}\n  {lines}\n", bundled_natives, preview=is_of_all)
    assert [item.rule for item in findings] == [rule]


def test_two_slips_are_two_diagnostics(bundled_natives: NativeFunctions) -> None:
    text = """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad * othr
  other: grad * self.cnoj()
"""
    assert found(text, bundled_natives) == [("undefined-name", "mul.Tensor"), ("undefined-member", "mul.Tensor")]


def test_what_is_said_more_exactly_becomes_as_severe(bundled_natives: NativeFunctions) -> None:
    """That both operands are the same is a warning, that the gradient is wrong an error."""
    text = """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self: grad * (other - other)
"""
    assert [(item.rule, item.severity.value) for item in check(text, bundled_natives)] == [
        ("identical-operands", "error")
    ]


def test_a_declaration_elsewhere_convicts_no_formula(bundled_natives: NativeFunctions) -> None:
    """The operator book knows that "sigmoid_backward" is not linear in the output."""
    text = """\
- name: sigmoid(Tensor self) -> Tensor
  self: sigmoid_backward(grad, result)
  result: auto_element_wise
- name: sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor
  grad_output: sigmoid_backward(grad, output.conj())
  output: grad.conj() * grad_output * (-2 * output.conj() + 1)
  result: auto_linear
"""
    assert {entry for _, entry in found(text, bundled_natives)} == {"sigmoid_backward"}


@pytest.mark.parametrize(
    ("slip", "is_explained"),
    [
        ("- name: sin(Tensor self) -> Tensor\n  slef: grad * self.cos().conj()\n", False),
        ("- name: atan2(Tensor self, Tensor other) -> Tensor\n  self, self: grad\n", False),
        (
            "- name: cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)\n"
            "  output_differentiability: [True]\n  self: cummaxmin_backward(grad, self, indices, dim)\n",
            False,
        ),
        # an entry of another form may have swallowed the formulas of this one
        (
            "- name: random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)\n"
            "  slef: zeros_like(grad)\n",
            True,
        ),
    ],
)
def test_a_key_of_an_unrelated_entry_explains_nothing(
    slip: str, is_explained: bool, bundled_natives: NativeFunctions
) -> None:
    text = """\
- name: random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)
  output_differentiability: [False]
  self: zeros_like(grad)
"""
    rules = [rule for rule, entry in found(slip + text, bundled_natives) if entry == "random_"]
    assert ("inplace-output-switched-off" in rules) is not is_explained
