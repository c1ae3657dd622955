"""What has no derivative raises in generated Python: it is never None, and never wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import once_operators as once
from tests.own_operators import emit, run_checks
from tests.sampling import sample

GIVEN = {"functions": once.FUNCTIONS, "derivatives": once.DERIVATIVES}
#: The definitions of the operators, where no generated module has them.
DEFINED = """\
import torch

for line in open("ops.yaml"):
    name, _, rest = line.removeprefix("- func: once::").strip().partition("(")
    torch.library.define(f"once::{name}", f"({rest}")
"""


@pytest.mark.torch
@pytest.mark.parametrize("option", sample([("--register",), ()], 1))
def test_gradients_that_are_operators_without_entry(option: tuple[str, ...], tmp_path: Path) -> None:
    """Registered operators and plain Functions are right once, also with undefined gradients, and raise twice."""
    said = emit("python", tmp_path, "functions.py", *option, **GIVEN)
    assert "7 operators: written" in said
    assert (
        'derivatives.yaml:3: the gradient cannot be differentiated again: "rmsnorm_backward" has no derivative '
        "(rmsnorm: x, weight) [not-twice-differentiable]\n"
    ) in said
    defined = "" if option else DEFINED
    (tmp_path / "generated.py").write_text(f"{defined}from functions import *\n", encoding="utf-8")
    (tmp_path / "kernels.py").write_text(once.KERNELS, encoding="utf-8")
    run_checks(tmp_path, once.CHECKS, once.PASSED)


AUTHORS = """\
import pytest
import torch
import functions
import kernels
from torch.autograd import gradgradcheck

x = (torch.rand(3, dtype=torch.double) + 0.5).requires_grad_()


def test_a_gradient_of_the_authors_own_is_used():
    torch.library.register_autograd(
        "once::cubed_backward",
        lambda ctx, grad: (grad * 3 * ctx.x ** 2, grad * ctx.grad * 6 * ctx.x),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "grad", inputs[0]) or setattr(ctx, "x", inputs[1]),
    )
    assert gradgradcheck(functions.cubed, (x,))


def test_a_check_says_so():
    with pytest.raises(functions.F.check.__globals__["CheckError"], match=":9: .* of once::product are not impl"):
        functions.F.check(torch.ops.once.product.default, (x, x.detach().clone().requires_grad_()))
"""


@pytest.mark.torch
def test_gradients_of_the_authors_own_count(tmp_path: Path) -> None:
    """They may be registered after the module is imported."""
    emit("python", tmp_path, "functions.py", "--register", **GIVEN)
    (tmp_path / "kernels.py").write_text(once.KERNELS, encoding="utf-8")
    run_checks(tmp_path, AUTHORS, "2 passed")
