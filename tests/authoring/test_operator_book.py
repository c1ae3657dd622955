"""Derivatives of operators that a file has no entries for: those of the operator book."""

from __future__ import annotations

import pytest

from derivlint.authoring.files import OperatorRequest, findings, new_operator
from derivlint.model import Model, build_model
from derivlint.operators.book import BOOK_OF_DERIVATIVES
from derivlint.project.check import check_source
from derivlint.project.errors import InputError
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

EXPRESSIONS = (
    "clamp(x, -1, 1)", "x * sigmoid(x)", "softplus(x) * y", "relu(x)", "gelu(x)", "mish(x)", "hardswish(x)", "elu(x)",
    "log_sigmoid(x)", "x.exp().sum({1}, true)", "x.var({0})", "x.std({1})", "x.norm()", "matmul(x, y)", "bmm(x, y)",
    "x.cumsum(0)", "logsumexp(x, {1})", "x.softmax(-1) * y", "at::where(x > 0.5, x, y * x)",
    "x.index_select(0, index)", "x.gather(1, index)", "at::cat({x, x * x}, 0)", "x.select(0, 1) * y",
    "x.slice(0, 1, 3)", "x.roll({1}, {0})", "x.diagonal()", "x.pow(y)", "atan2(x, y)", "maximum(x, y)",
    "lerp(x, y, 0.3)", "addmm(b, x, y)", "linear(x, w, b)", "huber_loss(x, y)", "binary_cross_entropy(x, y)",
    "xlogy(x, y)", "x.amax({1})", "x.lgamma()", "at::stack({x, y}, 0)", "glu(x)", "at::kl_div(x, y)",
    "x.masked_select(mask)", "x.scatter_add(0, index, y)",
    "logit(x, 1e-6)", "x.roll(1, 0)", "x.roll({1})", "embedding(x, indices)", "at::index(x, {index})", "copysign(x, y)",
    "fmod(x, y)",
)  # fmt: skip


@pytest.fixture(scope="module")
def book(bundled_natives: NativeFunctions) -> Model:
    return build_model(SourceFile.read(str(BOOK_OF_DERIVATIVES)), bundled_natives)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_needs_no_other_file(book: Model, expression: str) -> None:
    new = new_operator(OperatorRequest("my_op", forward=expression), book.natives, book)
    settings = Settings()
    assert [item.message for item in findings(new, book.natives, settings, settings.selected(load_rules()))] == []
    assert "no forward formula" not in new.files["derivatives.yaml"]


def test_a_file_of_own_operators_has_none_of_pytorchs(bundled_natives: NativeFunctions) -> None:
    text = "- name: sin(Tensor self) -> Tensor\n  self: grad * 7\n  result: auto_element_wise\n"
    model = build_model(SourceFile("derivatives.yaml", text), bundled_natives)
    new = new_operator(OperatorRequest("my_op", forward="sin(x) * clamp(y, 0, 1)", inline=True), bundled_natives, model)
    assert "x: at::sum_to(grad * y.clamp(0, 1), x.sym_sizes()) * 7\n" in new.files["derivatives.yaml"]
    assert set(new.from_book) == {"mul.Tensor", "clamp"}


def test_refusals_name_the_operator(book: Model) -> None:
    with pytest.raises(InputError, match="geqrf"):
        new_operator(OperatorRequest("my_op", forward="std::get<0>(at::geqrf(x))"), book.natives, book)


def test_the_book_has_no_findings(bundled_natives: NativeFunctions) -> None:
    settings = Settings()
    source = SourceFile.read(str(BOOK_OF_DERIVATIVES))
    assert not check_source(source, bundled_natives, settings, settings.selected(load_rules())).shown
