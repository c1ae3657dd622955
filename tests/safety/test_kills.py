"""Life and death of processes: nothing that was started outlives a run, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from derivlint.source.forking import Copy
from tests.safety.kills import GRACE, bench, campaign, processes_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found as Linux lists them")

#: Makes two copies whose answers fill their pipes, and waits.
PROGRAM = """
import sys, time
from derivlint.source.forking import Copy

copies = [Copy(lambda: b"x" * 1_000_000) for _ in range(2)]
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_copies_end_with_the_first_process(number: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those whose answer no one reads any more."""
    monkeypatch.setenv("DERIVLINT_KILLED_RUN", f"copies-{number}")
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    process.wait()
    deadline = time.monotonic() + GRACE
    while processes_of(f"copies-{number}") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_of(f"copies-{number}") == [] or processes_of(f"copies-{number}") == [" ".join(sys.argv)]
    # it ends where every process has closed it
    assert process.stdout.read() == b""
    process.stdout.close()


def wait() -> bytes:
    time.sleep(60)
    return b""


def test_a_copy_answers_or_does_not() -> None:
    def fail() -> bytes:
        raise ValueError("here")

    copies = [Copy(lambda: b"x" * 1_000_000), Copy(fail), Copy(lambda: b"y")]
    assert [copy.answer() for copy in copies] == [b"x" * 1_000_000, None, b"y"]
    waiting = Copy(wait)
    waiting.end()
    with pytest.raises(ProcessLookupError):
        os.kill(waiting.pid, 0)


def test_a_copy_holds_no_pipe_of_another() -> None:
    first = Copy(wait)
    listed = Copy(
        lambda: "\\n".join(
            os.readlink(f"/proc/self/fd/{n}")
            for n in os.listdir("/proc/self/fd")
            if os.path.lexists(f"/proc/self/fd/{n}")
        ).encode()
    )
    pipe = os.readlink(f"/proc/self/fd/{first._answer}")
    answer = listed.answer()
    first.end()
    assert answer is not None
    assert pipe not in answer.decode()


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
