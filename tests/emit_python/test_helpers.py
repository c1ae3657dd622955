"""The helper functions compute what those of PyTorch compute, where there are kinks and zeros as well."""

from __future__ import annotations

import re
from pathlib import Path

from derivlint.emit.python.calls import helper_names
from derivlint.emit.python.module import PythonModule
from derivlint.operators.reference.definitions import definitions
from tests.emit_python.deviations import AGAINST_PYTORCH, unexpected
from tests.emit_python.helper_calls import helper_calls
from tests.emit_python.test_gradients import results

#: What generated code and interpreters call in addition to the helpers of formulas.
SERVICES = {
    "CheckError", "Duals", "Entry", "TensorGeometry", "TensorInfo", "below_autograd", "broadcast", "define", "fake",
    "geometry", "namespace", "not_differentiable", "not_implemented", "strides", "tangent",
}  # fmt: skip


def test_helpers_agree_with_pytorch(written: Path) -> None:
    """Gradients for all and for single outputs, gradients of gradients, and tangents are equal."""
    found = results("tests.emit_python.helpers_checked", written)
    # PyTorch refuses gradients that depend on the phases of complex eigenvectors, and sets a tangent twice where the
    # target of a binary cross entropy has one
    assert {name for name, calls in found.items() if "only PyTorch" in str(calls)} <= {
        "linalg_eig",
        "binary_cross_entropy_backward",
        "binary_cross_entropy_with_logits",
    }
    assert unexpected(found, AGAINST_PYTORCH)[0] == {}


def test_most_helpers_are_reached(real_module: PythonModule) -> None:
    """The calls reach most helpers that formulas call."""
    texts = {item.operator: item.text for item in real_module.functions}
    operators = {operator for operator, _ in helper_calls()}
    reached = {name for name in helper_names() if any(f"F.{name}(" in texts[operator] for operator in operators)}
    called = {name for name in helper_names() if any(f"F.{name}(" in text for text in texts.values())}
    assert reached >= {name for name in called if name.startswith(("linalg_", "norm_", "svd", "cholesky", "pow_"))}
    assert len(reached) >= 90, sorted(called - reached)


def test_every_helper_is_needed(derivatives_path: Path) -> None:
    """No helper is written that no formula mentions; definitions are there for the formulas of all releases."""
    words = set(re.findall(r"\w+", derivatives_path.read_text()))
    assert {
        name for name in helper_names() - SERVICES - definitions().keys() if not {name, f"{name}_symint"} & words
    } == set()
