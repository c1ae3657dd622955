"""Operators that are not PyTorch's: nodes and kernels for their namespace, built and loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.own_operators import CHECKS, DERIVATIVES, KERNELS, emit

#: What the C++ calls is C++: no helper of the author's Python.
FORMULAS = DERIVATIVES.replace("scaled_by(grad, by)", "grad * by")
#: The operators by their names, once the extension is loaded.
GENERATED = """\
import sys
import torch
from derivlint.runtime import load

for line in open("ops.yaml"):
    name, _, rest = line.removeprefix("- func: ops::").strip().partition("(")
    torch.library.define(f"ops::{name}", f"({rest}")
load("cpp", build_folder=BUILD)
sys.modules[__name__] = torch.ops.ops
"""


@pytest.mark.torch
@pytest.mark.skipif(sys.platform != "linux", reason="hidden helpers are reached on Linux only")
def test_every_kind_of_operator_is_differentiable(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """First and second order, tangents, opcheck, torch.func and torch.compile."""
    assert f'11 operators and 11 nodes: 11 of 11 files written to "{tmp_path / "cpp"}"' in emit(
        "cpp", tmp_path, "cpp", derivatives=FORMULAS
    )
    build = pytestconfig.cache.mkdir("own_operators") if pytestconfig.cache is not None else tmp_path / "build"
    (tmp_path / "generated.py").write_text(GENERATED.replace("BUILD", repr(str(build))), encoding="utf-8")
    (tmp_path / "kernels.py").write_text(KERNELS, encoding="utf-8")
    (tmp_path / "test_them.py").write_text(CHECKS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_them.py"]
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "60 passed" in done.stdout


def test_a_build_of_pytorch_has_no_operators_of_ones_own(tmp_path: Path) -> None:
    said = emit("cpp", tmp_path, "cpp", "--mode", "in-tree", "--ops", "scaled", derivatives=FORMULAS)
    assert said == (
        'derivlint: no C++ is emitted for "ops::scaled": a build of PyTorch has operators of the namespace "aten" '
        "only; leave them out with --ops\n"
    )
    assert not (tmp_path / "cpp").exists()


def test_the_operators_are_called_through_the_dispatcher(tmp_path: Path) -> None:
    emit("cpp", tmp_path, "cpp", "--ops", "softplus2_twice", derivatives=FORMULAS)
    header = (tmp_path / "cpp" / "operators.h").read_text(encoding="utf-8")
    assert '.findSchemaOrThrow("ops::softplus2", "")\n      .typed<at::Tensor(const at::Tensor &)>();' in header
    assert "inline at::Tensor scaled(const at::Tensor & x, const at::Scalar & by = 2) {" in header
    kernels = (tmp_path / "cpp" / "kernels_0.cpp").read_text(encoding="utf-8")
    assert "TORCH_LIBRARY_IMPL(ops, Autograd, m) {" in kernels
    assert " ops::redispatch_softplus2_twice(ks & c10::after_autograd_keyset, x)" in kernels
