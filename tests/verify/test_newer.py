"""What needs a newer PyTorch than the installed one is not checked, and no error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from derivlint.operators.history import load_release
from derivlint.verify.newer import needs_newer, operator_since
from tests.verify.conftest import NEEDS_COMPILER, Command

ENTRIES = """\
- name: linalg_polar(Tensor A, *, str side="right") -> (Tensor U, Tensor P)
  A: grad

- name: sinh(Tensor self) -> Tensor
  self: at::linalg_matrix_sqrth(grad)

- name: cosh(Tensor self) -> Tensor
  self: grad * self.sinh().conj()

- name: tanh(Tensor self) -> Tensor
  self: grad * no_such_thing(self)
"""


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("'linalg_polar' is not a member of 'at'", 'it calls "linalg_polar", which PyTorch has since 2.14.1'),
        ("'class at::Tensor' has no member named 'linalg_polar'", "linalg_polar"),
        ("'linalg_polar_jvp' was not declared in this scope; did you mean 'a'?", "linalg_polar_jvp"),
        ("use of undeclared identifier 'bessel_y1_backward'", "since 2.15.0"),
        ("no matching function for call to 'slogdet_jvp(const at::Tensor&)'", "as PyTorch has it since 2.15.0"),
        ("too many arguments to function 'at::Tensor torch::slogdet_jvp(int)'", "as PyTorch has it since 2.15.0"),
        ("'no_such_thing' was not declared in this scope", ""),
        ("no matching function for call to 'mm_mat1_backward(int)'", ""),
        ("expected ';' before '}' token", ""),
    ],
)
def test_names_of_later_releases_are_known(message: str, reason: str) -> None:
    """Of functions and of other arguments; what no release has is an error of the formula."""
    found = needs_newer(message, load_release("2.13.0"))
    assert reason in found
    assert bool(found) == bool(reason)
    assert needs_newer(message, load_release("2.15.0")) == ""


def test_operators_of_later_releases_are_known() -> None:
    """With their overloads; of what none has nothing is said."""
    natives = load_release("2.13.0")
    assert operator_since("linalg_polar", natives) == "2.14.1"
    assert (operator_since("linalg_polar.nothing", natives), operator_since("no_such_thing", natives)) == ("", "")


@NEEDS_COMPILER
def test_what_a_later_release_has_is_not_checked(command: Command, tmp_path: Path) -> None:
    """The entry and the formula are named, and what is written wrongly is an error as ever."""
    path = tmp_path / "derivatives.yaml"
    path.write_text(ENTRIES)
    done = command(str(path), "--all", "--no-base", "--quick", "--jobs", "1", "--output-format", "json")
    document = json.loads(done.stdout)
    assert [(item["entry"], item["rule"]) for item in document["diagnostics"]] == [("tanh", "compiler-error")]
    assert [(item["entry"], item["key"], item["why"]) for item in document["unchecked"]] == [
        ("linalg_polar", None, "not-in-torch"),
        ("sinh", "self", "not-in-torch"),
    ]
