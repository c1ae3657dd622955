"""A few characters of C++ that ask for a billion rounds, digits or items cost next to nothing, and nothing crashes."""

from __future__ import annotations

import os
import tracemalloc
from random import Random
from time import process_time

import pytest

from derivlint.bodies.reading import read_helpers
from derivlint.bodies.sizes import body_sizes
from derivlint.cpp.declarations.definitions import FunctionDefinition
from derivlint.formula.analysis import observers
from derivlint.lint import Confidence
from derivlint.operators.shapes.size_values import UNKNOWN, Sizes
from derivlint.project.check import check_source
from derivlint.project.headers import read_bodies
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

SETTINGS = Settings(preview=True, min_confidence=Confidence.LOW)
SECONDS = 1.0 * float(os.environ.get("DERIVLINT_TEST_SLOWNESS", "3"))
MEGABYTES = 50

STATEMENTS = {
    "a long range": "for (auto i : c10::irange(1000000000)) { n = n + i; } return x.expand({n});",
    "a range of a range": "for (auto i : c10::irange(n * 1000000000, n * 3000000000)) { n += i; } return x.sum(n);",
    "squares for ever": "while (true) { n = n * n; } return x;",
    "many rounds": "for (int64_t i = 0; i < 1000000000; ++i) { n = n * n + i; } return x.expand({n});",
    "squares": f"{'n = n * n; ' * 1000} return x.expand({{n}});",
    "a string that doubles": 'std::string s = "ab"; while (true) { s = s + s; } return x;',
    "a string that doubles often": f'std::string s = "ab"; {"s = s + s; " * 100} return x.expand({{s}});',
    "a long list": "auto v = std::vector<int64_t>(1000000000); return x.expand(v);",
    "a declared list": "std::vector<int64_t> v(1000000000, 1); return x.expand(v);",
    "pairs of pairs": f"auto a = std::make_tuple(n, n); {'a = std::make_tuple(a, a); ' * 100} return x.expand(a);",
    "lists of lists": f"auto a = {{n}}; {'a = {a, a}; ' * 100} return x.expand(a);",
    "a list that grows": "std::vector<int64_t> v; for (auto i : c10::irange(30)) { v.push_back(v); } return x;",
    "lists in lists": f"auto a = std::make_tuple(n); {'a = std::make_tuple(a); ' * 1000} return x.expand(a);",
    "shifts": "n = 1 << 1000000; n <<= n; return x.expand({n});",
    "powers": f"{'n = std::pow(n, n); n = at::pow(9, n); ' * 50} return x.expand({{n}});",
    "loops in loops": f"{'for (auto i : c10::irange(30)) ' * 12} {{ n += 1; }} return x.expand({{n}});",
    "loops for ever": f"{'while (n > 0) { ' * 12} n += 1; {'}' * 12} return x.expand({{n}});",
    "ones": "return x * at::ones({1000000000, 1000000000}).unbind(0)[0];",
    "a list in sizes": "return x.reshape({1000000000, {0, 1}});",
    "a tensor in sizes": "return x.reshape({1000000000, x});",
    "pieces": "auto y = at::split(x.expand({1000000000, 3}), 1); return y[0];",
    "calls of itself": "return f(x, n - 1) + f(f(x, n), n - 2) + f(f(f(x, n), n), n);",
    "a lambda that is given itself": "auto g = [&](auto h, auto y) { return h(h, y) + h(h, y); }; return g(g, x);",
    "lambdas that call lambdas": "auto g0 = [&](Tensor y) { return y + y; }; "
    + "".join(f"auto g{i} = [&](Tensor y) {{ return g{i - 1}(y) + g{i - 1}(y); }}; " for i in range(1, 40))
    + "return g39(x);",
}
FILES = {
    **{name: f"Tensor f(const Tensor& x, int64_t n) {{ {body} }}" for name, body in STATEMENTS.items()},
    "calls of each other": "Tensor f(const Tensor& x, int64_t n) { return g(g(x, n), n) + g(x, n); }\n"
    "Tensor g(const Tensor& x, int64_t n) { return f(f(x, n), n) + f(x, n); }",
    "calls of the next one": "".join(
        f"Tensor f{i}(const Tensor& x, int64_t n) {{ return f{i + 1}(f{i + 1}(x, n), n) + f{i + 1}(x, n); }}\n"
        for i in range(150)
    ),
    "products of sums": f"Tensor f({', '.join(f'const Tensor& a{i}' for i in range(300))}) {{ Tensor r = a0; "
    + "".join(f"r = (r + a{i}) * (r + a{299 - i}); " for i in range(300))
    + "return r; }",
}


