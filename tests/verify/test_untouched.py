"""Formulas that write to what they are given: noticed, undone, and said of the key that writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from derivlint.verify.comparison.numeric import InputGuard, WriteError
from tests.verify.conftest import Command

FAST = ("--no-compile", "--quick", "--jobs", "1", "--dtype", "float64", "--output-format", "json")

#: The right formulas of an operator, then what is edited, and what that says of which variable.
RIGHT = {
    "sinh": ("grad * self.cosh().conj()", "self_t * self_p.cosh()"),
    "exp": ("grad * result.conj()", "self_t * result"),
    "sin": ("grad * self.cos().conj()", "self_t * self_p.cos()"),
    "cosh": ("grad * self.sinh().conj()", "self_t * self_p.sinh()"),
    "cos": ("grad * -self.sin().conj()", "self_t * -self_p.sin()"),
}
EDITS = {
    ("sinh", "result"): ("self_t * self_p.cosh_()", '"self"'),
    ("exp", "result"): ("result.mul_(self_t)", '"result"'),
    ("sin", "self"): ("grad.unsqueeze(0).mul_(self.cos()).squeeze(0)", '"grad"'),
    ("cosh", "result"): ("self_t.mul_(self_p.sinh())", '"self_t"'),
    ("cos", "self"): ("grad.detach().neg_() * self.sin().conj()", '"grad"'),
}


def file_of(edits: dict[tuple[str, str], tuple[str, str]]) -> str:
    """A file with the right formulas, but for some."""

    def formula(name: str, key: str, right: str) -> str:
        return f"  {key}: {edits[name, key][0] if (name, key) in edits else right}\n"

    return "".join(
        f"- name: {name}(Tensor self) -> Tensor\n{formula(name, 'self', both[0])}{formula(name, 'result', both[1])}"
        for name, both in RIGHT.items()
    )


def test_no_innocent_key_is_blamed(command: Command, tmp_path: Path) -> None:
    """Each edit is an error at its own key; nothing is said of the other formulas, and nothing is gone."""
    (tmp_path / "before.yaml").write_text(file_of({}))
    (tmp_path / "after.yaml").write_text(file_of(EDITS))
    done = command(str(tmp_path / "after.yaml"), "--against", str(tmp_path / "before.yaml"), *FAST)
    document = json.loads(done.stdout)
    found = {(item["entry"], item["key"]): item["message"] for item in document["diagnostics"]}
    assert (done.returncode, document["gone"], document["as_before"]) == (1, [], [])
    assert len(document["diagnostics"]) == len(EDITS)
    for place, (_, name) in EDITS.items():
        assert found[place].endswith(f"is wrong: evaluating it changes {name} in place")


TENSORS: dict[str, Callable[[], Any]] = {
    "plain": lambda: torch.rand(2, 3),
    "of a leaf": lambda: torch.rand(3).requires_grad_(),
    "with NaN": lambda: torch.tensor([1.0, float("nan")]),
    "strided": lambda: torch.rand(6)[::2],
    "conjugated": lambda: torch.rand(3, dtype=torch.complex64).conj(),
    "sparse": lambda: torch.eye(3).to_sparse(),
    "nested": lambda: torch.nested.as_nested_tensor([torch.rand(2), torch.rand(3)]),
    "integers": lambda: torch.tensor([1, 2]),
}
WRITES: dict[str, Callable[[Any], Any]] = {
    "by a method": lambda tensor: tensor.mul_(2),
    "without a version": lambda tensor: tensor.data.mul_(2),
    "of the same numbers": lambda tensor: tensor.mul_(1),
}


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("kind", TENSORS)
@pytest.mark.parametrize("write", WRITES)
def test_writes_are_noticed_and_undone(kind: str, write: str) -> None:
    """Whatever the layout is; a guard that finds none does nothing."""
    if (kind, write) == ("sparse", "without a version"):
        pytest.skip("it changes no number of the tensor itself")
    tensor = TENSORS[kind]()
    before = tensor.detach().clone()
    guard = InputGuard([("self", tensor), ("others", [None, 1.5])])
    guard.require_untouched()
    with torch.no_grad():
        WRITES[write](tensor)
    with pytest.raises(WriteError, match='evaluating it changes "self" in place'):
        guard.require_untouched()
    parts = zip(*((item.unbind() if kind == "nested" else [item.to_dense()]) for item in (tensor, before)), strict=True)
    assert all(torch.equal(one.nan_to_num(), other.nan_to_num()) for one, other in parts)


def test_sizes_that_change_are_restored() -> None:
    """Both tensors of a view are."""
    tensor = torch.rand(2, 3)
    view, before = tensor[:1], tensor.clone()
    guard = InputGuard([("self", tensor), ("result", view)])
    tensor.t_().zero_()
    with pytest.raises(WriteError, match='changes "self" and "result" in place'):
        guard.require_untouched()
    assert torch.equal(tensor, before)
    assert torch.equal(view, before[:1])
