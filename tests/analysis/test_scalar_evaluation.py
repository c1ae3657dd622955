"""Formulas evaluated in the scalar evaluation, and what is said of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from derivlint.analysis import analyses_of
from derivlint.analysis.scalar_evaluation.evaluate import compile_formula
from derivlint.analysis.scalar_evaluation.functions.special import bessel_k
from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.analysis.scalar_evaluation.points import POINTS, NumberKind, arguments_at
from derivlint.analysis.scalar_evaluation.reference import reference_of
from derivlint.analysis.scalar_evaluation.values import COMPLEX, REAL, UnknownValueError
from derivlint.model import build_model
from derivlint.operators.history import load_release
from derivlint.schema import NativeFunction, NativeFunctions, load_index, read_native_functions
from derivlint.source import SourceFile

NATIVES = load_index()


def evaluated(formula: str, environment: Mapping[str, Any], natives: NativeFunctions = NATIVES) -> Any:
    """The value of a backward formula of ``mul``."""
    yaml = f"- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  self: '{formula}'\n  other: grad * self\n"
    model = build_model(SourceFile("derivatives.yaml", yaml), natives)
    found = next(item for item in analyses_of(model).formulas(model.entries[0]) if "self" in item.names)
    evaluate = compile_formula(found)
    if evaluate is None:
        raise UnknownValueError
    return evaluate(environment)


def verdict(yaml: str, natives: NativeFunctions = NATIVES) -> dict[str, list[str]]:
    """Keys of the formulas that are judged wrong, by what is wrong."""
    model = build_model(SourceFile("derivatives.yaml", yaml), natives)
    judgements = [judgement_of(model, entry) for entry in model.entries]
    return {
        "wrong": [item.formula.written.key_text for each in judgements for item in each.wrong],
        "contradictions": [item.formula.written.key_text for each in judgements for item in each.contradictions],
        "shares": [item.formulas[0].written.key_text for each in judgements for item in each.shares],
    }


def wrong(yaml: str) -> list[str]:
    found = verdict(yaml)
    assert found["contradictions"] == []
    return found["wrong"] + found["shares"]


# ---- values


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("grad * other", 6.0),
        ("grad.mm(other.t())", 6.0),
        ("-grad / (2 * other)", -1 / 3),
        ("grad * (7 / 2)", 6.0),
        ("grad * (7. / 2)", 7.0),
        ("at::where(self < other, grad, at::zeros({}, grad.options()))", 2.0),
        ("grad.masked_fill((self == 1.).logical_or_(other > 5), 0)", 0.0),
        ("GradMode::is_enabled() ? grad : unknown_function(grad)", 2.0),
        ("grad.defined() ? grad * M_PI : grad", 2 * math.pi),
        ("grad.sum(IntArrayRef({0}), true).expand_symint(self.sym_sizes()) / self.sym_numel()", 2.0),
        ("grad.to(self.scalar_type())", 2.0),
        ("zeros_like(self)", 0.0),
        ("handle_r_to_c(self.scalar_type(), grad * at::complex(self, other))", 2.0),
        ("std::get<0>(std::make_tuple(grad, self))", 2.0),
        ("exp(grad.index_fill(0, self, other))", math.exp(3.0)),
    ],
)
def test_a_formula_has_the_value_of_its_numbers(formula: str, value: float) -> None:
    environment = {"grad": 2.0, "self": 1.0, "other": 3.0, "GradMode::is_enabled()": True}
    assert evaluated(formula, environment) == pytest.approx(value)


@pytest.mark.parametrize(
    "formula",
    [
        "unknown_function(grad)", "grad * unknown", "my::mm(grad, other)", "grad * self.log().lgamma().frobnicate()",
        "at::where(self, grad, other)", "grads[3]", "self < other ? unknown : grad", "grad = other",
        'not_implemented("mul")',
    ],
)  # fmt: skip
def test_what_is_not_understood_is_unknown(formula: str) -> None:
    with pytest.raises(UnknownValueError):
        evaluated(formula, {"grad": 2.0, "self": 1.0, "other": 3.0, "grads": (2.0,), "GradMode::is_enabled()": True})


def test_what_is_divided_by_zero_is_not_finite() -> None:
    """As in tensors, where a mask may pass over it; what is compared is finite."""
    assert evaluated("grad / (self - self)", {"grad": 2.0, "self": 1.0}) == math.inf
    assert math.isnan(evaluated("(self - self) / (self - self)", {"self": 1.0}))
    assert evaluated("(grad / self).masked_fill(self == 0, 0)", {"grad": 2.0, "self": 0.0}) == 0


@pytest.mark.parametrize(("self", "token"), [(1.0, REAL), (1j, COMPLEX)])
def test_saved_properties_are_read_from_their_variable(self: complex, token: object) -> None:
    assert evaluated("self.scalar_type()", {"self": self}) is token
    assert evaluated("self.sym_size(0) + self.sym_numel() + self.dim()", {"self": self}) == 3


numbers = st.floats(min_value=-4, max_value=4).filter(lambda value: abs(value) > 1e-3)
expressions = st.recursive(
    st.sampled_from(["grad", "self", "other"]) | numbers.map(lambda value: repr(abs(value))),
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner) | inner.map("(-{})".format),
    max_leaves=8,
)


@given(expressions, numbers, numbers, numbers)
def test_arithmetic_is_that_of_python(text: str, grad: float, self: float, other: float) -> None:
    environment = {"grad": grad, "self": self, "other": other}
    try:
        expected = eval(text, {}, environment)
    except ZeroDivisionError:
        assume(False)
    assert evaluated(text, environment) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("x", [1e-8, 1e-3, 0.1, 1.0, 5.0, 20.0, 100.0])
def test_the_modified_bessel_functions_of_the_second_kind_are_those_of_pytorch(order: int, x: float) -> None:
    function = getattr(torch.special, f"modified_bessel_k{order}")
    value = function(torch.tensor(x, dtype=torch.float64)).item()
    assert bessel_k(order, x) == pytest.approx(value, rel=1e-11)


# ---- points


def test_points_are_the_same_in_every_run_and_keep_away_from_round_numbers(bundled_natives: NativeFunctions) -> None:
    (function,) = (item for item in bundled_natives.with_base("mul") if str(item.name) == "mul.Tensor")
    for number in range(POINTS):
        first = arguments_at(function, ("self", "other"), NumberKind.REAL, number)
        assert first == arguments_at(function, ("self", "other"), NumberKind.REAL, number)
        for value in (first["self"], first["other"], first["self"] - first["other"]):
            assert abs(value * 2 - round(value * 2)) > 1e-3
    mixed = [arguments_at(function, ("self", "other"), NumberKind.MIXED, number) for number in range(2)]
    assert [{name: type(point[name]) for name in ("self", "other")} for point in mixed] == [
        {"self": float, "other": complex},
        {"self": complex, "other": float},
    ]


# ---- the reference


def function_of(schema: str) -> NativeFunction:
    natives = read_native_functions([SourceFile("native_functions.yaml", f"- func: {schema}\n  variants: function\n")])
    return natives.functions[0]


def test_an_operator_with_a_parameter_that_the_table_lacks_is_unknown() -> None:
    assert reference_of(function_of("atan2(Tensor self, Tensor other) -> Tensor")) is not None
    assert reference_of(function_of("atan2(Tensor self, Tensor other, Tensor origin) -> Tensor")) is None


def test_an_operator_of_another_library_is_unknown() -> None:
    assert reference_of(function_of("my::sin(Tensor self) -> Tensor")) is None


def test_there_is_no_derivative_at_a_kink() -> None:
    reference = reference_of(function_of("relu(Tensor self) -> Tensor"))
    assert reference is not None
    assert reference.slopes({"self": 0.5}, "self", 1.0, certain=True)[0] == pytest.approx(1)
    with pytest.raises(UnknownValueError):
        reference.slopes({"self": 5e-5}, "self", 1.0, certain=True)


# ---- verdicts: what is wrong


SLIPS = {
    "a sign": "- name: cos(Tensor self) -> Tensor\n  self: grad * self.sin().conj()\n",
    "a constant": "- name: erf(Tensor self) -> Tensor\n  self: 3.0 / sqrt(M_PI) * exp(-(self.pow(2))) * grad\n",
    "an operator": "- name: sqrt(Tensor self) -> Tensor\n  self: grad * (2 * result.conj())\n",
    "a condition": "- name: relu(Tensor self) -> Tensor\n  self: at::where(self < 0, grad, zeros_like(grad))\n",
    "a bound between two points": "- name: relu(Tensor self) -> Tensor\n  self: at::where(self >= 0.5, grad, 0)\n",
    "a small bound": "- name: relu(Tensor self) -> Tensor\n  self: grad.masked_fill(self.le(1e-2), 0)\n",
    # until PyTorch 1.12
    "the value at a bound": "- name: xlogy.Tensor(Tensor self, Tensor other) -> Tensor\n"
    "  self: grad * at::xlogy((self != 0), other)\n",
    "an order": "- name: hypot(Tensor self, Tensor other) -> Tensor\n  self: grad * result / self\n",
    "a dropped factor": "- name: rsqrt(Tensor self) -> Tensor\n  self: -grad * result.pow(3).conj()\n",
    "an output": "- name: tanh(Tensor self) -> Tensor\n  self: tanh_backward(grad, self)\n",
    "what is overwritten with random numbers": "- name: exponential_(Tensor(a!) self, float lambd=1, *, "
    "Generator? generator=None) -> Tensor(a!)\n  self: grad\n",
    "a conjugate of a call": "- name: sgn(Tensor self) -> Tensor\n  self: sgn_backward(self, grad.conj(), result)\n",
}


@pytest.mark.parametrize("slip", SLIPS, ids=str)
def test_a_wrong_gradient_is_found(slip: str) -> None:
    found = verdict(SLIPS[slip])
    assert found["wrong"] == ["self"]


FORWARD = """\
- name: div.Tensor(Tensor self, Tensor other) -> Tensor
  self: div_tensor_self_backward(grad, other, self.scalar_type())
  other: div_tensor_other_backward(grad, self, other)
  result: {}
