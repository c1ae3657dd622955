"""What the compiler rejects is said of the formulas that it speaks of, wherever its messages are."""

from __future__ import annotations

from pathlib import Path

import pytest

from derivlint.compiler.gxx import Compiler, Toolchain
from derivlint.model import build_model
from derivlint.runtime.syntax import SourceMessages
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from derivlint.verify.code import engine
from derivlint.verify.code.engine import _refusals
from derivlint.verify.code.functions import collect

ENTRIES = """\
- name: exp(Tensor self) -> Tensor
  self: grad * result.conj()

- name: sin(Tensor self) -> Tensor
  self: grad *
    self.cos()
"""
NOTE = "torch/function.h:81:3: note: candidate: 'torch::autograd::TypeAndSize::TypeAndSize(const at::Tensor&)'\n"
GXX = """\
verify_0.cpp: In instantiation of 'To derivlint_verify::saved(From&&) [with To = torch::autograd::TypeAndSize]':
formula_{}:32:125:   required from here
verify_0.cpp:89:12: error: {}
"""
CLANG = """\
verify_0.cpp:89:12: error: {1}
formula_{0}:32:125: note: in instantiation of function template specialization 'saved<TypeAndSize>' requested here
"""
MESSAGES = {
    "in what calls a formula": ("formula_1:24:103: error: one\n", {1: "one"}),
    "in the YAML": ("derivatives.yaml:5:5: error: one\n" + NOTE, {1: "one"}),
    "in a template, by g++": (GXX.format(0, "one") + NOTE + GXX.format(1, "two") + NOTE, {0: "one", 1: "two"}),
    "in a template, by Clang": (CLANG.format(0, "one") + NOTE + CLANG.format(1, "two"), {0: "one", 1: "two"}),
    "in a template that the YAML wants": (
        GXX.format(0, "one").replace("formula_0:32", "derivatives.yaml:2"),
        {0: "one"},
    ),
    "in both": ("formula_1:24:103: error: one\n" + NOTE + GXX.format(0, "two"), {1: "one", 0: "two"}),
    "in a header, for reasons that are not said": ("torch/function.h:81:3: error: one\n" + NOTE, {}),
}


@pytest.mark.parametrize("where", MESSAGES)
def test_each_formula_has_its_own_message(where: str, bundled_natives: NativeFunctions) -> None:
    """An error in a template is that of what wants the template: a value that cannot be saved, for example."""
    output, expected = MESSAGES[where]
    model = build_model(SourceFile("derivatives.yaml", ENTRIES), bundled_natives)
    assert _refusals(output, model, collect(model).functions) == expected


@pytest.mark.parametrize(
    ("wrong", "refused"),
    [({1}, {1}), ({0, 3}, {0, 3}), (set(), set()), ({-1}, set())],
    ids=["one", "two", "none", "all"],
)
def test_errors_that_name_no_formula_are_found_by_halves(
    wrong: set[int],
    refused: set[int],
    bundled_natives: NativeFunctions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where nothing compiles even without formulas, it is for none of them."""

    def syntax_errors(folder: Path, *, compiler: str | None = None) -> list[SourceMessages]:
        text = (folder / "verify_0.cpp").read_text()
        is_wrong = -1 in wrong or any(f"formula_{number}_boxed(" in text for number in wrong)
        return [SourceMessages("verify_0.cpp", "somewhere: error: one\n")] if is_wrong else []

    (tmp_path / "include").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libtorch_cpu.so").touch()
    monkeypatch.setattr(engine, "syntax_errors", syntax_errors)
    toolchain = Toolchain(Compiler(Path("/usr/bin/g++"), "g++"), (tmp_path / "include",))
    names = ("exp", "sin", "cos", "tan", "sinh")
    text = "".join(f"- name: {name}(Tensor self) -> Tensor\n  self: grad * self\n" for name in names)
    model = build_model(SourceFile("derivatives.yaml", text), bundled_natives)
    functions = collect(model).functions
    messages = engine._refused_by_halves(model, functions, tmp_path, toolchain, None)
    assert messages == dict.fromkeys(refused, "somewhere: error: one")
