"""The wrong derivatives of forward mode and higher order that PyTorch tracks as pytorch/pytorch#198017."""

from __future__ import annotations

import pytest

from derivlint.model import Model
from derivlint.verify.findings import judged_findings
from derivlint.verify.runner import ORDINARY, RunOptions, verify
from tests.verify.conftest import NEEDS_COMPILER

#: The operators by the rule that finds them; what the thread calls det, solve and so on are these.
MEMBERS = {
    "wrong-jvp": ("cholesky_inverse", "cholesky_solve", "scatter_reduce.two"),
    "wrong-second-derivative": (
        "_linalg_det", "_linalg_slogdet", "_linalg_solve_ex", "linalg_householder_product", "native_batch_norm",
        "_native_batch_norm_legit", "_native_batch_norm_legit.no_stats", "_batch_norm_with_update", "native_layer_norm",
        "cumprod", "sinc",
    ),
}  # fmt: skip

pytestmark = [pytest.mark.full, NEEDS_COMPILER]


def test_every_member_is_found_at_the_order_where_it_is_wrong(model: Model) -> None:
    """In the entries as PyTorch 2.13 has them; all of them run on a CPU."""
    operators = {name for names in MEMBERS.values() for name in names}
    found = judged_findings(model, verify(model, operators, RunOptions(ORDINARY, ("float64",), jobs=1)))
    rules = {(each.diagnostic.entry, each.diagnostic.rule) for each in found}
    assert {(name, rule) for rule, names in MEMBERS.items() for name in names} - rules == set()