"""


@pytest.mark.parametrize(
    ("formula", "is_wrong"),
    [
        ("(self_t - other_t * result) / other_p", False),
        ("self_t / other_p - other_t * self_p / other_p / other_p", False),
        ("(self_t + other_t * result) / other_p", True),
        ("(self_t - other_t * self_p) / other_p", True),
        ("(self_t - other_t * result) / self_p", True),
        ("(other_t - self_t * result) / other_p", True),
    ],
)
def test_a_wrong_tangent_is_found(formula: str, is_wrong: bool) -> None:
    assert wrong(FORWARD.format(formula)) == (["result"] if is_wrong else [])


def test_the_real_part_is_missed_where_real_and_complex_tensors_meet() -> None:
    yaml = """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad * other.conj()
  other: grad * self.conj()
"""
    assert sorted(wrong(yaml)) == ["other", "self"]


@pytest.mark.parametrize("index", ["i"])
def test_foreach_functions_are_judged_by_scalar_evaluation(index: str) -> None:
    yaml = f"""\
- name: _foreach_div.List(Tensor[] self, Tensor[] other) -> Tensor[]
  self: div_tensor_self_backward(grads[{index}], other[{index}], self[{index}].scalar_type())
  other: div_tensor_other_backward(grads[{index}], self[{index}], other[{index}])
  result: (self_t + other_t * result[{index}]) / other_p
