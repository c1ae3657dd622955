"""The command as a process of its own: exit statuses, streams, signals and what it imports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import NO_FINDINGS, SIN

COMMAND = [sys.executable, "-m", "derivlint"]
EXAMPLE = Path(__file__).parents[2] / "examples" / "derivatives.yaml"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and signals as POSIX has them")


def start(
    *arguments: str, stdin: str = "", stdout: int | None = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        input=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        encoding="utf-8",
        check=False,
        timeout=600,
    )


@pytest.mark.usefixtures("here")
def test_exit_statuses_and_streams() -> None:
    clean = start("check", "-", stdin=SIN)
    assert (clean.returncode, clean.stdout, clean.stderr) == (0, NO_FINDINGS, "")
    findings = start("check", str(EXAMPLE))
    assert (findings.returncode, findings.stderr) == (1, "")
    assert start("check", str(EXAMPLE), "--exit-zero").returncode == 0
    missing = start("check", "missing.yaml")
    assert (missing.returncode, missing.stdout) == (2, "")
    usage = start("check", "--nonsense")
    assert (usage.returncode, usage.stdout) == (2, "")
    nothing = start()
    assert (nothing.returncode, nothing.stdout) == (2, "")


@pytest.mark.usefixtures("here")
def test_a_pipe_gets_plain_text_and_force_color_styles() -> None:
    plain = start("check", str(EXAMPLE))
    assert "\x1b" not in plain.stdout
    assert start("check", str(EXAMPLE), NO_COLOR="1", FORCE_COLOR="1").stdout == plain.stdout
    assert "\x1b[" in start("check", str(EXAMPLE), FORCE_COLOR="1").stdout


@pytest.mark.usefixtures("here")
def test_the_same_input_gives_the_same_bytes_whatever_the_hash_seed() -> None:
    outputs = {
        start("check", str(EXAMPLE), "--output-format", "json", PYTHONHASHSEED=seed).stdout for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1


@pytest.mark.usefixtures("here")
def test_json_is_utf_8_and_text_is_escaped_where_the_locale_has_less() -> None:
    options = ["check", "-", "--stdin-filename", "é.yaml"]
    text = EXAMPLE.read_text(encoding="utf-8")
    found = start(*options, "--output-format", "json", stdin=text, PYTHONIOENCODING="ascii")
    assert found.returncode == 1
    assert {item["path"] for item in json.loads(found.stdout)["diagnostics"]} == {"é.yaml"}
    found = start(*options, stdin=text, PYTHONIOENCODING="ascii")
    assert found.returncode == 1
    assert found.stdout.startswith("\\xe9.yaml:")


@pytest.mark.usefixtures("here")
def test_a_reader_that_goes_away_is_no_error() -> None:
    """The status is that of the check, and nothing is said."""
    reading, writing = os.pipe()
    os.close(reading)
    for output_format in ("text", "json"):
        outcome = start("check", str(EXAMPLE), "--output-format", output_format, stdout=writing)
        assert (outcome.returncode, outcome.stderr) == (1, "")
    outcome = start("rules", stdout=writing)
    assert (outcome.returncode, outcome.stderr) == (0, "")
    os.close(writing)


@pytest.mark.usefixtures("here")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_output_that_cannot_be_written_is_2() -> None:
    with open("/dev/full", "w") as full:
        outcome = start("check", "-", stdin=SIN, stdout=full.fileno())
    assert (outcome.returncode, outcome.stderr) == (2, "derivlint: cannot write the output: No space left on device\n")


@pytest.mark.usefixtures("here", "interruptible")
def test_an_interrupt_is_130_without_a_traceback() -> None:
    with subprocess.Popen(
        [*COMMAND, "check", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        # the process is past its imports once it has taken what fills the pipe
        process.stdin.write(b"#" * 1_000_000)
        process.stdin.flush()
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=600)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err


def test_the_version_imports_next_to_nothing() -> None:
    code = (
        "import sys; sys.argv = ['derivlint', '--version']\n"
        "from derivlint.__main__ import main; main()\n"
        "print(sorted(name for name in sys.modules if name.startswith(('click', 'derivlint.', 'rich', 'lark'))))"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    version, modules = outcome.stdout.splitlines()
    assert version.startswith("derivlint ")
    assert modules == "['derivlint.__main__', 'derivlint.version']"
    assert start("--version").stdout.splitlines() == [version]


def test_a_check_does_not_import_what_only_terminals_need() -> None:
    code = (
        "import sys; from derivlint.cli.main import run\n"
        f"assert run(['check', {str(EXAMPLE)!r}, '--exit-zero', '-q']) == 0\n"
        "print(sorted({'rich', 'torch', 'torchgen'} & set(sys.modules)))"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert outcome.stdout.splitlines()[-1] == "[]"
