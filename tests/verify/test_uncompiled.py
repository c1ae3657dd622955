"""What stands in for PyTorch's compiler where nothing is compiled."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys, torch
import torch.autograd.forward_ad as forward_ad
from derivlint.verify.processes.server import replace_compiler_by_stub
replace_compiler_by_stub()
x = torch.ones(3)
with forward_ad.dual_level():
    # the tangent of the other factor is a tensor that is known to be zero
    dual = forward_ad.make_dual(x, x)
    print(forward_ad.unpack_dual(torch.mul(dual, x * 2)).tangent.tolist(), 'torch._dynamo.convert_frame' in sys.modules)
import torch._dynamo
print(torch._dynamo.config.__name__, torch.compile(lambda x: x + 1, backend="eager")(x).tolist())
"""


@pytest.mark.torch
def test_forward_mode_imports_no_compiler_and_whoever_wants_it_gets_it() -> None:
    """The module itself comes where more of it is asked for than the mark."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == (
        "[2.0, 2.0, 2.0] False\ntorch._dynamo.config [2.0, 2.0, 2.0]\n",
        0,
    ), done.stderr
