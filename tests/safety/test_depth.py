"""However deep a formula is nested, it is checked or refused by name, whoever calls: no check runs out of frames.

Some depths of some shapes are tried; in a campaign all depths from 100 to 250 of all shapes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest

from derivlint.bodies.reading import read_helpers
from derivlint.formula.nodes import MAX_DEPTH
from derivlint.formula.parsing.parser import parse_formula
from derivlint.lint import Confidence, Rule
from derivlint.project.check import check_source
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.lsp.editor import Editor, run
from tests.sampling import CAMPAIGN, sample

SETTINGS = Settings(preview=True, min_confidence=Confidence.LOW)
#: So many frames may lie below a check: those of a server, a notebook, a test.
BELOW = 300


def _around(before: str, middle: str, after: str) -> Callable[[int], str]:
    return lambda count: before * count + middle + after * count


def _after(first: str, more: str) -> Callable[[int], str]:
    return lambda count: first + more * count


SHAPES: dict[str, Callable[[int], str]] = {
    **{
        f"{before}...{after}": _around(before, middle, after)
        for before, middle, after in (
            ("at::mul(self, ", "grad", ")"), ("self.mul(", "grad", ")"), ("at::where(self > 0, grad, ", "grad", ")"),
            ("at::where(", "self > 0", ", grad, self)"), ("(", "grad", ")"), ("-", "grad", ""), ("- ", "grad", ""),
            ("!", "grad", ""), ("~", "grad", ""), ("*&", "grad", ""), ("self - (", "grad", ")"),
            ("self / (", "grad", ")"), ("self.defined() ? grad : ", "grad", ""), ("true ? ", "grad", " : self"),
            ("(", "self.defined()", " ? grad.defined() : false)"), ("{", "grad", "}"), ("grad[", "0", "]"),
            ("static_cast<Tensor>(", "grad", ")"), ("(double) ", "grad", ""), ("std::vector<", "Tensor", ">"),
            ("std::vector<Tensor>{", "grad", "}"), ("at::IntArrayRef({", "1", "})"),
            ("[&]() { return ", "grad", "; }()"), ("[&](const Tensor& a) { return ", "grad", "; }(grad)"),
            ("[&]() { if (grad.defined()) { return ", "grad", "; } return grad; }()"),
            ("[&]() { auto x = ", "grad", "; return x; }()"), ("std::get<0>(", "grad", ")"),
            ("std::get<0>(at::max(", "grad", ", 0))"), ("std::make_tuple(", "grad", ")"),
            ("std::optional<Tensor>(", "grad", ")"), ("f(", "grad", ")"), ("at::neg(", "grad", ")"),
            ("at::sum(", "grad", ", {0}, false)"), ("at::cat({", "grad", "}, 0)"), ("grad.matmul(", "self", ")"),
            ("grad.new_zeros(", "self.sizes()", ")"), ("sum_to(", "grad", ", self.sizes())"),
            ("mul_tensor_backward(", "grad", ", self, self.scalar_type())"), ("handle_r_to_c(self, ", "grad", ")"),
            ("toNonOptFwGrad(", "grad", ")"), ("not_implemented(", '"x"', ")"), ("grad = ", "grad", ""),
            ("self < ", "grad", ""), ("grad.defined() && ", "true", ""), ("grad, ", "grad", ""),
        )
    },
    **{
        f"{first}{more}...": _after(first, more)
        for first, more in (
            *(("grad", f"{sign}self") for sign in (" + ", " * ", " / ", ", ", " == ", " && ")),
            *(("grad", f".{name}") for name in ("sin()", "conj()", "t()", "x", "mul_(self)", "sum(0)", "to(self)")),
            ("grad", "->x"),
            ("grad", "[0]"),
            ("grad", "++"),
            ("1", " << 1"),
        )
    },
}  # fmt: skip
TANGENTS = {
    "at::mul(self_p, ...": _around("at::mul(self_p, ", "self_t", ")"),
    "at::where(self_p > 0, self_t, ...": _around("at::where(self_p > 0, self_t, ", "self_t", ")"),
    "self_t.neg()...": _after("self_t", ".neg()"),
    "self_t * self_p...": _after("self_t", " * self_p"),
}
ENTRIES = {
    **{name: (shape, "self") for name, shape in SHAPES.items()},
    **{name: (shape, "result") for name, shape in TANGENTS.items()},
}


def _text(name: str, count: int) -> str:
    shape, key = ENTRIES[name]
    formula = shape(count).replace("'", "''")
    return f"- name: sin(Tensor self) -> Tensor\n  {key}: '{formula}'\n"


def _depths(name: str) -> list[int]:
    if CAMPAIGN:
        return list(range(100, 251))
    rng = Random(name)
    # a level of a shape can be several of the tree
    deepest = next((count for count in range(MAX_DEPTH, 0, -1) if parse_formula(ENTRIES[name][0](count)).tree), 100)
    return [deepest, deepest + 1, rng.randrange(100, 251)]


def _below(frames: int, function: Callable[[], object]) -> object:
    return function() if frames == 0 else _below(frames - 1, function)


@pytest.fixture(scope="module")
def rules() -> tuple[Rule, ...]:
    """All rules, those in preview as well."""
    return SETTINGS.selected(load_rules())


@pytest.fixture(scope="module")
def pool() -> ThreadPoolExecutor:
    """Other threads."""
    return ThreadPoolExecutor(1)


@pytest.mark.parametrize("name", sample(ENTRIES, 18, always=TANGENTS))
def test_a_check_finds_the_same_wherever_it_is_called(
    bundled_natives: NativeFunctions, rules: tuple[Rule, ...], pool: ThreadPoolExecutor, name: str
) -> None:
    for count in _depths(name):

        def check(count: int = count) -> object:
            checked = check_source(SourceFile("f.yaml", _text(name, count)), bundled_natives, SETTINGS, rules)
            assert checked.crashes == 0, [item.message for item in checked.unfiltered]
            return checked.unfiltered

        expected = check()
        assert pool.submit(check).result() == expected
        assert _below(BELOW, check) == expected


def test_the_server_checks_what_is_nested(tmp_path: Path) -> None:
    async def check() -> None:
        path = tmp_path / "derivatives.yaml"
        async with Editor() as editor:
            uri = editor.open(path, "")
            version = 0
            for name in Random(1).sample(list(ENTRIES), 12 if CAMPAIGN else 6):
                for count in _depths(name)[:2]:
                    version += 1
                    editor.replace(uri, version, _text(name, count))
                    codes = [item.code for item in await editor.diagnostics(uri, version)]
                    assert "internal-error" not in codes, (name, count)
            assert not [entry for entry in editor.logged if "internal" in entry]

    run(check())


def _body(statements: str) -> str:
    return f"Tensor f(const Tensor& x) {{ {statements} }}"


BODIES = {
    "functions that call each other": "".join(
        f"Tensor f{i}(const Tensor& x, int64_t n) {{ if (n > {i}) {{ return f{i + 1}(x, n); }} return x; }}\n"
        for i in range(300)
    ),
    "conditions": _body(f"{'if (x.dim()) ' * 300} return x;"),
    "returns": _body(f"{'if (x.dim()) { return x; } ' * 1000} return x;"),
    "alternatives": _body(f"{'if (x.dim()) { return x; } else ' * 300} return x;"),
    "lambdas": _body(f"{'auto g = [&]() { int k = 0; ' * 30} return x; {'}; ' * 30} return x;"),
    "parentheses": _body(f"return {'(' * 300}x{')' * 300};"),
    "braces": _body(f"{'{' * 300} {'}' * 300} return x;"),
    "lists": _body(f"auto a = std::make_tuple(x); {'a = std::make_tuple(a); ' * 300} return x;"),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_says_the_same_wherever_it_is_read(name: str) -> None:
    def read() -> object:
        return [(each.derived, each.returns) for each in read_helpers(BODIES[name])]

    assert read() == _below(sys.getrecursionlimit() // 3, read)
