"""The example of operators of one's own, as its README has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from derivlint.cli.main import cli
from tests import warm
from tests.running import runner

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "custom_ops"
CHECK = """
import torch
import my_ops_autograd as ops
import my_ops

torch.manual_seed(0)
x = torch.randn(3, 4, dtype=torch.double, requires_grad=True)
scale = torch.tensor(2.0, dtype=torch.double, requires_grad=True)
torch.autograd.gradcheck(ops.scaled_cube, (x, scale), check_forward_ad=True)
torch.autograd.gradgradcheck(ops.scaled_cube, (x, scale))
torch.autograd.gradcheck(ops.smooth_abs, (x,))
torch.autograd.gradcheck(lambda value: ops.keep_large(value, 0.5)[0], (x,))
assert not ops.keep_large(x, 0.5)[1].requires_grad
torch.library.opcheck(torch.ops.my_ops.scaled_cube.default, (x, scale))
torch.library.opcheck(torch.ops.my_ops.smooth_abs.default, (x,))
torch.library.opcheck(torch.ops.my_ops.keep_large.default, (x, 0.5))
print("checked")
"""


def emitted(out: Path, *more: str) -> str:
    """What the command of the README says."""
    arguments = ["--native-functions", str(EXAMPLE / "my_ops.yaml"), "--register", "--out", str(out), *more]
    done = runner().invoke(cli, ["emit", "python", str(EXAMPLE / "derivatives.yaml"), "--torch", "2.13.0", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.torch
def test_the_example_is_differentiable(tmp_path: Path) -> None:
    """The operators are defined, registered, and pass gradcheck."""
    out = tmp_path / "my_ops_autograd.py"
    assert emitted(out) == f'3 operators: written to "{out}"\n'
    assert emitted(out, "--check") == ""
    program = f"import sys; sys.path[:0] = {[str(tmp_path), str(EXAMPLE)]!r}\n{CHECK}"
    assert warm.run(warm.text, program) == "checked\n"


def test_a_stale_module_is_noticed(tmp_path: Path) -> None:
    """With --check nothing is written, and the exit status says whether it differs."""
    out = tmp_path / "stale.py"
    out.write_text("# something else\n", encoding="utf-8")
    arguments = ["emit", "python", str(EXAMPLE / "derivatives.yaml"), "--torch", "2.13.0", "--register", "--check"]
    arguments += ["--native-functions", str(EXAMPLE / "my_ops.yaml"), "--out", str(out)]
    done = runner().invoke(cli, arguments)
    assert done.exit_code == 1
    assert out.read_text(encoding="utf-8") == "# something else\n"
