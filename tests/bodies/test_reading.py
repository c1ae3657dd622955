"""What the bodies of helpers say, in the form of the operator book."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derivlint.analysis.interpretation.degree import Degree
from derivlint.analysis.interpretation.derived_calls import degree_of
from derivlint.bodies.reading import Helper, read_helpers
from derivlint.formula.nodes import UnknownStatement, walk
from derivlint.operators.reference.derived import Derived, derived, read_derived, write_derived
from derivlint.operators.reference.terms import polynomials
from derivlint.operators.special import role_of_name

CHECKOUT = os.environ.get("DERIVLINT_TEST_CHECKOUT", "")


def said(text: str) -> list[str]:
    """What the last function of a source says of its values."""
    helper = read_helpers(text)[-1]
    assert helper.derived is not None
    return [line.strip() for line in write_derived([("f", helper.derived)]).splitlines()[2:]]


def body(statements: str) -> list[str]:
    """What a function with these statements says of its values."""
    return said(f"Tensor f(const Tensor& grad, const Tensor& self, bool flag) {{ {statements} }}")


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("return grad * self;", "grad*self ; grad self"),
        ("return grad / self.conj();", "grad/self ; grad conj(self)"),
        ("auto x = grad.neg(); x = x * self; return x;", "grad*self ; grad self"),
        ("Tensor x; if (flag) { x = grad; } return x;", "grad/flag ; grad"),
        ("Tensor x = grad; x.mul_(self); return x;", "grad*self ; grad self"),
        ("auto x = grad.clone(); x *= self; x += grad; return x;", "grad + grad*self ; grad self"),
        ("if (!grad.defined()) { return Tensor(); } return grad * self;", "grad*self ; grad self"),
        ("if (flag) { return grad; } else { return grad * self; }", "?grad/flag + ?grad*self/flag ; grad self"),
        ("if (flag) { return grad; } return grad * self;", "?grad/flag + ?grad*self/flag ; grad self"),
        ("auto scale = [&](const Tensor& x) { return x * self; }; return scale(grad);", "grad*self ; grad self"),
        ("auto y = [&]() { Tensor z = self; return z; }(); return grad * y;", "grad*self ; grad self"),
        (
            "std::vector<Tensor> v; v.push_back(grad); v.push_back(self); return at::cat(v, 0);",
            "grad + self ; grad self",
        ),
        ("auto [a, b] = std::make_tuple(grad, self); return a;", "grad ; grad"),
        ("Tensor a, b; std::tie(a, b) = std::make_tuple(self, grad); return b;", "grad ; grad"),
        ("for (const auto i : c10::irange(3)) { grad.size(i); } return grad;", "grad ; grad"),
        (
            "Tensor x = grad; for (int64_t i = 0; i < 3; ++i) { x = x * self; } return x;",
            "?grad + ?grad/self + ?grad*self ; grad self",
        ),
        ('TORCH_CHECK(grad.dim() > 1, "a message"); return grad;', "grad ; grad"),
        ('if (flag) { TORCH_CHECK(false, "not supported"); } return grad;', "grad ; grad"),
        ("using at::sum; return grad;", "grad ; grad"),
        (
            "Tensor x = grad; switch (self.dim()) { case 1: x = self; } return x;",
            "1~grad~self ; unknown(grad) unknown(self)",
        ),
        ("return at::where(grad > 0, grad.log().exp(), self);", "1~grad + self~grad ; grad self"),
        ("auto x = at::empty_like(self); x.copy_(grad); return x;", "grad ; grad"),
        ("auto x = at::empty({2}, self.options()); return flag ? x : grad;", "?grad/flag ; grad"),
        ("std::vector<int> v; return v.empty() ? grad : grad * self;", "?grad + ?grad*self ; grad self"),
        (
            "return at::where(self > 0, grad, std::numeric_limits<double>::quiet_NaN());",
            "grad/self ; grad",
        ),
        ("auto x = grad * self; x.narrow(0, 0, 1).copy_(grad); return x;", "?grad + ?grad*self ; grad self"),
        ("return grad.is_complex() ? at::real(grad) : grad;", "grad ; mixed(grad)"),
        ("if (!grad.is_complex()) { return at::real(grad); } return grad;", "grad ; grad"),
        (
            "auto x = grad; if (!at::isComplexType(flag) && grad.is_complex()) { x = at::real(x); } return x;",
            "grad ; grad",
        ),
        (
            "auto x = grad; if (at::isComplexType(flag) || grad.is_complex()) { x = at::real(x); } return x;",
            "grad ; mixed(grad)",
        ),
        ("return (self.ge(0).logical_or(self.isnan())) * grad;", "grad/self ; grad"),
        (
            'auto node = std::make_shared<DelayedError>("not twice", 1); return node->apply({grad * self})[0];',
            "grad*self ; grad self",
        ),
    ],
)
def test_what_a_body_is_linear_in_and_how_it_conjugates(statements: str, expected: str) -> None:
    assert body(statements) == [expected]


def test_values_of_a_tuple_are_told_apart() -> None:
    text = """\
