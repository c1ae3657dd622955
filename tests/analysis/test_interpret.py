"""What single formulas mean: degree, dependence, aliasing, and where they stop being linear."""

from __future__ import annotations

import pytest

from derivlint.analysis.interpretation.degree import Degree
from derivlint.analysis.interpretation.facts import Cause, Dependence
from derivlint.schema import NativeFunctions
from tests.analysis.formulas import backward, forward, interpret

D = Degree


@pytest.mark.parametrize(
    ("formula", "degree"),
    [
        ("grad", D.LINEAR), ("-grad * 2", D.LINEAR), ("grad * other.conj()", D.LINEAR),
        ("grad.sum(0) / other", D.LINEAR), ("other / 2", D.CONSTANT), ("zeros_like(grad)", D.ZERO),
        ("grad * 0", D.ZERO), ("Tensor()", D.ZERO), ("grad + other", D.AFFINE), ("grad + 0", D.LINEAR),
        ("grad.masked_fill(self > 0, 0)", D.LINEAR), ("grad.masked_fill(self > 0, 1)", D.AFFINE),
        ("where(self > 0, grad, zeros_like(grad))", D.LINEAR), ("where(self > 0, grad, other)", D.AFFINE),
        ("grad * grad", D.NONLINEAR), ("other / grad", D.NONLINEAR), ("grad.exp()", D.NONLINEAR),
        ("grad.defined() ? grad : Tensor()", D.LINEAR), ("at::addcmul(grad, self, other)", D.AFFINE),
        ("at::addcmul(grad, grad, other)", D.LINEAR), ("at::lerp(grad, other, 0.5)", D.AFFINE),
        ("self.expand_as(grad)", D.CONSTANT), ("self.new_zeros_symint(grad.sym_sizes())", D.ZERO),
        ("maybe_multiply(grad, 2)", D.LINEAR), ("hardswish_backward(grad, self)", D.LINEAR),
        ("hardswish_backward(grad, grad)", D.NONLINEAR), ("hardswish_backward(self, other)", D.CONSTANT),
        ("something_new(grad)", D.UNKNOWN), ("mine::exp(grad)", D.UNKNOWN), ("at::exp(grad)", D.NONLINEAR),
        ("something_new(self)", D.CONSTANT), ("something_new(grad) * grad * grad", D.UNKNOWN),
        ('not_implemented("mul")', D.UNKNOWN),
    ],
)  # fmt: skip
def test_the_degree_of_a_backward_formula(formula: str, degree: Degree, bundled_natives: NativeFunctions) -> None:
    assert backward(formula, bundled_natives).root.degree is degree


@pytest.mark.parametrize(
    ("formula", "degree"),
    [
        ("self_t * other_p + self_p * other_t", D.LINEAR),
        ("self_t * other_t", D.NONLINEAR),
        ("self_t * other_p + self_p * other_p", D.AFFINE),
        ("self_p * other_p", D.CONSTANT),
        ("norm_jvp(self_p, self_t, 2, result, {}, false)", D.LINEAR),
        ("at::lerp(self_t, other_t, 0.5)", D.LINEAR),
        ("auto_linear", D.NONLINEAR),
    ],
)
def test_the_degree_of_a_forward_formula(formula: str, degree: Degree, bundled_natives: NativeFunctions) -> None:
    assert forward(formula, bundled_natives).root.degree is degree


@pytest.mark.parametrize(
    ("formula", "cause", "node", "parts"),
    [
        ("(grad * 2) * grad", Cause.PRODUCT, "(grad * 2) * grad", ["(grad * 2)", "grad"]),
        ("other / (grad + 1)", Cause.DIVISOR, "other / (grad + 1)", ["(grad + 1)"]),
        ("at::log(grad) * 2", Cause.FUNCTION, "at::log(grad)", ["grad"]),
        ("2 * (grad - self)", Cause.CONSTANT_TERM, "grad - self", ["self"]),
        ("self.dim() > 0 ? grad : other", Cause.CONSTANT_BRANCH, "self.dim() > 0 ? grad : other", ["other"]),
        ("(grad > 0) * other", Cause.FUNCTION, "grad > 0", ["grad", "0"]),
    ],
)
def test_the_first_place_that_is_not_linear_is_reported(
    formula: str, cause: Cause, node: str, parts: list[str], bundled_natives: NativeFunctions
) -> None:
    found = backward(formula, bundled_natives)
    culprits = [item for item in found.culprits if item.cause is cause]
    assert [found.formula.source_of(item.node) for item in culprits] == [node]
    assert [found.formula.source_of(part) for part in culprits[0].parts] == parts


@pytest.mark.parametrize(
    ("formula", "dependence"),
    [
        ("grad * other", {"grad": Dependence.VALUE, "other": Dependence.VALUE}),
        ("grad.expand_as(other)", {"grad": Dependence.VALUE, "other": Dependence.METADATA}),
        ("grad.expand_symint(other.sym_sizes())", {"grad": Dependence.VALUE, "other": Dependence.METADATA}),
        ("zeros_like(grad)", {"grad": Dependence.METADATA}),
        ("grad * other.dim()", {"grad": Dependence.VALUE, "other": Dependence.METADATA}),
        ("hardswish_backward(grad, self)", {"grad": Dependence.VALUE, "self": Dependence.POSSIBLE}),
    ],
)
def test_how_a_formula_depends_on_variables(
    formula: str, dependence: dict[str, Dependence], bundled_natives: NativeFunctions
) -> None:
    assert dict(backward(formula, bundled_natives).root.dependence) == dependence


@pytest.mark.parametrize(
    ("formula", "aliases"),
    [
        ("grad", {"grad"}), ("(grad.t())", {"grad"}), ("self.dim() > 0 ? grad : other", {"grad", "other"}),
        ("grad.clone()", set()), ("grad * 1", set()), ("-grad", set()), ("grad.mul_(other)", {"grad"}),
        ("handle_r_to_c(self.scalar_type(), grad)", {"grad"}),
    ],
)  # fmt: skip
def test_which_tensor_a_formula_may_return(formula: str, aliases: set[str], bundled_natives: NativeFunctions) -> None:
    assert backward(formula, bundled_natives).root.aliases == aliases


def test_saved_properties_are_metadata_of_their_argument(bundled_natives: NativeFunctions) -> None:
    found = backward("grad.reshape_symint(other.sym_sizes())", bundled_natives)
    assert found.formula.text == "grad.reshape_symint(other_sym_sizes)"
    assert found.root.dependence["other"] is Dependence.METADATA


def test_auto_linear_entries_tell_that_operators_are_linear(bundled_natives: NativeFunctions) -> None:
    """What the table does not have is taken from the file."""
    entry = (
        "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  self: at::_standard_gamma(grad)\n"
        "- name: _standard_gamma(Tensor self, Generator? generator=None) -> Tensor\n  self: grad\n"
    )
    assert interpret(entry, "self", bundled_natives).root.degree is Degree.UNKNOWN
    assert interpret(entry + "  result: auto_linear\n", "self", bundled_natives).root.degree is Degree.LINEAR
