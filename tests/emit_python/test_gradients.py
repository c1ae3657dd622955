"""The generated Functions pass gradcheck and agree with PyTorch's autograd: a few, and all on PyTorch's samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import warm
from tests.emit_python.deviations import AGAINST_PYTORCH, NUMERIC, unexpected


def results(script: str, written: Path, *names: str) -> dict[str, Any]:
    """What a script that checks the module prints."""
    arguments = (str(written / "functions.py"), str(written / "facts.json"), *names)
    printed: dict[str, Any] = json.loads(warm.run(warm.module, script, *arguments))
    return printed


def test_a_representative_set(written: Path) -> None:
    """Operators of every form: in place, views, lists, several outputs, helpers, absent gradients, undifferentiable."""
    found = results("tests.emit_python.representative", written)
    assert len(found) >= 35
    assert unexpected(found, {}) == ({}, [])


@pytest.mark.full
def test_all_operators_with_samples(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All operators that PyTorch's samples reach pass all checks, but for the expected deviations."""
    monkeypatch.setenv("DERIVLINT_SAMPLES", str(tmp_path / "samples"))
    # the samples are recorded by a process of their own: one that has differentiated cannot be forked
    results("tests.emit_python.gradients", written, "sigmoid")
    found = results("tests.emit_python.gradients", written)
    assert len(found) >= 365
    assert len(NUMERIC) <= len(found) * 0.05
    assert unexpected(found, NUMERIC)[0] == {}


@pytest.mark.full
def test_all_operators_agree_with_pytorch(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients, their gradients and tangents of real and complex numbers are those that PyTorch computes."""
    monkeypatch.setenv("DERIVLINT_SAMPLES", str(tmp_path / "samples"))
    results("tests.emit_python.gradients", written, "sigmoid")
    found = results("tests.emit_python.agreement", written)
    assert len(found) >= 365
    assert unexpected(found, AGAINST_PYTORCH)[0] == {}