std::tuple<Tensor, Tensor> f(const Tensor& grad, const Tensor& self, std::array<bool, 2> mask) {
  Tensor first, second;
  if (!grad.defined()) {
    return std::make_tuple(first, second);
  }
  if (mask[0]) {
    first = grad * self;
  }
  if (mask[1]) {
    second = -grad;
  }
  return std::tuple<Tensor, Tensor>{first, second};
}
"""
    assert said(text) == ["grad*self/mask ; grad self", "grad/mask ; grad"]


def test_what_is_written_through_a_view_is_written() -> None:
    written = "auto x = at::zeros_like(self); x.narrow(0, 1, 2).copy_(grad); return x;"
    assert body(written) == ["grad ; grad"]
    shared = "auto x = self.clone(); auto y = x.view(2); y.mul_(grad); return x;"
    assert body(shared) == ["?grad*self + ?self ; grad self"]


def test_functions_of_the_file_are_followed() -> None:
    text = """\
static Tensor scaled(const Tensor& x, const Tensor& by, const std::function<Tensor(Tensor)>& last) {
  return last(x * by);
}
static Tensor twice(const Tensor& x) {
  return x + x;
}
Tensor f(const Tensor& grad, const Tensor& self) {
  return scaled(twice(grad), self, [](const Tensor& y) { return y.neg(); });
}
"""
    assert said(text) == ["grad*self ; grad self"]


def test_functions_that_call_themselves_are_not_known() -> None:
    expected = "?1/flag~grad~self + ?grad/flag ; unknown(grad) unknown(self)"
    assert body("return flag ? f(grad, self, false) : grad;") == [expected]


def problems(text: str) -> list[tuple[str, list[str], list[str]]]:
    """The names of functions with mistakes, the gradients that they lose, and those that they are not linear in."""
    found = [each for each in read_helpers(text) if each.lost or each.nonlinear]
    return [(each.definition.name, sorted(each.lost), sorted(each.nonlinear)) for each in found]


def helper(name: str, statements: str) -> list[tuple[str, list[str], list[str]]]:
    return problems(f"Tensor {name}(const Tensor& grad, const Tensor& self, bool flag) {{ {statements} }}")


def test_sure_mistakes_are_found() -> None:
    assert helper("f_backward", "return grad * grad;") == [("f_backward", [], ["grad"])]
    assert helper("f_backward", "auto x = grad.neg(); x.mul_(grad); return x;") == [("f_backward", [], ["grad"])]
    assert helper("f_backward", "return self.cos();") == [("f_backward", ["grad"], [])]


@pytest.mark.parametrize(
    ("name", "statements"),
    [
        ("f_backward", "return flag ? grad * grad : grad;"),
        ("f_backward", "return grad.abs().log().exp();"),
        ("f_backward", "return at::zeros_like(self);"),
        ("f_backward", "if (flag) { return self; } return grad;"),
        ("f_backward", "Tensor x; switch (self.dim()) { case 1: x = grad; } return self;"),
        ("f_double_backward", "return grad * grad;"),
        ("f", "return self;"),
    ],
)
def test_what_is_not_sure_is_not_a_mistake(name: str, statements: str) -> None:
    assert helper(name, statements) == []


def test_what_is_returned_itself() -> None:
    assert read_helpers("Tensor f(const Tensor& a, int n) { return a.view(n); }")[0].returns == {"a"}
    assert read_helpers("Tensor f(const Tensor& a, bool b) { if (b) { return a; } return a + 1; }")[0].returns == set()


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("return grad * self;", {"grad", "self"}),
        ("auto x = grad.neg(); return x * self.size(0);", {"grad"}),
        ("if (flag) { return Tensor(); } return grad.neg();", set()),
        ("return grad.defined() ? grad * self : Tensor();", set()),
        ("auto x = grad.neg(); return grad.defined() ? x : Tensor();", set()),
        ("return g(grad, self);", set()),
        ("auto x = [&]() { return grad * self; }; return x;", set()),
    ],
)
def test_what_is_read_although_it_may_be_undefined(statements: str, expected: set[str]) -> None:
    text = f"Tensor f(const Tensor& grad, const Tensor& self, bool flag) {{ {statements} }}"
    assert read_helpers(text)[0].unguarded == expected


def test_optional_tensors_and_lists_are_not_read_by_their_methods() -> None:
    text = (
        "Tensor f(const std::optional<Tensor>& grad, TensorList grads) { auto x = grad.value_or(y); return grads.f(); }"
    )
    assert read_helpers(text)[0].unguarded == set()


def test_a_body_that_takes_too_many_steps_says_nothing() -> None:
    doubled = "".join(f"auto g{n + 1} = [&]() {{ g{n}(); return g{n}(); }}; " for n in range(16))
    text = f"Tensor f(const Tensor& x) {{ auto g0 = [&]() {{ return x; }}; {doubled} return g16(); }}"
    assert read_helpers(text)[0].derived is None
    assert read_helpers(text.replace("g16()", "g6()"))[0].derived is not None


PIECES = (
    """
