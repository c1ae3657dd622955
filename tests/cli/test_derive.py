"""``derivlint derive``."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.cli.conftest import Run

FILE = (
    "- name: sin(Tensor self) -> Tensor\n"
    "  self: grad * self.cos()\n"
    "  result: auto_element_wise\n"
    "- name: cos(Tensor self) -> Tensor\n"
    "  self: -grad * self.sin()\n"
    "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
    "  self: grad * other\n"
    "  other: grad * self\n"
    "- name: neg(Tensor self) -> Tensor\n"
    "  self: grad.neg()\n"
)


@pytest.fixture
def file(here: Path) -> Path:
    path = here / "derivatives.yaml"
    path.write_text(FILE)
    return path


def test_pictures(file: Path, run: Run) -> None:
    """DOT and SVG; the latter is well-formed XML."""
    arguments = ("derive", "sin(a)", "derivatives.yaml", "--wrt", "a", "--output-format")
    assert run(*arguments, "dot").out.startswith("digraph derivative {")
    assert ET.fromstring(run(*arguments, "svg").out).tag == "{http://www.w3.org/2000/svg}svg"


def test_control_flow_is_no_expression(here: Path, run: Run) -> None:
    """The gradient of a power by an exponent that may be zero is a condition."""
    entries = (
        "- name: pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor\n"
        "  self: pow_backward(grad, self, exponent)\n"
    )
    (here / "derivatives.yaml").write_text(entries)
    arguments = ("derive", "pow(a, log(None))", "derivatives.yaml", "--wrt", "a")
    outcome = run(*arguments)
    assert outcome.status == 2
    assert '"prim::If" cannot be written as an expression; use --output-format graph' in outcome.err
    assert outcome.out == ""
    assert "prim::If" in run(*arguments, "--output-format", "graph").out


@pytest.mark.torch
def test_the_check_against_pytorch(file: Path, run: Run) -> None:
    """The numbers agree; a wrong formula is reported."""
    arguments = ("derive", "sin(mul(a, b))", "derivatives.yaml", "--wrt", "a,b", "--order", "2", "--check")
    assert run(*arguments).out.splitlines()[-1].startswith("# agrees with PyTorch (largest difference: ")
    file.write_text(FILE.replace("-grad * self.sin()", "grad * self.sin()"))
    wrong = run(*arguments)
    assert wrong.status == 2
    assert wrong.err.startswith("derivlint: the values differ from PyTorch's by ")


def test_an_expression_may_be_written_as_in_formulas(file: Path, run: Run) -> None:
    """The same as with calls only; what is misspelt in it is reported in the same way."""
    options = ("derivatives.yaml", "--wrt", "a", "--same-shape")
    result = run("derive", "(a * at::sin(b)).cos()", *options)
    assert result.status == 0
    assert result.out == run("derive", "cos(mul(a, sin(b)))", *options).out
    assert run("derive", "a * sinx(b)", *options).err.startswith('derivlint: no operator "sinx"; did you mean "')
    result = run("derive", "a * (", *options)
    assert (result.status, result.err) == (2, 'derivlint: 1:3: unexpected "*"\n')


NO_DERIVATIVE = 'the result has no derivative by "a"'
REFUSED = {
    "std::get<2>(at::max(a, 0)) + a": "there is no item 2 among 2",
    "std::get<99999999999999999999>(at::max(a, 0))": "there is no item 1000000000000000000 among 2",
    "at::ones({2}, at::kFloat, std::nullopt, std::nullopt, false) * a": ('"ones" takes 1 or 2 arguments here, not 5'),
    "at::sum_to(a) * a": '"sum_to" takes 2 arguments here, not 1',
    "a.unbind()[0]": "a subscript is not supported here",
    "a.foo()": 'no operator "foo"',
    "a.size(0)": NO_DERIVATIVE,
    "graph(%a : Tensor):\n  return ()": "the graph returns no differentiable value",
    f"mul(a, {'9' * 5000})": f'the number "{"9" * 20}..." cannot be read',
    f"{'[' * 300}a{']' * 300}": "the text is nested more than 120 levels deep",
    f"graph(%a : {'List[' * 2000}Tensor{']' * 2000}):\n  return (%a)": "the text is nested more than 120 levels deep",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:30])
def test_what_has_no_derivative_is_refused_by_name(file: Path, run: Run, text: str) -> None:
    result = run("derive", text, "derivatives.yaml", "--wrt", "a")
    assert (result.status, result.out) == (2, "")
    assert REFUSED[text] in result.err
