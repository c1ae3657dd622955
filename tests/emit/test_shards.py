"""One edit, one unit: the units that a build compiles again after a formula has changed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from derivlint.compiler.gxx import ProcessResult
from derivlint.emit.emission import emission
from derivlint.emit.files import write_files
from derivlint.model import build_model
from derivlint.runtime import BuildError, build
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

pytestmark = pytest.mark.torch

#: The beginnings of entries, their formulas and others.
EDITS = {
    "a formula with foreach functions": ("- name: add.Tensor(", "grad)", "grad * 1)"),
    "a formula with an automatic forward formula": ("- name: cosh(", "self.sinh().conj()", "(self.sinh() * 1).conj()"),
    "a forward formula": ("- name: mul.Tensor(", "other_t * self_p", "self_p * other_t"),
    "one more saved variable": ("- name: sigmoid(", "(grad, result)", "(grad, result) + 0 * self"),
    "a formula of a list": ("- name: cat(", "cat_tensors_backward", "1 * cat_tensors_backward"),
    "a formula of an in-place function": ("- name: cauchy_(", "zeros_like(grad)", "grad * 0"),
    "a formula of a view": ("- name: unsqueeze(", "grad.squeeze(dim)", "grad.squeeze(dim) * 1"),
    "a formula instead of none": ("- name: isnan(", "non_differentiable", "grad * self"),
}


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that writes empty object files, at which a build ends."""

    def run(command: Sequence[str], *_: object, **__: object) -> ProcessResult:
        Path(command[command.index("-o") + 1]).touch()
        return ProcessResult(0, "", "")

    # the package has a function of the module's name
    monkeypatch.setattr(sys.modules[build.__module__], "run", run)
    # without a precompiled header
    monkeypatch.setenv("DERIVLINT_CACHE_DIR", os.devnull)


def compiled(folder: Path, text: str, natives: NativeFunctions) -> list[str]:
    """Emit all operators of a file to a folder, and return the units that a build compiles."""
    model = build_model(SourceFile("derivatives.yaml", text), natives)
    write_files(folder, emission(model, None, "derivlint_tests").files)
    messages: list[str] = []
    with pytest.raises(BuildError):
        build(folder, progress=messages.append)
    return [message for message in messages if message.startswith("compiled ")]


def test_an_edit_recompiles_one_unit(
    tmp_path: Path, derivatives_path: Path, installed_natives: NativeFunctions, compiler: None
) -> None:
    """Nodes, kernels and bindings of an entry are in one unit, with those of its foreach and in-place functions."""
    text = derivatives_path.read_text(encoding="utf-8")
    units = compiled(tmp_path, text, installed_natives)
    assert len(units) > 10
    assert compiled(tmp_path, text, installed_natives) == []
    for edit, (entry, old, new) in EDITS.items():
        start = text.index(f"\n{entry}")
        changed = text[:start] + text[start:].replace(old, new, 1)
        again = compiled(tmp_path, changed, installed_natives)
        assert len(again) == 1, (edit, again)
