"""Operators of one's own of every kind, with the Functions of their entries as autograd kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.own_operators import CHECKS, HELPERS, KERNELS, emit


@pytest.mark.torch
def test_every_kind_of_operator_is_differentiable(tmp_path: Path) -> None:
    """First and second order, tangents, opcheck, torch.func and torch.compile."""
    (tmp_path / "my_helpers.py").write_text(HELPERS, encoding="utf-8")
    (tmp_path / "kernels.py").write_text(KERNELS, encoding="utf-8")
    (tmp_path / "test_them.py").write_text(CHECKS, encoding="utf-8")
    said = emit("python", tmp_path, "generated.py", "--register", "--helpers", str(tmp_path / "my_helpers.py"))
    assert "10 operators, 1 left out" in said
    assert "tail is left out: it returns a view of an argument: return a copy" in said
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_them.py"]
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "60 passed" in done.stdout


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("my_helpers.py", "def f(:\n", "is not Python"),
        ("my-helpers.py", "", "cannot be imported"),
        ("helpers.txt", "", "cannot be imported"),
    ],
)
def test_helpers_that_cannot_be_read_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert message in emit("python", tmp_path, "generated.py", "--register", "--helpers", str(tmp_path / name))
    assert not (tmp_path / "generated.py").exists()


def test_helpers_are_read_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "my_helpers.py").write_text(f"{HELPERS}\nraise SystemExit(7)\n", encoding="utf-8")
    assert "10 operators" in emit(
        "python", tmp_path, "generated.py", "--register", "--helpers", str(tmp_path / "my_helpers.py")
    )
    assert "import my_helpers\n" in (tmp_path / "generated.py").read_text(encoding="utf-8")
