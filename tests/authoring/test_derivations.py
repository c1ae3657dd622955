"""Operators that are expressions: the formulas that are written are the derivatives, as numbers."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from derivlint.authoring.derivation import Deriver
from derivlint.authoring.files import OperatorRequest, findings, new_operator
from derivlint.authoring.signature import signature_of
from derivlint.graph.differentiation.entries import Entries
from derivlint.graph.evaluate import evaluate
from derivlint.model import Model, build_model
from derivlint.project.errors import InputError
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions, parse_schema
from derivlint.source import SourceFile
from derivlint.yaml_reader import Mapping, Scalar, Sequence, read_yaml
from tests.conftest import packaged_folder

EXPRESSIONS = (
    "x * sigmoid(x)", "log(x * x + y)", "x.exp().sum({1}, true)", "x.sum()", "x / (x.abs() + 1)",
    "at::where(x > 0.5, x, y * x)", "tanh(x).pow(2) - 3 / x", "softplus(x) * y", "log(1 + exp(x))",
    "x.mean({0}, true) * x", "sqrt(x * x + y * y)", "(x - y).pow(2).mean()", "sinh(x) / cosh(y)",
    "at::clamp(x, 0.3, 0.6) * y", "lerp(x, y, 0.3)", "logsumexp(x, {1})", "atan2(x, y)", "x.cumsum(0)",
    "erf(x) * exp(-x * x)", "x * 2 - (y - (x + 1))", "x - -y", "-(x * y).sin() * 1", "x.tanh() * x.softmax(-1)",
    "rsqrt(x + 1) + lgamma(y)", "x.transpose(0, 1) * x.t()", "at::cat({x, x * x}, 0)", "xlogy(x, y)", "gelu(x)",
    "x.pow(y)", "x.select(0, 1) * y",
)  # fmt: skip


@pytest.fixture(scope="module")
def model(bundled_natives: NativeFunctions) -> Model:
    path = packaged_folder() / "autograd" / "derivatives.yaml"
    return build_model(SourceFile.read(str(path)), bundled_natives)


def entries_of(text: str) -> dict[str, dict[str, str]]:
    """The formulas of entries by their keys, by the schema."""
    root = read_yaml(SourceFile("x", text)).root
    assert isinstance(root, Sequence)
    found = {}
    for item in root.items:
        assert isinstance(item, Mapping)
        pairs = [(pair.key, pair.value) for pair in item.pairs]
        values = {
            key.value: value.value for key, value in pairs if isinstance(key, Scalar) and isinstance(value, Scalar)
        }
        found[values.pop("name")] = values
    return found


class Numbers:
    """Evaluates formulas on random tensors, the second one of which is broadcast."""

    def __init__(self, deriver: Deriver, schema: str) -> None:
        self._deriver = deriver
        self.arguments = parse_schema(schema).arguments.flat_non_out
        self._generator = torch.Generator().manual_seed(1)

    def random(self, shape: Any) -> Any:
        return torch.rand(shape, dtype=torch.double, generator=self._generator) * 0.6 + 0.2

    def value(self, formula: str, values: dict[str, Any]) -> Any:
        schema = f"f({', '.join(f'Tensor {name}' for name in values)}) -> Tensor"
        arguments = [each for each in parse_schema(schema).arguments.flat_non_out if _mentions(formula, each.name)]
        graph = self._deriver.graph(formula, arguments)
        return evaluate(graph, [values[each.name] for each in arguments])[0]


def _mentions(formula: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", formula) is not None


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_derived_formulas_are_the_derivatives(model: Model, expression: str) -> None:
    settings = Settings()
    rules = settings.selected(load_rules())
    deriver = Deriver(Entries(model))
    inline = new_operator(OperatorRequest("my_op", forward=expression, inline=True), model.natives, model)
    ((schema, formulas),) = entries_of(inline.files["derivatives.yaml"]).items()
    assert [item.message for item in findings(inline, model.natives, settings, rules)] == []
    numbers = Numbers(deriver, schema)
    values = {each.name: numbers.random((2, 3) if place == 0 else (3,)) for place, each in enumerate(numbers.arguments)}

    def check(body: str, formulas: dict[str, str], values: dict[str, Any]) -> None:
        leaves = {name: value.clone().requires_grad_() for name, value in values.items()}
        output = numbers.value(body, leaves)
        grad, name_of_grad = numbers.random(output.shape), "incoming"
        wanted = torch.autograd.grad(output, list(leaves.values()), grad, allow_unused=True)
        for name, right in zip(leaves, wanted, strict=True):
            formula = _with_name(formulas[name], name_of_grad)
            got = numbers.value(formula, {**values, name_of_grad: grad}) if formula else None
            expected = torch.zeros_like(leaves[name]) if right is None else right
            torch.testing.assert_close(_summed(got, expected.shape), expected)
        if "result" not in formulas:
            return
        tangents = {name: numbers.random(value.shape) for name, value in values.items()}
        expected = torch.func.jvp(
            lambda *given: numbers.value(body, dict(zip(values, given, strict=True))),
            tuple(values.values()),
            tuple(tangents.values()),
        )[1]
        given = {f"{name}_p": value for name, value in values.items()}
        given.update((f"{name}_t", value) for name, value in tangents.items())
        torch.testing.assert_close(numbers.value(formulas["result"], given), expected)

    check(expression, formulas, values)
    # the operators of the gradients compute them, and their own gradients are the second derivatives
    separate = new_operator(OperatorRequest("my_op", forward=expression), model.natives, model)
    assert [item.message for item in findings(separate, model.natives, settings, rules)] == []
    (_, own), *backwards = entries_of(separate.files["derivatives.yaml"]).items()
    for name, (schema, second) in zip(values, backwards, strict=True):
        assert own[name].startswith(schema.partition("(")[0] + "(grad, ")
        output = numbers.value(expression, values)
        check(
            _with_name(formulas[name], "grad_output"),
            second,
            {"grad_output": numbers.random(output.shape), **values},
        )


def _with_name(formula: str, name: str) -> str:
    """A formula that calls the gradient by another name, which no graph has for anything else."""
    return re.sub(r"\bgrad\b", name, formula)


def _summed(value: Any, shape: Any) -> Any:
    return value.sum_to_size(shape) if value.dim() >= len(shape) else value.expand(shape)


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        (OperatorRequest("f", forward="x * nothing_like_it(x)"), 'calls "nothing_like_it", which is not an operator'),
        (OperatorRequest("f", forward="x * ("), "cannot be read"),
        (OperatorRequest("f", forward="2"), "has no variables"),
        (OperatorRequest("f", forward="grad * 2"), 'an argument cannot be called "grad"'),
        (OperatorRequest("f", schema="f(Tensor x, Tensor y) -> Tensor", forward="x"), 'does not use "y"'),
        (
            OperatorRequest("f", schema="f(Tensor[] x) -> Tensor", forward="at::cat(x, 0)"),
            "expected a tensor or a number",
        ),
        (OperatorRequest("f", schema="f(Tensor x) -> (Tensor, Tensor)", forward="x"), "an expression has one output"),
    ],
)
def test_what_cannot_be_derived_is_said(model: Model, operator: OperatorRequest, message: str) -> None:
    with pytest.raises(InputError) as caught:
        new_operator(operator, model.natives, model)
    assert message in str(caught.value)


def test_numbers_are_arguments_of_the_gradients_too(model: Model) -> None:
    operator = OperatorRequest("scaled(Tensor x, Scalar alpha=1) -> Tensor", forward="x * x * alpha")
    new = new_operator(operator, model.natives, model)
    assert "  x: scaled_backward(grad, x, alpha)\n" in new.files["derivatives.yaml"]
    schema = "scaled_backward(Tensor grad_output, Tensor x, Scalar alpha) -> Tensor"
    assert f"- func: {schema}\n" in new.files["native_functions.yaml"]
    assert "at::Tensor scaled(const at::Tensor& x, const at::Scalar& alpha) {\n" in new.files["scaled.cpp"]
    assert signature_of(schema).output_names == ("result",)


def test_gradients_of_complex_numbers_are_conjugated(model: Model) -> None:
    new = new_operator(OperatorRequest("cube", forward="x * x * x", inline=True, is_complex=True), model.natives, model)
    assert ".conj()" in new.files["derivatives.yaml"]
