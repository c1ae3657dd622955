"""Derivatives of formulas of higher orders, formulas that write, and precision."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.verify.conftest import Command

FAST = ("--quick", "--jobs", "1", "--dtype", "float64", "--output-format", "json", "--no-base")

#: Its first derivative is right and its second one is not, since what is detached is constant.
THIRD = "grad * (self.sinh().detach() + (self - self.detach()) * self.cosh().detach())"
ENTRIES = f"""\
- name: cosh(Tensor self) -> Tensor
  self: {THIRD}

- name: sinh(Tensor self) -> Tensor
  self: grad.mul_(self.cosh())
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file."""
    path = tmp_path / "derivatives.yaml"
    path.write_text(ENTRIES)
    return path


@pytest.mark.parametrize(("order", "rules"), [("2", []), ("3", ["wrong-second-derivative"])])
def test_derivatives_are_checked_up_to_the_order_that_is_asked_for(
    command: Command, path: Path, order: str, rules: list[str]
) -> None:
    """A formula that cannot be differentiated twice shows at the third order only."""
    done = command(str(path), *FAST, "--no-compile", "--ops", "cosh", "--order", order)
    found = [item for item in json.loads(done.stdout)["diagnostics"] if item["severity"] == "error"]
    assert [item["rule"] for item in found] == rules
    assert all(item["message"].startswith("the derivative of this of second order along") for item in found)


def test_a_formula_that_writes_to_what_it_gets_is_wrong(command: Command, path: Path) -> None:
    """The gradient that it overwrites may be that of another function, too."""
    done = command(str(path), *FAST, "--no-compile", "--ops", "sinh")
    document = json.loads(done.stdout)
    (found,) = document["diagnostics"]
    # without a base nothing is as before
    assert "as_before" not in document
    assert found["message"].endswith('evaluating it changes "grad" in place')


def test_precision_is_measured_beside_an_earlier_version(command: Command, tmp_path: Path) -> None:
    """A power that overflows loses gradients that can be written down; without it they are there."""
    entry = "- name: reciprocal(Tensor self) -> Tensor\n  self: "
    (tmp_path / "before.yaml").write_text(f"{entry}-grad * self * (1 / (self * self * self)).conj()\n")
    path = tmp_path / "after.yaml"
    path.write_text(f"{entry}-grad * ((1 / self) * (1 / self)).conj()\n")
    arguments = ("--precision", "--no-compile", "--against", str(tmp_path / "before.yaml"), "--output-format", "json")
    done = command(str(path), *arguments)
    rows = {(row["dtype"], row["kind"]): row for row in json.loads(done.stdout)["precision"]}
    assert rows.keys() == {
        (dtype, kind) for dtype in ("float16", "bfloat16", "float32") for kind in ("gradient", "second derivative")
    }
    half = rows["float16", "gradient"]
    assert half["inputs"] > 40_000
    assert half["lost"] < half["lost_before"]
    assert (half["better"] > 0, half["ulps"] < half["ulps_before"]) == (True, True)
    assert half["ulps_at"].startswith("self=")
    assert done.returncode == 0
