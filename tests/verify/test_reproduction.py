"""Scripts that show a wrong derivative by the public interface."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from derivlint.model import Model
from derivlint.verify.code.functions import FunctionSpec, collect
from derivlint.verify.inputs.points import SamplePoint
from derivlint.verify.reproduction import MAX_ELEMENTS, reproduction
from tests import warm
from tests.verify.conftest import Command


def spec(model: Model, operator: str, key: str) -> FunctionSpec:
    """The function of a formula of the shipped file."""
    return next(each.spec for each in collect(model, {operator}).functions if each.spec.key == key)


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=False)


def numbers(text: str, which: str) -> list[float]:
    """The numbers that gradcheck printed of one of both."""
    (printed,) = re.findall(rf"^{which}:tensor\((.*?)dtype", text, re.MULTILINE | re.DOTALL)
    return [float(number) for number in re.findall(r"-?\d+\.\d*(?:e[+-]?\d+)?", printed)]


def test_a_defect_of_pytorch_shows_both_numbers(model: Model) -> None:
    """The tangent of logcumsumexp vanishes before a much larger number, where differences give one."""
    point = SamplePoint([torch.tensor([-40.0, 0.0], dtype=torch.float64), 0])
    script = reproduction(spec(model, "logcumsumexp", "result"), point, "wrong-jvp", "self")
    done = run(script)
    assert done.returncode == 1
    assert "GradcheckError" in done.stderr
    expected, found = numbers(done.stderr, "numerical"), numbers(done.stderr, "analytical")
    assert expected == pytest.approx([1.0, 0.0, 0.0, 1.0], abs=1e-4)
    assert found == pytest.approx([0.0, 0.0, 0.0, 1.0], abs=1e-3)


def test_a_right_formula_raises_nothing_and_the_script_says_what_it_cannot_show(model: Model) -> None:
    """A formula that is wrong only in an edited file is not among those of the installed PyTorch."""
    point = SamplePoint([torch.tensor([[0.5, 2.0]], dtype=torch.float64), torch.tensor([1.0], dtype=torch.float64)])
    script = reproduction(spec(model, "mul.Tensor", "self"), point, "wrong-vjp", "self")
    assert (
        script
        == """\
# mul.Tensor, self: wrong-vjp. Shown by PyTorch's own gradcheck at the input at which it was found.
# This runs the formulas that the installed PyTorch was built with. It raises an error, with both numbers, where the
# formula in the file is one of them. A formula that was edited is seen only after PyTorch was built with it.

import torch

self = torch.tensor([[0.5, 2.0]], dtype=torch.float64).requires_grad_()
other = torch.tensor([1.0], dtype=torch.float64)

def f(self):
    torch.manual_seed(0)
    return torch.ops.aten.mul.Tensor(self, other)

torch.autograd.gradcheck(f, (self,))
"""
    )
    done = run(script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_mask_is_shown_where_one_gradient_is_needed(model: Model) -> None:
    """The other input requires none."""
    tensor = torch.tensor([1.0], dtype=torch.float64)
    script = reproduction(spec(model, "atan2", "self, other"), SamplePoint([tensor, tensor]), "mask-ignored", "other")
    assert script.count("requires_grad_") == 1
    assert "other = torch.tensor([1.0], dtype=torch.float64).requires_grad_()" in script


@pytest.mark.parametrize(
    ("operator", "key", "values"),
    [
        ("sin", "self", [torch.zeros(MAX_ELEMENTS + 1, dtype=torch.float64)]),
        ("sin", "self", [torch.eye(2, dtype=torch.float64).to_sparse()]),
        ("elu_", "self", [torch.zeros(2, dtype=torch.float64), 1.0, 1.0, 1.0]),
    ],
)
def test_some_inputs_are_not_written_down(model: Model, operator: str, key: str, values: list[Any]) -> None:
    """Large ones, sparse ones, and those that the operator writes to."""
    assert reproduction(spec(model, operator, key), SamplePoint(values), "wrong-vjp", "self") == ""


def test_a_changed_formula_is_run(command: Command, tmp_path: Path) -> None:
    """The script fails on the edit, passes on the formula before, and goes on without the file; the page shows both."""
    entry = "- name: sinh(Tensor self) -> Tensor\n  self: {}\n"
    before, after = tmp_path / "before.yaml", tmp_path / "after.yaml"
    before.write_text(entry.format("grad * self.cosh().conj()"))
    after.write_text(entry.format("grad * self.sinh().conj()"))
    options = ("--no-compile", "--quick", "--dtype", "float64", "--ops", "sinh")
    written = ("--scripts", str(tmp_path / "scripts"), "--page", str(tmp_path / "page.md"))
    assert command(str(after), "--against", str(before), *options, *written).returncode == 1
    script = (tmp_path / "scripts" / "sinh-self-wrong-vjp.py").read_text()

    def status(*arguments: str) -> int:
        program = f"""
import sys
sys.argv[1:] = {list(arguments)!r}
try:
    exec({script!r}, {{}})
except SystemExit as end:
    print("status", end.code)
"""
        return int(warm.run(warm.text, program).split()[-1])

    assert status() == 1
    assert status(str(before)) == 0
    page = (tmp_path / "page.md").read_text()
    assert "```diff\n-grad * self.cosh().conj()\n+grad * self.sinh().conj()\n```" in page
    arguments = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert arguments[0] in script
    after.unlink()
    assert status() == 1
