"""``derivlint check`` with comments that silence, a baseline, and only what changed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import COS, SIN, Run

pytestmark = pytest.mark.usefixtures("rules")

FILE = Path("derivatives.yaml")
#: One of the rules is doubtful.
HIDDEN = "; 1 hidden by --min-severity or --min-confidence\n"
IGNORED = SIN.replace(".conj()", ".conj()  # derivlint: ignore[error-rule, warning-rule] known")
IGNORED = IGNORED.replace("auto_element_wise", "auto_element_wise  # derivlint: ignore[info-rule] known")


@pytest.fixture(autouse=True)
def sin_file(here: Path) -> None:
    FILE.write_text(SIN)


def summary(run: Run, *arguments: str) -> dict[str, int]:
    found: dict[str, int] = json.loads(run("check", str(FILE), "--output-format", "json", *arguments).out)["summary"]
    return found


def test_ignores_are_added_once(run: Run) -> None:
    outcome = run("check", str(FILE), "--add-ignores", "known")
    assert (outcome.status, outcome.out) == (0, "no findings in 1 file (1 entry, 2 formulas); 3 suppressed" + HIDDEN)
    assert outcome.err == "derivlint: added comments for 3 findings to 1 file\n"
    assert FILE.read_text() == IGNORED
    before = FILE.stat()
    assert run("check", str(FILE), "--add-ignores", "other").err.endswith("added comments for 0 findings to 0 files\n")
    assert FILE.read_text() == IGNORED
    assert FILE.stat().st_ino == before.st_ino


@pytest.mark.parametrize("prefix", ["", "\ufeff"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_every_other_byte_stays(run: Run, prefix: str, line_end: str) -> None:
    FILE.write_bytes((prefix + SIN.rstrip("\n")).replace("\n", line_end).encode())
    FILE.chmod(0o640)
    assert run("check", str(FILE), "--add-ignores", "known").status == 0
    assert FILE.read_bytes() == (prefix + IGNORED.rstrip("\n")).replace("\n", line_end).encode()
    assert FILE.stat().st_mode & 0o777 == 0o640


def test_a_file_that_nobody_may_write_is_left_alone(run: Run) -> None:
    FILE.chmod(0o444)
    outcome = run("check", str(FILE), "--add-ignores", "known")
    assert outcome.status == 2
    assert 'derivlint: cannot write "derivatives.yaml": it is read-only\n' in outcome.err
    assert FILE.read_text() == SIN


def test_a_baseline_is_relative_to_its_file_and_comes_from_the_configuration(run: Run, here: Path) -> None:
    (here / "derivlint.toml").write_text('baseline = "sub/known.json"\n')
    (here / "sub").mkdir()
    assert run("check", "--update-baseline").status == 0
    assert '"path": "../derivatives.yaml"' in (here / "sub/known.json").read_text()
    os.chdir(here / "sub")
    assert run("check", str(here / FILE)).status == 0
    (here / FILE).unlink()
    (here / "other_derivatives.yaml").write_text("- name: exp(Tensor self) -> Tensor\n  self: grad\n")
    outcome = run("check", str(here / "other_derivatives.yaml"))
    assert outcome.status == 1
    assert "3 baseline entries" in outcome.err


def test_only_what_changed_is_shown(run: Run, here: Path) -> None:
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *arguments], check=True, capture_output=True)
    outcome = run("check", str(FILE), "--diff-base", "HEAD")
    assert (outcome.status, outcome.out) == (
        0,
        "no findings in 1 file (1 entry, 2 formulas); 3 in unchanged entries\n",
    )
    FILE.write_text(COS + SIN)
    outcome = run("check", str(FILE), "--diff-base", "HEAD")
    assert outcome.status == 1
    assert "found 1 warning in 1 file (2 entries, 3 formulas); 3 in unchanged entries; 1 hidden" in outcome.out
    assert summary(run, "--diff-base", "HEAD")["unchanged"] == 3
    assert run("check", "-", "--stdin-filename", str(FILE), "--diff-base", "HEAD", stdin=SIN).status == 0
    outcome = run("check", str(FILE), "--diff-base", "v9")
    assert outcome.status == 2
    assert outcome.err.endswith('has no revision "v9"\n')


def test_a_reason_is_asked_for_where_the_configuration_says_so(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(here)
    FILE.write_text("- name: sin(Tensor self) -> Tensor\n  self: foo * grad # derivlint: ignore[undefined-name]\n")
    select = ("--select", "undefined-name")
    assert run("check", str(FILE), *select).status == 0
    (here / "derivlint.toml").write_text("require-ignore-reason = true\n")
    outcome = run("check", str(FILE))
    assert outcome.status == 1
    assert "[suppression-without-reason]" in outcome.out
