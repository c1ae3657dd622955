"""The headers that formulas need, precompiled, and what becomes of formulas that need more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from derivlint.compiler.gxx import torch_includes
from derivlint.model import Model, build_model
from derivlint.runtime import BuildError, Built
from derivlint.runtime.build import BUILD_FOLDER
from derivlint.source import SourceFile, delete_oldest
from derivlint.verify.code import building, engine
from derivlint.verify.code.building import Headers, built_library
from derivlint.verify.code.engine import compiled
from derivlint.verify.code.functions import collect
from derivlint.verify.code.headers import COMMON, OPERATORS, operator_headers
from derivlint.verify.code.wrappers import source_of
from tests.verify.conftest import NEEDS_COMPILER


def operators_of(text: str) -> list[str]:
    """The operators whose headers are included."""
    lines = [line for line in text.splitlines() if line.startswith("#include <ATen/ops/")]
    return [line.removeprefix("#include <ATen/ops/").removesuffix(".h>") for line in lines]


@pytest.mark.torch
@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("grad * at::exp(self)", ["exp"]),
        ("at::zeros_symint(self.sym_sizes(), grad.options())", ["zeros"]),
        ("at::neg_(at::linalg_norm_out(a, b))", ["linalg_norm", "neg"]),
        ("erf_backward(grad, self)", []),
    ],
)
def test_operators_are_included_by_the_names_of_their_functions(formula: str, expected: list[str]) -> None:
    """Functions for symbolic sizes, outputs and in place are in the header of their operator."""
    includes = torch_includes()
    assert includes is not None
    assert operators_of(operator_headers(formula, includes)) == expected


def test_without_headers_of_operators_there_is_no_stand_in(tmp_path: Path) -> None:
    """Another build of PyTorch may have none."""
    assert operator_headers("grad * at::exp(self)", [tmp_path]) == ""


def test_operators_of_the_whole_file_are_found(model: Model) -> None:
    """Formulas call some hundred operators, and what is around them needs a few headers more."""
    includes = torch_includes()
    assert includes is not None
    text = operator_headers(source_of(model, collect(model).functions, few=True), includes)
    assert len(operators_of(text)) >= 300
    assert "#include <torch/csrc/autograd/VariableTypeUtils.h>" in text
    assert "#include <ATen/SparseCsrTensorUtils.h>" in text


@NEEDS_COMPILER
def test_headers_are_precompiled_once_they_are_used_again(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for the first formula, and not for one that is compiled already."""
    asked: list[Headers] = []

    def library(folder: Path, common: Path, compiler: str | None, headers: Headers, progress: object) -> Built:
        asked.append(headers)
        return Built(folder / "library.so", (), 0)

    monkeypatch.setattr(engine, "built_library", library)
    for number in range(3):
        text = f"- name: sinh(Tensor self) -> Tensor\n  self: grad * self.cosh() * {number}\n"
        functions = collect(build_model(SourceFile("derivatives.yaml", text), model.natives)).functions
        monkeypatch.setattr(engine, "is_whole", lambda folder, number=number: number == 2)
        compiled(model, functions, tmp_path)
    assert [headers.precompiles for headers in asked] == [False, True, False]
    assert (asked[0].folder / COMMON).is_file()


@NEEDS_COMPILER
def test_a_formula_that_needs_another_header_is_compiled_with_all(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only with all headers does the compiler judge; that it needed them is known the next time.

    One such formula is compiled by test_verify.
    """
    asked: list[bool] = []

    def build(folder: Path, *others: object) -> Built:
        asked.append((folder / OPERATORS).is_file())
        if asked[-1]:
            raise BuildError("no", f"{folder}/derivatives.yaml:2:7: error: 'cosh' is not a member of 'at'")
        return Built(folder / "library.so", ("verify_0.cpp",) if len(asked) == 2 else (), 0)

    monkeypatch.setattr(engine, "built_library", build)
    text = "- name: sinh(Tensor self) -> Tensor\n  self: grad * at::cosh(self)\n"
    functions = collect(build_model(SourceFile("derivatives.yaml", text), model.natives)).functions
    first = compiled(model, functions, tmp_path)
    assert (first.refused, first.fresh, asked) == ({}, True, [True, False])
    assert [function.spec.operator for function in first.functions] == ["sinh", "_foreach_sinh"]
    again = compiled(model, functions, tmp_path)
    assert (again.library, again.fresh, asked) == (first.library, False, [True, False, False])


@NEEDS_COMPILER
def test_a_helper_that_the_library_lacks_costs_its_own_formula(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FunctionsManual.h of 2.13 declares solve_backward_self, and nothing defines it."""

    def build(folder: Path, *others: object) -> Built:
        if "solve_backward_self" in (folder / "verify_0.cpp").read_text():
            raise BuildError("libtorch_cpu.so has no solve_backward_self", missing=["solve_backward_self"])
        return Built(folder / "library.so", (), 0)

    monkeypatch.setattr(engine, "built_library", build)
    text = """\
- name: erfc(Tensor self) -> Tensor
  self: solve_backward_self(grad, self, self)
- name: lgamma(Tensor self) -> Tensor
  self: grad * digamma(self)
"""
    functions = collect(build_model(SourceFile("derivatives.yaml", text), model.natives)).functions
    made = compiled(model, functions, tmp_path)
    assert [function.spec.operator for function in made.functions] == ["lgamma", "_foreach_lgamma"]
    reason = 'PyTorch\'s library has no "solve_backward_self"; name a FunctionsManual.cpp with --helpers'
    assert ([*made.uncallable.values()], made.refused) == ([reason, reason], {})


def test_what_does_not_link_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Object files of an earlier run may be damaged: those of the library and the shared ones."""
    folder, common = tmp_path / "library", tmp_path / "common"
    for place in (folder, common):
        (place / BUILD_FOLDER).mkdir(parents=True)
        (place / BUILD_FOLDER / "damaged.o").touch()
    built: list[Path] = []

    def build(place: Path, **options: object) -> Built:
        built.append(place)
        if (common / BUILD_FOLDER / "damaged.o").exists():
            raise BuildError("the extension does not link: file truncated")
        library = place / BUILD_FOLDER / "library.so"
        library.touch()
        return Built(library, (), 0)

    monkeypatch.setattr(building, "compile_sources", lambda place, **options: ())
    monkeypatch.setattr(building, "build", build)
    made = built_library(folder, common, None, None, lambda message: None)
    assert (made.library, built) == (folder / BUILD_FOLDER / "library.so", [folder, folder])
    assert building.is_whole(folder)


def test_libraries_that_were_not_used_for_longest_are_deleted(tmp_path: Path) -> None:
    """Every edit makes a library: only the last ones are kept, and files that are none of them stay."""
    for number in range(5):
        (tmp_path / f"old{number}").mkdir()
        (tmp_path / f"old{number}" / "library.so").touch()
        os.utime(tmp_path / f"old{number}", (number, number))
    (tmp_path / "samples.bin").touch()
    delete_oldest(tmp_path, 3)
    assert {path.name for path in tmp_path.iterdir()} == {"old2", "old3", "old4", "samples.bin"}
