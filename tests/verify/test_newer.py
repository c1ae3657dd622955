"""What needs a newer PyTorch than the installed one is not checked, and no error."""

from __future__ import annotations

import pytest

from derivlint.operators.history import load_release
from derivlint.verify.newer import needs_newer, operator_since


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
