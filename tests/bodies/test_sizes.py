"""The sizes that helpers give by their bodies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from derivlint.analysis.shapes.compare import shape_judgement_of
from derivlint.bodies.sizes import Functions, body_sizes
from derivlint.cpp.declarations.definitions import FunctionDefinition, function_definitions
from derivlint.model import build_model
from derivlint.operators.shapes.size_values import UNKNOWN, Sizes, Value
from derivlint.project.headers import read_bodies
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

CHECKOUT = os.environ.get("DERIVLINT_TEST_CHECKOUT", "")
SELF = Sizes((3, 2, 5))


def found(text: str, *arguments: Value) -> Value:
    """The sizes of what the last function of a source gives."""
    definitions = list(function_definitions(text))
    sized = body_sizes(definitions[-1], among(definitions))
    return UNKNOWN if sized is None else sized.run(dict(zip(sized.parameters, arguments, strict=True)))


def among(definitions: list[FunctionDefinition]) -> Functions:
    """The functions of a source by name and number of parameters."""

    def function(name: str, count: int) -> FunctionDefinition | None:
        return next((each for each in definitions if (each.name, len(each.params)) == (name, count)), None)

    return function


def of_body(statements: str) -> Value:
    """The sizes of what a function with these statements gives for tensors of the sizes 3, 2, 5 and 2, 5."""
    text = f"Tensor f(const Tensor& self, const Tensor& grad, bool flag, Scalar p) {{ {statements} }}"
    return found(text, SELF, Sizes((2, 5)), UNKNOWN, 2)


@pytest.mark.parametrize(
    ("statements", "sizes"),
    [
        ("return self * grad;", SELF),
        ("auto x = self.sum(0); x = x.unsqueeze(-1); return x;", Sizes((2, 5, 1))),
        ("return grad.dim() == 2 ? self : grad;", SELF),
        ("if (self.dim() > 2) { return grad; } return self;", Sizes((2, 5))),
        ("if (p.toDouble() == 2.0) { return grad; } return self;", Sizes((2, 5))),
        ("if (flag) { return grad * self; } return self;", SELF),
        ("if (flag) { return self; } return grad;", UNKNOWN),
        ("if (flag) { TORCH_CHECK(false); } return grad;", Sizes((2, 5))),
        ("Tensor x; if (flag) { x = self.neg(); } else { x = self * grad; } return x;", SELF),
        ("Tensor x = self; if (flag) { x = grad; } return x;", UNKNOWN),
        ("auto x = self; for (const auto i : c10::irange(2)) { x = x.unsqueeze(0); } return x;", Sizes((1, 1, *SELF))),
        ("auto x = self; for (int64_t i = 0; i < 2; ++i) { x = x.sum(0); } return x;", Sizes((5,))),
        ("auto x = self; while (flag) { x = x.sum(0); } return x;", UNKNOWN),
        ("std::vector<int64_t> n; n.push_back(7); n.push_back(self.size(0)); return grad.new_zeros(n);", Sizes((7, 3))),
        ("std::vector<int64_t> n; change(n); return at::zeros(n, grad.options());", UNKNOWN),
        ("Tensor a, b; std::tie(a, b) = std::make_tuple(grad, self); return b;", SELF),
        ("auto [a, b] = std::make_tuple(grad, self); return a;", Sizes((2, 5))),
        ("Tensor x = self; x.mul_(grad); x += grad; return x;", SELF),
        ("Tensor x = self; x.unsqueeze_(0); return x;", UNKNOWN),
        ("Tensor& x = self; x = grad; return self;", UNKNOWN),
        ("auto g = [&](Tensor t) { x = t; return t; }; return g(self);", UNKNOWN),
        ("return self.mm(grad);", UNKNOWN),
        ("return unheard_of(self);", UNKNOWN),
        ("throw std::exception();", UNKNOWN),
        ("switch (self.dim()) { case 1: return self; } return grad;", UNKNOWN),
    ],
)
def test_statements(statements: str, sizes: Value) -> None:
    assert of_body(statements) == sizes


def test_functions_of_the_file_are_followed_and_one_that_calls_itself_ends() -> None:
    wide = "Tensor wide(const Tensor& t) { return t.unsqueeze(0); } Tensor f(const Tensor& t) { return wide(wide(t)); }"
    assert found(wide, SELF) == Sizes((1, 1, *SELF))
    assert found("Tensor f(const Tensor& t) { return f(t); }", SELF) is UNKNOWN


@pytest.mark.skipif(not CHECKOUT, reason="needs a checkout, named by DERIVLINT_TEST_CHECKOUT")
def test_bodies_of_a_checkout_show_what_the_book_does_not(
    derivatives_path: Path, bundled_natives: NativeFunctions
) -> None:
    """A norm keeps its dimensions: docs/pytorch-defects.md."""
    bodies = read_bodies(SourceFile.read(Path(CHECKOUT) / "torch/csrc/autograd/FunctionsManual.cpp"), use_cache=False)
    source = SourceFile.read(derivatives_path)
    without, using = (
        {wrong.formula.written.entry.operator for entry in model.entries for wrong in shape_judgement_of(model, entry)}
        for natives in (bundled_natives, bundled_natives.with_bodies(lambda: bodies))
        for model in (build_model(source, natives),)
    )
    assert using - without == {"norm.Scalar", "norm.ScalarOpt_dtype", "_foreach_norm.Scalar"}
    assert without <= using