@pytest.mark.parametrize("name", FILES)
def test_a_body_takes_a_bounded_time_and_memory(name: str) -> None:
    tracemalloc.start()
    begin = process_time()
    try:
        helpers = read_helpers(FILES[name])
        definitions = [helper.definition for helper in helpers]

        def named(function: str, count: int) -> FunctionDefinition | None:
            return next((each for each in definitions if each.name == function and len(each.params) == count), None)

        for definition in definitions[:3]:
            sizes = body_sizes(definition, named)
            if sizes is not None:
                values = {name: 3 if name == "n" else Sizes((2, 3)) for name in sizes.parameters}
                value = sizes.run(values)
                assert value is UNKNOWN or isinstance(value, Sizes)
        seconds, peak = process_time() - begin, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # what is traced takes four times as long
    assert seconds < 4 * SECONDS
    assert peak < MEGABYTES * 2**20


#: Where a literal is expected stands something else, or one that is larger than anything.
FORMULAS = (
    "(self.sym_size(-self) == 1 ? grad : self)", "grad.expand({self.sym_size(-true), grad.sym_size(-1)})",
    "self.sym_size(-grad)", "self.sym_size(minus_1) * grad", "self.sym_size(-99999999999999999999999999999) * grad",
    "grad.expand({self.sym_size(0x1)})", "grad.unsqueeze(0x1F)", "grad.reshape({0b101})",
    "grad.sum(" + "9" * 5000 + ")", "std::get<0x0>(at::max(grad, 0))",
    "std::get<" + "9" * 5000 + ">(at::max(grad, 0))", "grads[0x1]", "std::array<Tensor, " + "9" * 5000 + ">{grad}",
    "grad.pow(1 << 1000000)", "grad.pow(at::pow(99, at::pow(99, 99)))", "at::ones({1000000000}) * grad",
    "grad.sum(std::vector<int64_t>(1000000000))", "grad.expand({1000000000}).unbind(0)[0]",
    "grad * std::pow(99, std::pow(99, std::pow(99, 99)))",
)  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: formula[:40])
def test_a_formula_takes_a_bounded_time_and_crashes_no_rule(bundled_natives: NativeFunctions, formula: str) -> None:
    for name, key in (("index_fill.int_Scalar", "self"), ("_adaptive_avg_pool2d", "self"), ("sin", "self")):
        schema = next(str(each.schema) for each in bundled_natives.functions if str(each.schema.name) == name)
        source = SourceFile("f.yaml", f'- name: {schema}\n  {key}: "{formula}"\n')
        begin = process_time()
        checked = check_source(source, bundled_natives, SETTINGS, SETTINGS.selected(load_rules()))
        assert checked.crashes == 0
        assert process_time() - begin < 2 * SECONDS


ENTRIES = """\
- name: sin(Tensor self) -> Tensor
  self: {call}
- name: cos(Tensor self) -> Tensor
  self: grad * slef
"""
NOTHING = {
    "an empty tuple": ("std::tuple<> f() { return std::make_tuple(); }", "f()"),
    "a call of it": (
        "std::tuple<> f() { return {}; }\nTensor g(const Tensor& x) { auto y = f(); f(); return x + y; }",
        "g(grad)",
    ),
    "an item of it": ("std::tuple<> f(const Tensor& x) { return std::tuple<>(); }", "std::get<0>(f(grad))"),
    "nothing at all": ("void f(const Tensor& x) { return; }", "f(grad) * grad"),
}


@pytest.mark.parametrize("name", NOTHING)
def test_a_function_that_gives_nothing_takes_no_rule_down(bundled_natives: NativeFunctions, name: str) -> None:
    text, call = NOTHING[name]
    natives = bundled_natives.with_bodies(lambda: read_bodies(SourceFile("f.cpp", text), use_cache=False))
    source = SourceFile("f.yaml", ENTRIES.format(call=call))
    checked = check_source(source, natives, SETTINGS, SETTINGS.selected(load_rules()))
    assert checked.crashes == 0
    assert "slef" in str([item.message for item in checked.unfiltered])


HELPERS = """\
std::tuple<Tensor, Tensor> f(const Tensor& grad, const Tensor& self, IntArrayRef dims, bool keepdim) {
  if (!grad.defined()) { return {Tensor(), Tensor()}; }
  auto out = grad.conj() * self;
  for (auto d : c10::irange(self.dim())) { out = out.sum(d, keepdim); }
  auto inner = [&](const Tensor& x) { return x.mul(2); };
  return std::make_tuple(inner(out), dims.empty() ? out : at::zeros_like(self));
}
Tensor g(const Tensor& grad) { return std::get<0>(f(grad, grad, {0, 1}, true)) / grad.size(-1); }
"""


def test_half_typed_bodies_are_read(bundled_natives: NativeFunctions) -> None:
    """Text that ends anywhere, and text that lacks any character, has some functions that are understood or none."""
    failures: list[Exception] = []
    observers.append(failures.append)
    try:
        rng = Random(1)
        texts = [HELPERS[:end] for end in range(0, len(HELPERS), 3)]
        texts += [HELPERS[:at] + HELPERS[at + rng.randint(1, 9) :] for at in range(0, len(HELPERS), 3)]
        for text in texts:
            read_bodies(SourceFile("f.cpp", text), use_cache=False)
    finally:
        observers.remove(failures.append)
    assert not failures
