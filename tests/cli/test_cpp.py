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


BODIES = """\
at::Tensor my_backward(const at::Tensor& grad, const at::Tensor& self, int64_t n) {
  auto result = grad * self;
  return %s;
}
"""


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
            '  help: use "grad" once in each term, as a factor',
        ]
    assert len(list((here / ".cache").glob("bodies-*"))) == 1
    # what is kept depends on the content
    (here / "mine.cpp").write_text(BODIES % "result")
    assert run(*arguments).status == 0
    assert len(list((here / ".cache").glob("bodies-*"))) == 2
    (here / "mine.cpp").write_text(BODIES % "self")
    found = run(*arguments, "--output-format", "json").out
    assert rules_of(found) == ["helper-without-gradient"]


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
@pytest.mark.usefixtures("precompiled_headers")
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
    assert found["message"].startswith("the compiler rejects this formula: call of overloaded")


@pytest.mark.torch
def test_the_library_is_written(tool: Run, here: Path) -> None:
    outcome = tool("index", "library", "--out", "library.json")
    assert outcome.status == 0
    assert "Tensor" in json.loads((here / "library.json").read_bytes())["classes"]
