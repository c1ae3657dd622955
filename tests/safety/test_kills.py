"""Life and death of processes: nothing that was started outlives a run, however that ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.safety.kills import bench, campaign

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found as Linux lists them")


def test_a_terminated_run_says_so_and_leaves_no_file(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "derivlint", "check", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path,
    )  # fmt: skip
    time.sleep(3.0)
    process.terminate()
    out, err = process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert out == b""
    assert b"Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_a_sample_of_kills(tmp_path: Path) -> None:
    """``python -m tests.safety.kills`` does it 300 times, with all commands."""
    made = bench(tmp_path)
    assert campaign(made, ["check", "fix", "python", "cpp", "review", "lsp"], 8, 11) == []
