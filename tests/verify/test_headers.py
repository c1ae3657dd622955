"""The header that stands in for all of ATen, and what becomes of formulas that need more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from derivlint.compiler.gxx import torch_includes
from derivlint.model import Model, build_model
from derivlint.source import SourceFile
from derivlint.verify.engine import _forget_old, compiled
from derivlint.verify.functions import collect
from derivlint.verify.headers import few_headers
from derivlint.verify.unit import source_of
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
    assert operators_of(few_headers(formula, includes)) == expected


def test_without_headers_of_operators_there_is_no_stand_in(tmp_path: Path) -> None:
    """Another build of PyTorch may have none."""
    assert few_headers("grad * at::exp(self)", [tmp_path]) == ""


def test_operators_of_the_whole_file_are_found(model: Model) -> None:
    """Formulas call some hundred operators, and what is around them needs a few headers more."""
    includes = torch_includes()
    assert includes is not None
    text = few_headers(source_of(model, collect(model).functions, few=True), includes)
    assert len(operators_of(text)) >= 300
    assert "#include <torch/csrc/autograd/VariableTypeUtils.h>" in text
    assert "#include <ATen/SparseCsrTensorUtils.h>" in text


@NEEDS_COMPILER
def test_a_formula_that_needs_another_header_is_compiled_with_all(model: Model, tmp_path: Path) -> None:
    """Only with all headers does the compiler judge; that it needed them is known the next time."""
    condition = "torch::autograd::can_mutate_inplace_result::success == torch::autograd::can_mutate_inplace_result()"
    text = f"- name: sinh(Tensor self) -> Tensor\n  self: '{condition} ? grad * self.cosh() : grad'\n"
    functions = collect(build_model(SourceFile("derivatives.yaml", text), model.natives)).functions
    said: list[str] = []
    first = compiled(model, functions, tmp_path, progress=said.append)
    assert (first.refused, len(first.functions), first.fresh) == ({}, 1, True)
    assert said.count("compiling verify_0.cpp") == 2
    said.clear()
    again = compiled(model, functions, tmp_path, progress=said.append)
    assert (again.library, again.fresh, said) == (first.library, False, [])


def test_libraries_that_were_not_used_for_longest_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every edit makes a library: only the last ones are kept, and files that are none of them stay."""
    monkeypatch.setattr("derivlint.verify.engine.KEPT", 3)
    for number in range(5):
        (tmp_path / f"old{number}").mkdir()
        (tmp_path / f"old{number}" / "library.so").touch()
        os.utime(tmp_path / f"old{number}", (number, number))
    (tmp_path / "samples.bin").touch()
    _forget_old(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"old2", "old3", "old4", "samples.bin"}