"""
    assert wrong(yaml) == ["result"]
    assert wrong(yaml.replace("self_t +", "self_t -")) == []


# ---- verdicts: silence


SILENT = {
    "what is not linear is another rule's": "- name: sin(Tensor self) -> Tensor\n  self: grad * grad * self.cos()\n",
    "an unknown function": "- name: sin(Tensor self) -> Tensor\n  self: my_helper(grad, self)\n",
    "a subgradient": "- name: hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor\n"
    "  self: at::where((self >= min_val) & (self <= max_val), grad, at::zeros({}, self.options()))\n",
    "a random operator": "- name: bernoulli(Tensor self, *, Generator? generator=None) -> Tensor\n  self: grad\n",
    "a factor that only lacks conj": "- name: exp(Tensor self) -> Tensor\n  self: grad * result\n",
    "swapped arguments": "- name: xlogy.Tensor(Tensor self, Tensor other) -> Tensor\n"
    "  self: at::xlogy(grad, other)\n  other: grad * self / other\n",
}


@pytest.mark.parametrize("name", SILENT, ids=str)
def test_silence(name: str) -> None:
    assert verdict(SILENT[name]) == {"wrong": [], "contradictions": [], "shares": []}


def test_each_dispatch_key_is_judged_by_itself() -> None:
    yaml = """\
- name: neg(Tensor self) -> Tensor
  dispatch:
    Default:
      self: grad.neg()
    AutogradCUDA:
      self: grad
