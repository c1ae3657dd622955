"""What the commands do with C++: headers, their cache, the compiler, and the tables that are made of both."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from derivlint.project.caching.cache import cache_folder, cached
from tests.cli.conftest import Run

HEADER = """\
#pragma once
namespace my_project {
at::Tensor my_backward(const at::Tensor& grad, const at::Tensor& self, int64_t n);
}
"""
MINE = "- name: abs(Tensor self) -> Tensor\n  self: my_backward(grad, {})\n"


def rules_of(out: str) -> list[str]:
    return [item["rule"] for item in json.loads(out)["diagnostics"]]


def test_functions_that_no_header_declares_are_left_alone(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(MINE.format("self"))
    assert run("check", "derivatives.yaml").status == 0


def test_functions_of_a_header_are_checked(run: Run, here: Path) -> None:
    (here / "mine.h").write_text(HEADER)
    (here / "derivatives.yaml").write_text(MINE.format("self, 2"))
    assert run("check", "derivatives.yaml", "--headers", "mine.h").out.startswith("no findings")
    (here / "derivatives.yaml").write_text(MINE.format("self"))
    outcome = run("check", "derivatives.yaml", "--headers", "mine.h")
    assert outcome.out.splitlines()[0] == (
        'derivatives.yaml:2:9: error: "my_backward" takes 3 arguments, but 2 are given '
        "(abs: self) [wrong-argument-count]"
    )


def test_with_headers_a_function_that_nothing_declares_does_not_exist(run: Run, here: Path) -> None:
    (here / "mine.h").write_text(HEADER)
    (here / "derivatives.yaml").write_text("- name: abs(Tensor self) -> Tensor\n  self: other_function(grad)\n")
    assert run("check", "derivatives.yaml").status == 0
    outcome = run("check", "derivatives.yaml", "--headers", "mine.h", "--output-format", "json")
    assert rules_of(outcome.out) == ["undefined-function"]


def test_headers_of_the_configuration_are_relative_to_it(run: Run, here: Path) -> None:
    (here / "include").mkdir()
    (here / "include" / "mine.h").write_text(HEADER)
    (here / "derivlint.toml").write_text('headers = ["include/mine.h"]\n')
    (here / "derivatives.yaml").write_text(MINE.format("self"))
    assert rules_of(run("check", "derivatives.yaml", "--output-format", "json").out) == ["wrong-argument-count"]


def test_what_cannot_be_parsed_in_a_header_is_a_finding_there(run: Run, here: Path) -> None:
    """One slip in a header is one finding, at its place, whatever formulas call; no comment of a line covers it."""
    (here / "derivatives.yaml").write_text(MINE.format("self, 2") + MINE.format("self, 2").replace("abs", "sin"))
    (here / "mine.h").write_text(HEADER.replace("n);", "n;"))
    found = json.loads(run("check", "derivatives.yaml", "--headers", "mine.h", "--output-format", "json").out)
    assert [(item["path"], item["rule"], item["entry"], item["fix"]) for item in found["diagnostics"]] == [
        ("mine.h", "unreadable-header", None, None)
    ]
    outcome = run("check", "derivatives.yaml", "--headers", "mine.h")
    assert outcome.status == 1
    assert outcome.out.splitlines()[:4] == [
        'mine.h:3:23: warning: "(" is never closed [unreadable-header]',
        "    3 | at::Tensor my_backward(const at::Tensor& grad, const at::Tensor& self, int64_t n;",
        "      |                       ^",
        '  help: write ")" where it ends; calls of "my_backward" are not checked until the header can be read',
    ]
    assert run("check", "derivatives.yaml", "--headers", "mine.h", "--fail-level", "error").status == 0
    assert run("check", "derivatives.yaml", "--headers", "mine.h", "--ignore", "unreadable-header").status == 0
    # kept findings, another format and a second file with the same header say the same
    (here / "more_derivatives.yaml").write_text(MINE.format("self, 2"))
    for _ in range(2):
        again = run("check", "derivatives.yaml", "more_derivatives.yaml", "--headers", "mine.h")
        assert again.out.splitlines()[:4] == outcome.out.splitlines()[:4]
        assert again.out.splitlines()[-2:] == [
            "found 1 warning in 2 files (3 entries, 3 formulas)",
            "1 function unknown (my_backward); name headers with --headers",
        ]
    comment = "# derivlint: ignore-file[unreadable-header] the header is generated\n"
    (here / "derivatives.yaml").write_text(comment + MINE.format("self, 2"))
    assert run("check", "derivatives.yaml", "--headers", "mine.h").status == 0


BODIES = """\
at::Tensor my_backward(const at::Tensor& grad, const at::Tensor& self, int64_t n) {
  auto result = grad * self;
  return %s;
}
"""


def test_bodies_of_helpers_are_followed_in_formulas(run: Run, here: Path) -> None:
    """A function of which no name says what it is linear in is judged by its body, and by the content of today."""
    (here / "mine.h").write_text("at::Tensor mix(const at::Tensor& a, const at::Tensor& b);\n")
    (here / "mine.cpp").write_text("at::Tensor mix(const at::Tensor& a, const at::Tensor& b) { return a * b; }\n")
    (here / "derivatives.yaml").write_text("- name: abs(Tensor self) -> Tensor\n  self: mix(grad, grad * self)\n")
    arguments = ("check", "derivatives.yaml", "--headers", "mine.h", "--output-format", "json")
    assert rules_of(run(*arguments).out) == []
    (here / "derivlint.toml").write_text('helper-bodies = "mine.cpp"\n')
    assert rules_of(run(*arguments).out) == ["nonlinear-gradient"]
    (here / "mine.cpp").write_text("at::Tensor mix(const at::Tensor& a, const at::Tensor& b) { return a + b; }\n")
    assert rules_of(run(*arguments).out) == []


@pytest.mark.parametrize(
    ("value", "rules"),
    [
        ("t * s", ["missing-conjugate"]),
        ("t * s.conj()", []),
        ("s.isComplex() ? t * s.conj() : t * s", []),
        # branches of which it is not known whether both are taken: the book decides
        ("t.dim() > 1 ? t * s.conj() : t * s", ["missing-conjugate"]),
        ("at::unheard_of(t, s)", ["missing-conjugate"]),
    ],
)
def test_a_body_says_how_a_helper_conjugates(run: Run, here: Path, value: str, rules: list[str]) -> None:
    """It is asked first, and the book where it does not decide."""
    (here / "mine.cpp").write_text(f"Tensor maybe_multiply(const Tensor& t, const Scalar& s) {{ return {value}; }}\n")
    (here / "derivatives.yaml").write_text(
        "- name: mul.Scalar(Tensor self, Scalar other) -> Tensor\n  self: maybe_multiply(grad, other)\n"
    )
    arguments = ("check", "derivatives.yaml", "--select", "missing-conjugate", "--output-format", "json")
    assert rules_of(run(*arguments).out) == ["missing-conjugate"]
    assert rules_of(run(*arguments, "--helper-bodies", "mine.cpp").out) == rules


@pytest.mark.parametrize(
    ("value", "rules"),
    [
        ("grad.unsqueeze(0).sum(0)", []),
        # the body says what the book does not
        ("grad.unsqueeze(0)", ["wrong-gradient-shape"]),
        ("at::unheard_of(grad)", []),
    ],
)
def test_a_body_says_which_sizes_a_helper_gives(run: Run, here: Path, value: str, rules: list[str]) -> None:
    (here / "mine.h").write_text("at::Tensor mine(const at::Tensor& grad);\n")
    (here / "mine.cpp").write_text(f"at::Tensor mine(const at::Tensor& grad) {{ return {value}; }}\n")
    (here / "derivatives.yaml").write_text("- name: t(Tensor(a) self) -> Tensor(a)\n  self: mine(grad).t()\n")
    arguments = ("check", "derivatives.yaml", "--headers", "mine.h", "--output-format", "json")
    assert rules_of(run(*arguments).out) == []
    expected = ["illegal-operand-shapes"] if rules else []
    assert rules_of(run(*arguments, "--helper-bodies", "mine.cpp").out) == expected


def test_a_mistake_in_a_body_is_a_finding_there(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DERIVLINT_CACHE_DIR", str(here / ".cache"))
    (here / "derivatives.yaml").write_text(MINE.format("self, 2"))
    (here / "mine.h").write_text(HEADER)
    (here / "mine.cpp").write_text(BODIES % "result * grad")
    arguments = ("check", "derivatives.yaml", "--headers", "mine.h", "--helper-bodies", "mine.cpp")
    for _ in range(2):
        outcome = run(*arguments)
        assert outcome.status == 1
        assert outcome.out.splitlines()[:4] == [
            'mine.cpp:1:12: error: "my_backward" is not linear in "grad" [nonlinear-helper]',
            "    1 | at::Tensor my_backward(const at::Tensor& grad, const at::Tensor& self, int64_t n) {",
            "      |            ^^^^^^^^^^^",
            "  help: a backward function is linear in the gradients of the outputs",
        ]
    assert len(list((here / ".cache").glob("bodies-*"))) == 1
    # what is kept depends on the content
    (here / "mine.cpp").write_text(BODIES % "result")
    assert run(*arguments).status == 0
    assert len(list((here / ".cache").glob("bodies-*"))) == 2
    (here / "mine.cpp").write_text(BODIES % "self")
    found = run(*arguments, "--output-format", "json").out
    assert rules_of(found) == ["helper-without-gradient"]


def test_a_helper_that_does_not_ask_whether_its_gradient_is_defined_needs_a_guard(run: Run, here: Path) -> None:
    (here / "mine.h").write_text("at::Tensor my_backward(const at::Tensor& a, const at::Tensor& b);\n")
    body = "at::Tensor my_backward(const at::Tensor& a, const at::Tensor& b) {{ {} }}\n"
    (here / "derivatives.yaml").write_text(
        "- name: frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)\n"
        "  self: my_backward(grads[0], grads[1])\n"
    )
    arguments = ("check", "derivatives.yaml", "--headers", "mine.h", "--select", "unguarded-gradient")
    for statements, count in (
        ("return a + b;", 2),
        ("return a.defined() ? a + b : b;", 0),
        ("return b.defined() ? a.neg() : a;", 0),
    ):
        (here / "mine.cpp").write_text(body.format(statements))
        out = run(*arguments, "--helper-bodies", "mine.cpp", "--output-format", "json").out
        assert rules_of(out) == ["unguarded-gradient"] * count


def test_bodies_that_cannot_be_read_are_2(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(MINE.format("self, 2"))
    (here / "mine.cpp").mkdir()
    outcome = run("check", "derivatives.yaml", "--helper-bodies", "mine.cpp")
    assert outcome.status == 2
    assert "mine.cpp" in outcome.err


def test_functions_behind_an_open_bracket_are_not_called_undeclared(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(MINE.format("self, 2"))
    (here / "mine.h").write_text("/* my functions\n" + HEADER)
    found = run("check", "derivatives.yaml", "--headers", "mine.h", "--output-format", "json").out
    assert rules_of(found) == ["unreadable-header"]


def test_a_header_that_cannot_be_read_is_2(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(MINE.format("self"))
    assert run("check", "derivatives.yaml", "--headers", "no.h").status == 2
    (here / "mine.h").mkdir()
    outcome = run("check", "derivatives.yaml", "--headers", "mine.h")
    assert outcome.status == 2
    assert "mine.h" in outcome.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", None),
        ("}", '"}" closes nothing'),
        ("namespace {", '"{" is never closed'),
        ("template <", 'the declaration ends without ";"'),
        ("at::Tensor my_backward(", '"(" is never closed'),
    ],
)
def test_a_broken_header_is_one_finding(run: Run, here: Path, text: str, message: str | None) -> None:
    (here / "mine.h").write_text(text)
    (here / "derivatives.yaml").write_text("- name: abs(Tensor self) -> Tensor\n  self: grad * self.sgn()\n")
    outcome = run("check", "derivatives.yaml", "--headers", "mine.h", "--output-format", "json")
    found = [(item["rule"], item["message"]) for item in json.loads(outcome.out)["diagnostics"]]
    assert found == ([("unreadable-header", message)] if message is not None else [])
    assert outcome.status == len(found)


def test_declarations_are_cached_by_content(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DERIVLINT_CACHE_DIR", str(here / ".cache"))
    (here / "mine.h").write_text(HEADER)
    (here / "derivatives.yaml").write_text(MINE.format("self"))
    arguments = ("check", "derivatives.yaml", "--headers", "mine.h")
    without = run(*arguments, "--no-cache")
    assert not (here / ".cache").exists()
    first = run(*arguments)
    (entry,) = (here / ".cache").glob("header-*")
    second = run(*arguments)
    assert without == first == second
    entry.write_text("no JSON")
    for findings in (here / ".cache").glob("findings-*"):
        findings.unlink()
    assert run(*arguments) == first
    (here / "mine.h").write_text(HEADER.replace(", int64_t n", ""))
    assert run(*arguments).status == 0
    assert len(list((here / ".cache").glob("header-*"))) == 2


def test_a_cache_that_cannot_be_written_is_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DERIVLINT_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert cached("kind", b"x", lambda: [1]) == [1]
    monkeypatch.delenv("DERIVLINT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "derivlint"


@pytest.mark.torch
def test_the_compiler_tells_what_the_types_leave_open(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(
        "- name: exp(Tensor self) -> Tensor\n  self: grad * resultt\n"
        "- name: sin(Tensor self) -> Tensor\n  self: grad.masked_fill(self, {})\n"
    )
    outcome = run("check", "derivatives.yaml", "--compiler", "g++", "--output-format", "json")
    assert outcome.status == 1
    assert rules_of(outcome.out) == ["undefined-name", "compiler-error"]
    found = json.loads(outcome.out)["diagnostics"][1]
    assert (found["entry"], found["key"], found["start"]["line"], found["start"]["column"]) == ("sin", "self", 4, 25)
    assert found["message"].startswith("the compiler refuses this formula: call of overloaded")


def test_a_compiler_that_is_not_there_is_2(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(MINE.format("self"))
    outcome = run("check", "derivatives.yaml", "--compiler", "no-such-compiler")
    assert (outcome.status, outcome.out) == (2, "")
    assert "no-such-compiler" in outcome.err


@pytest.mark.torch
def test_the_library_is_written(run: Run, here: Path) -> None:
    outcome = run("index", "library", "--out", "library.json")
    assert outcome.status == 0
    assert "Tensor" in json.loads((here / "library.json").read_bytes())["classes"]


@pytest.mark.parametrize("command", ["relations", "names"])
def test_tables_need_a_compiler(run: Run, here: Path, command: str) -> None:
    outcome = run("index", command, "--compiler", "no-such-compiler", "--out", "table.json")
    assert outcome.status == 2
    assert not (here / "table.json").exists()
