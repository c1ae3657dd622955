"""Standard output and standard error that cannot be written: a message and a status, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import relaying
from tests.sampling import sample

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")

TEXT = "- name: sin(Tensor self) -> Tensor\n  self: grads[0] * self.cos().conj()\n  result: auto_element_wise\n"
#: Commands that print, with what they print going to standard output.
COMMANDS = (
    ("--version",), ("-V",), ("--help",), ("check", "--help"), ("emit", "cpp", "--help"), ("rules",),
    ("rule", "undefined-name"), ("completion", "bash"), ("index", "show", "add.Tensor"),
    ("model", "derivatives.yaml"), ("show", "sin", "derivatives.yaml"), ("check",),
    ("check", "--output-format", "json"), ("check", "--diff"), ("check", "--show-settings"),
    ("check", "--show-files"), ("coverage", "derivatives.yaml"), ("emit", "python", "--out", "made.py"),
)  # fmt: skip
#: One that prints before the commands are imported, and one that writes a file.
PLAIN = (COMMANDS[0], COMMANDS[-1])


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "derivatives.yaml").write_text(TEXT)
    return tmp_path


def run(
    folder: Path, *arguments: str, unbuffered: bool = False, closed: int | None = None, **streams: int
) -> tuple[int, str]:
    """The status of a command and what it says on standard error, where that goes nowhere else."""
    environment = {**os.environ, "DERIVLINT_CACHE_DIR": os.devnull}
    for name in ("PYTHONUNBUFFERED", "DERIVLINT_DEBUG"):
        environment.pop(name, None)
    if unbuffered:
        environment["PYTHONUNBUFFERED"] = "1"
    # what depends on how Python starts is not relayed
    is_real = unbuffered or closed is not None
    command = [sys.executable, "-m", "derivlint", *arguments] if is_real else relaying.command(*arguments)
    close: Callable[[], None] | None = None
    if closed is not None:
        number = closed

        def close() -> None:
            os.close(number)

    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=streams.get("stdout", subprocess.DEVNULL),
        stderr=streams.get("stderr", subprocess.PIPE),
        preexec_fn=close,
        check=False,
    )
    return done.returncode, (done.stderr or b"").decode()


@pytest.mark.parametrize("arguments", sample(COMMANDS, 6, always=PLAIN), ids=" ".join)
def test_output_that_cannot_be_written_is_reported(here: Path, arguments: tuple[str, ...]) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        for unbuffered in (False, True):
            status, reported = run(here, *arguments, stdout=full, unbuffered=unbuffered)
            assert status == 2, reported
            assert reported.endswith("derivlint: cannot write the output: No space left on device\n")
            assert "Traceback" not in reported
    finally:
        os.close(full)


@pytest.mark.parametrize("arguments", [*sample(COMMANDS, 6, seed=1), ("lsp",)], ids=" ".join)
def test_output_that_is_closed_is_reported(here: Path, arguments: tuple[str, ...]) -> None:
    """And no file of the command gets the number of the closed stream."""
    status, reported = run(here, *arguments, closed=1)
    assert status == 2, reported
    assert reported.endswith("derivlint: cannot write the output: standard output is closed\n")


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("rules",), ("check",)], ids=" ".join)
def test_a_reader_that_went_away_is_no_error(here: Path, arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        expected, _ = run(here, *arguments)
        for unbuffered in (False, True):
            assert run(here, *arguments, stdout=writer, unbuffered=unbuffered) == (expected, "")
    finally:
        os.close(writer)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("nonsense",), 2),
        (("check", "--nonsense"), 2),
        (("check", "missing.yaml"), 2),
        (("check", "--verbose"), 2),
        (("emit", "cpp"), 2),
    ],
    ids=str,
)
def test_messages_that_cannot_be_written_leave_the_status(here: Path, arguments: tuple[str, ...], status: int) -> None:
    """What could not be reported is not a success."""
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        assert run(here, *arguments, stderr=full)[0] == status
        assert run(here, *arguments, stdout=full, stderr=full)[0] == 2
    finally:
        os.close(full)


def test_with_standard_error_closed_results_are_still_written(here: Path) -> None:
    """The text goes to standard output as always, and no message into a file that is open."""
    whole = subprocess.run(
        [sys.executable, "-m", "derivlint", "check", "--fix"],
        cwd=here,
        env={**os.environ, "DERIVLINT_CACHE_DIR": os.devnull},
        stdout=subprocess.PIPE,
        preexec_fn=lambda: os.close(2),
        check=False,
    )
    assert whole.returncode == 0
    assert whole.stdout == b"no findings in 1 file (1 entry, 2 formulas)\n"
    assert (here / "derivatives.yaml").read_text() == TEXT.replace("grads[0]", "grad")
