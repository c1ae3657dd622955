"""Where the gradients of PyTorch's own elementwise formulas are lost in few bits, each with the worst input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.verify.conftest import Command

pytestmark = pytest.mark.torch

#: The operator, the derivative, and the type; the input at which most is lost, and what is found there.
LOST = {
    ("acosh", "gradient", "float16"): "self=256.0: 0, right is 0.00390628",
    ("acosh", "gradient", "float32"): "self=1.8511690026539024e+19: 0, right is 5.40199e-20",
    ("asinh", "gradient", "float16"): "self=256.0: 0, right is 0.00390622",
    ("asinh", "gradient", "bfloat16"): "self=1.8446744073709552e+19: 0, right is 5.42101e-20",
    ("expm1", "gradient", "float16"): "self=-8.3203125: 0, right is 0.00024352",
    ("expm1", "gradient", "bfloat16"): "self=-6.25: 0, right is 0.00193045",
    ("exp2", "gradient", "float16"): "self=16.515625: inf, right is 64941.7",
    ("exp2", "second derivative", "float16"): "self=17.046875: inf, right is 65053.6",
    ("log_sigmoid_forward", "second derivative", "float16"): "self=8.3203125: 0, right is -0.000243401",
    ("sigmoid", "gradient", "bfloat16"): "self=6.25: 0, right is 0.00192302",
    ("sigmoid", "second derivative", "float16"): "self=8.3203125: -0, right is -0.000243283",
    ("tanh", "gradient", "float16"): "self=4.5078125: 0, right is 0.000485868",
    ("silu", "second derivative", "float16"): "self=8.3203125: 0, right is -0.00153739",
    ("mish", "second derivative", "float16"): "self=4.49609375: 0, right is -0.00329142",
    ("rsqrt", "gradient", "float16"): "self=0.0003879070281982422: -inf, right is -65445.3",
}


@pytest.fixture(scope="module")
def rows(command: Command, derivatives_path: Path) -> list[dict[str, Any]]:
    """What is measured."""
    names = ",".join(sorted({name for name, _, _ in LOST} | {"atan2"}))
    arguments = ("--precision", "--no-compile", "--no-base", "--jobs", "1", "--output-format", "json", "--ops", names)
    done = command(str(derivatives_path), *arguments)
    assert done.returncode == 0
    found: list[dict[str, Any]] = json.loads(done.stdout)["precision"]
    return found


def test_gradients_that_are_lost_are_reported_with_the_worst_input(rows: list[dict[str, Any]]) -> None:
    """By underflow, overflow and cancellation, in the types and the order of derivatives where they are."""
    places = {(row["entry"], row["kind"], row["dtype"]): row["lost_at"] for row in rows if row["entry"] != "atan2"}
    assert {place: places[place] for place in LOST} == LOST


def test_a_quotient_of_small_numbers_loses_a_third_of_its_gradients(rows: list[dict[str, Any]]) -> None:
    """The sum of two squares underflows: both gradients and the tangent of atan2 are infinite or zero there."""
    of_atan2 = [row for row in rows if row["entry"] == "atan2" and row["kind"] != "second derivative"]
    assert {(row["kind"], row["what"], row["dtype"]) for row in of_atan2} == {
        (kind, what, dtype)
        for kind, what in (("gradient", "self"), ("gradient", "other"), ("tangent", "result"))
        for dtype in ("float16", "bfloat16", "float32")
    }
    assert all(row["lost"] > 0.1 * row["inputs"] for row in of_atan2)
