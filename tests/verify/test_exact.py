"""Double precision, which fewer bits are compared with, beside mpmath."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.verify.conftest import Command

FAST = ("--precision", "--no-compile", "--no-base", "--jobs", "1", "--output-format", "json")
ENTRIES = """\
- name: sigmoid(Tensor self) -> Tensor
  self: grad * (1 - result) * result

- name: exp(Tensor self) -> Tensor
  self: grad * result

- name: mish(Tensor self) -> Tensor
  self: grad
"""


def test_double_precision_is_compared_with_mpmath(command: Command, tmp_path: Path) -> None:
    """What cancels out in double precision is off there as well, and a wrong derivative is off everywhere."""
    path = tmp_path / "derivatives.yaml"
    path.write_text(ENTRIES)
    done = command(str(path), *FAST, "--ops", "sigmoid,exp,mish")
    rows = [row for row in json.loads(done.stdout)["precision"] if row["kind"] == "gradient"]
    assert {row["entry"] for row in rows} == {"sigmoid", "exp", "mish"}
    assert all(row["double_inputs"] >= 8 for row in rows)
    ulps = {row["entry"]: row["double_ulps"] for row in rows if row["dtype"] == "float32"}
    assert ulps["exp"] < 4 < 1e5 < ulps["sigmoid"]
    assert any(row["double_ulps"] > 1e9 for row in rows if row["entry"] == "mish")
    assert "double precision was compared with mpmath for 3 entries" in done.stderr


def test_without_mpmath_double_precision_is_not_checked() -> None:
    """Nothing is claimed of what was not compared."""
    from derivlint.verify.code.functions import FunctionSpec
    from derivlint.verify.comparison import exact

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "mpmath", None)
        exact._mpmath.cache_clear()
        of = FunctionSpec(0, "backward", "exp", "self", (), (), (), (), (), ())
        assert exact.double_precision(of, [], [], 1, None, []) == {"double_unchecked": "mpmath is not installed"}
    exact._mpmath.cache_clear()