Tensor x = grad; | auto f = [&](const Tensor& y) { return y * self; }; | x = f(grad); | return f; | return x;
if (flag) { | } | else { | for (auto i : x) { | x.mul_(x); | auto [a, b] = x; | std::tie(a, x) = f; | f = x;
return {f, x}; | return std::get<0>(f); | x[0] = f; | v.push_back(f); | return fmap(f, f); | x += f(f); | return
TORCH_CHECK(false); | x = flag ? f : {}; | return -f; | return (f)(x); | switch (x) { | x = f(x, grad, self);
""".replace("\n", "|")
    .strip("|")
    .split("|")
)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join))
def test_any_body_is_read(statements: str) -> None:
    """Whatever the statements are, there is an answer, and what is kept of it can be read again."""
    for each in read_helpers(f"Tensor f(Tensor grad, Tensor self, bool flag) {{ {statements} }}"):
        if each.derived is not None:
            ((_, again),) = read_derived(write_derived([("f", each.derived)]))
            assert write_derived([("f", again)]) == write_derived([("f", each.derived)])


# ---- a checkout


def linearity(found: Derived, seeds: list[int]) -> Degree:
    """The degree of a call with gradients or tangents at some places and constants elsewhere."""
    constant = dict.fromkeys(found.parameters, Degree.CONSTANT)
    return degree_of(found, {**constant, **{found.parameters[at]: Degree.LINEAR for at in seeds}})


@pytest.mark.skipif(not CHECKOUT, reason="DERIVLINT_TEST_CHECKOUT names no checkout of PyTorch")
def test_the_helpers_of_a_checkout_are_understood_and_agree_with_the_book() -> None:
    text = (Path(CHECKOUT) / "torch/csrc/autograd/FunctionsManual.cpp").read_text(encoding="utf-8")
    formulas = (Path(CHECKOUT) / "tools/autograd/derivatives.yaml").read_text(encoding="utf-8")
    helpers = read_helpers(text)
    unknown = {
        each.definition.name
        for each in helpers
        if any(isinstance(node, UnknownStatement) for node in walk(each.definition.body))
    }
    # parameter packs
    assert unknown <= {"masked_fmap"}
    assert [each.definition.name for each in helpers if each.lost or each.nonlinear] == []
    called = set(re.findall(r"\w+(?=\()", formulas))
    judged = linear = agreeing = 0
    for each in helpers:
        seeds = seeds_of(each, text)
        if each.definition.name not in called or not seeds:
            continue
        judged += 1
        degree = linearity(each.derived, seeds) if each.derived is not None else Degree.UNKNOWN
        linear += degree is Degree.LINEAR
        agreeing += degree is not Degree.UNKNOWN and degree is degree_in_the_book(each, seeds)
    assert judged > 150
    assert linear / judged >= 0.8
    assert agreeing / judged >= 0.75


def degree_in_the_book(helper: Helper, seeds: list[int]) -> Degree:
    """The degree of a call by the book: by a definition, or by the tables."""
    name = helper.definition.name
    names = [param.name for param in helper.definition.params]
    book = derived(name)
    if book is not None:
        # a later release has parameters that this one has not
        shared = names if set(names) < set(book.parameters) else list(book.parameters)
        given = dict.fromkeys(shared, Degree.CONSTANT)
        return degree_of(book, {**given, **{shared[at]: Degree.LINEAR for at in seeds if at < len(shared)}})
    table = polynomials().get(name)
    if table is None:
        return Degree.UNKNOWN
    by_position = {at: Degree.LINEAR if at in seeds else Degree.CONSTANT for at in range(len(names))}
    return degree_of(
        Derived("helper", table.parameters, 1, frozenset(), frozenset(), (table,)),
        {parameter: by_position.get(at, Degree.CONSTANT) for at, parameter in enumerate(table.parameters)},
    )


def seeds_of(helper: Helper, text: str) -> list[int]:
    """The positions of parameters that take gradients or tangents."""
    return [
        at
        for at, param in enumerate(helper.definition.params)
        if role_of_name(param.name).is_seed and re.search("Tensor|ariable", text[param.type_start : param.type_end])
    ]