"""
    model = build_model(SourceFile("derivatives.yaml", yaml), NATIVES)
    judgement = judgement_of(model, model.entries[0])
    assert [item.formula.evaluation.dispatch for item in judgement.wrong] == ["AutogradCUDA"]


def test_a_finding_names_values_that_reproduce_it() -> None:
    model = build_model(SourceFile("derivatives.yaml", SLIPS["a sign"]), NATIVES)
    (item,) = judgement_of(model, model.entries[0]).wrong
    values = dict(item.at)
    assert values["grad"] == 1
    assert item.name == "self"
    assert item.expected == pytest.approx(-math.sin(values["self"]))
    assert item.actual == pytest.approx(math.sin(values["self"]))
    assert judgement_of(model, model.entries[0]).wrong[0] is item


# ---- backward against forward


UNKNOWN = "- func: my_mix(Tensor self, Tensor other) -> Tensor\n  dispatch:\n    CPU: my_mix\n"
MIX = """\
- name: my_mix(Tensor self, Tensor other) -> Tensor
  self: grad * other.cos()
  other: -grad * self * other.sin()
  result: {}
"""


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        ("self_t * other_p.cos() - self_p * other_t * other_p.sin()", []),
        ("self_t * other_p.cos() + self_p * other_t * other_p.sin()", ["result"]),
        ("self_t * other_p.sin() - self_p * other_t * other_p.sin()", ["result"]),
        # what "result" is, is not known
        ("self_t * result - self_p * other_t * other_p.sin()", []),
        ("my_helper(self_t, self_p, other_t, other_p)", []),
    ],
)
def test_formulas_of_an_unknown_operator_are_held_against_each_other(formula: str, found: list[str]) -> None:
    extra = read_native_functions([SourceFile("native_functions.yaml", UNKNOWN)])
    natives = NativeFunctions(
        (*NATIVES.written, *extra.written), declarations=NATIVES.declarations, autograd_keys=NATIVES.autograd_keys
    )
    assert verdict(MIX.format(formula), natives) == {"wrong": [], "contradictions": found, "shares": []}


# ---- ties


TIES = """\
- name: {}(Tensor self, Tensor other) -> Tensor
  self: {}
  other: {}
"""


@pytest.mark.parametrize(
    ("operator", "self", "other", "found"),
    [
        ("maximum", "grad.masked_fill(self < other, 0)", "grad.masked_fill(self >= other, 0)", []),
        ("maximum", "grad.masked_fill(self < other, 0)", "grad.masked_fill(self > other, 0)", ["self"]),
        ("maximum", "grad.masked_fill(self <= other, 0)", "grad.masked_fill(self >= other, 0)", ["self"]),
        (
            "minimum",
            "at::where(self == other, grad / 3, grad).masked_fill_(self > other, 0)",
            "at::where(self == other, grad * 2 / 3, grad).masked_fill_(self < other, 0)",
            [],
        ),
        ("fmax", "grad.masked_fill((self < other), 0)", "grad.masked_fill(self >= other, 0)", ["self"]),
    ],
)
def test_shares_of_equal_arguments_add_up_to_one(operator: str, self: str, other: str, found: list[str]) -> None:
    assert verdict(TIES.format(operator, self, other))["shares"] == found
    assert verdict(TIES.format(operator, self, other))["wrong"] == []


@pytest.mark.parametrize(
    ("release", "arguments", "problems"),
    [("2.13", "LU, pivots, A_t, sign, true", 1), ("2.15", "LU, pivots, A_t, A_p, sign, true", 0)],
)
def test_a_helper_of_another_release_is_another_function(release: str, arguments: str, problems: int) -> None:
    yaml = (
        "- name: _linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)\n"
        "  A: slogdet_backward(grad_sign, grad_logabsdet, A, sign, LU, pivots)\n"
        # the sign is wrong, and the definition of "slogdet_jvp" is that of PyTorch up to 2.14
        f"  sign, logabsdet: slogdet_jvp({arguments.replace('sign', '-sign')})\n"
        "  output_differentiability: [True, True, False, False]\n"
    )
    assert len(verdict(yaml, load_release(release))["wrong"]) == problems


def test_no_values_are_computed_of_keys_that_derivatives_cannot_have(bundled_natives: NativeFunctions) -> None:
    keys = "".join(
        f"    {key}:\n      self: grad * self.sin()\n" for key in ("Default", "AutogradCUDA", "AutogradCUDA7")
    )
    text = f"- name: sin(Tensor self) -> Tensor\n  dispatch:\n{keys}"
    model = build_model(SourceFile("derivatives.yaml", text), bundled_natives)
    wrong = judgement_of(model, model.entries[0]).wrong
    assert [item.formula.written.body.key for item in wrong] == ["Default", "AutogradCUDA"]
