"""The entry of an operator of which only the schema is known, and everything that goes with it."""

from __future__ import annotations

import ast

import pytest

from derivlint.authoring.files import NewOperator, OperatorRequest, findings, new_operator
from derivlint.project.errors import InputError
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions

#: Operators of every kind: element by element, reductions, losses, several outputs, lists, views, random numbers.
OPERATORS = (
    *("sinh", "mul.Tensor", "atan2", "pow.Tensor_Tensor", "lerp.Tensor", "addcmul", "where.self", "clamp.Tensor"),
    *("sum.dim_IntList", "amax", "logsumexp", "var.correction", "prod.dim_int", "cumsum", "mean.dim", "median"),
    *("mse_loss", "nll_loss_forward", "smooth_l1_loss", "binary_cross_entropy", "huber_loss", "multi_margin_loss"),
    *("sort", "topk", "max.dim", "_linalg_eigh", "_linalg_svd", "native_layer_norm", "native_batch_norm"),
    *("var_mean.correction", "linalg_inv_ex", "lu_unpack", "cat", "stack", "index.Tensor", "unbind.int", "view"),
    *("convolution", "embedding", "gather", "mm", "avg_pool2d", "upsample_nearest2d", "grid_sampler_2d"),
)


def made(operator: str, natives: NativeFunctions, *, non_differentiable: tuple[str, ...] = ()) -> NewOperator:
    return new_operator(OperatorRequest(operator, non_differentiable=non_differentiable), natives, None)


def found(new: NewOperator, natives: NativeFunctions) -> list[str]:
    settings = Settings()
    return [item.message for item in findings(new, natives, settings, settings.selected(load_rules()))]


@pytest.mark.parametrize("operator", OPERATORS)
def test_what_is_written_checks_clean(bundled_natives: NativeFunctions, operator: str) -> None:
    new = made(operator, bundled_natives)
    assert found(new, bundled_natives) == []
    ast.parse(new.files[f"test_{new.name}.py"])


@pytest.mark.parametrize("operator", ["sinh", "topk", "convolution"])
def test_it_checks_clean_as_an_operator_that_nobody_knows_yet(bundled_natives: NativeFunctions, operator: str) -> None:
    known = bundled_natives.operator(operator)
    assert known is not None
    new = made(f"brand_new{str(known.schema)[len(operator) :]}", bundled_natives)
    assert not new.is_known
    assert found(new, bundled_natives) == []


def test_all_that_an_operator_needs(bundled_natives: NativeFunctions) -> None:
    schema = (
        "fancy(Tensor self, Tensor? weight, Tensor index, SymInt[] size, Scalar alpha=1) -> (Tensor out, Tensor mask)"
    )
    new = made(schema, bundled_natives)
    assert list(new.files) == [
        "derivatives.yaml",
        "native_functions.yaml",
        "FunctionsManual.h",
        "FunctionsManual.cpp",
        "derivlint.toml",
        "test_fancy.py",
    ]
    assert new.files["derivatives.yaml"] == (
        f"- name: {schema}\n"
        "  output_differentiability: [True, False]\n"
        "  index: non_differentiable\n"
        "  self: fancy_self_backward(grad, self, weight, index, size, alpha)\n"
        "  weight: fancy_weight_backward(grad, self, weight, index, size, alpha)\n"
        "  out: fancy_jvp(self_p, self_t, weight_p, weight_t, index, size, alpha)\n"
    )
    assert new.files["native_functions.yaml"] == (
        f"- func: {schema}\n  variants: function\n  dispatch:\n    CompositeExplicitAutograd: fancy\n"
    )
    parameters = (
        "const at::Tensor& self, const at::Tensor& weight, const at::Tensor& index, "
        "c10::SymIntArrayRef size, const at::Scalar& alpha"
    )
    declaration = f"at::Tensor fancy_self_backward(const at::Tensor& grad, {parameters})"
    assert f'// The gradient of "self", linear in "grad".\n{declaration};\n' in new.files["FunctionsManual.h"]
    assert f"{declaration} {{\n" in new.files["FunctionsManual.cpp"]
    assert new.files["derivlint.toml"].splitlines()[1:] == [
        'native-functions = ["native_functions.yaml"]',
        'headers = ["FunctionsManual.h"]',
    ]


def test_gradients_of_several_outputs_are_passed_together(bundled_natives: NativeFunctions) -> None:
    new = made("two(Tensor x) -> (Tensor, Tensor, Tensor)", bundled_natives, non_differentiable=("result2",))
    assert new.files["derivatives.yaml"].splitlines()[1:] == [
        "  output_differentiability: [True, True, False]",
        "  x: two_backward(grads, x)",
        "  result0: two_result0_jvp(x_p, x_t)",
        "  result1: two_result1_jvp(x_p, x_t)",
    ]
    assert found(new, bundled_natives) == []


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        (OperatorRequest("nobody_knows"), 'no schema for "nobody_knows"; write "nobody_knows(Tensor self'),
        (OperatorRequest("f(Tensor x -> Tensor"), "is not a schema"),
        (OperatorRequest("f_(Tensor(a!) self) -> Tensor(a!)"), "name the schema of its functional form"),
        (OperatorRequest("f(int x) -> Tensor"), "has no tensor argument that could have a gradient"),
        (OperatorRequest("f(Tensor x) -> int"), "has no tensor output that could have a gradient"),
        (OperatorRequest("f(Tensor x) -> Tensor", non_differentiable=("y",)), 'has no argument or output "y"'),
        (OperatorRequest("f", schema="g(Tensor x) -> Tensor"), 'the schema is that of "g"'),
        (OperatorRequest("sinh(Tensor x) -> Tensor"), 'there is an operator "sinh" already'),
        (OperatorRequest("zeros"), "has no gradient"),
    ],
)
def test_what_cannot_be_made_is_said(bundled_natives: NativeFunctions, operator: OperatorRequest, message: str) -> None:
    with pytest.raises(InputError) as caught:
        new_operator(operator, bundled_natives, None)
    assert message in str(caught.value)
