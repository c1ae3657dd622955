"""One slip is one diagnostic: what rules yield to, and what findings rest on."""

from __future__ import annotations

from graphlib import TopologicalSorter

from derivlint.lint import Diagnostic, run_rules
from derivlint.lint.engine.precedence import MISLEADING
from derivlint.model import build_model
from derivlint.project.settings import Settings
from derivlint.rules import NAMES, load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile


def check(text: str, natives: NativeFunctions) -> list[Diagnostic]:
    """What all rules find that are on by default."""
    model = build_model(SourceFile("derivatives.yaml", text), natives)
    return list(run_rules(model, Settings().selected(load_rules())).diagnostics)


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


def test_a_finding_yields_to_the_slip_that_explains_it(bundled_natives: NativeFunctions) -> None:
    """A full stop in place of a comma makes one argument too few."""
    text = """\
- name: leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor
  self: leaky_relu_backward(grad, self. negative_slope, false)
"""
    assert found(text, bundled_natives) == [("undefined-member", "leaky_relu")]


def test_a_plain_size_is_one_slip(bundled_natives: NativeFunctions) -> None:
    """It is of another type, too."""
    text = "- name: flip(Tensor self, int[] dims) -> Tensor\n  self: grad.flip(dims).expand_symint(self.sizes())\n"
    assert found(text, bundled_natives) == [("non-symint-size", "flip")]


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


def test_of_a_tangent_that_is_missing_nothing_more_is_said(bundled_natives: NativeFunctions) -> None:
    """The values are wrong as well."""
    text = """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: atan2_backward(grad, self, other, grad_input_mask)
  result: -self_p * other_t / (self_p.pow(2) + other_p.pow(2))
"""
    assert found(text, bundled_natives) == [("missing-tangent", "atan2")]


def test_an_automatic_formula_rests_on_the_backward_formula(bundled_natives: NativeFunctions) -> None:
    text = """\
- name: expm1(Tensor self) -> Tensor
  self: grad * result.conj() + 1
  result: auto_element_wise
"""
    assert found(text, bundled_natives) == [("affine-gradient", "expm1")]


def test_what_rests_on_a_missing_entry_yields_to_a_wrong_one(bundled_natives: NativeFunctions) -> None:
    """The main form may be the entry whose schema is misspelt."""
    text = """\
- name: ell(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor
  self: elu_backward(grad, alpha, scale, input_scale, /* is_result */ false, self)
- name: elu_(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor(a!)
  self: elu_backward(grad, alpha, scale, input_scale, /* is_result */ true, result)
"""
    assert found(text, bundled_natives) == [("unknown-schema", "ell")]


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
