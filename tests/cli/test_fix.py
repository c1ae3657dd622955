"""``derivlint check --fix`` and its relatives: what is written, what is printed, and the exit status."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import SIN, Run

#: One safe fix, and a name whose fix is unsafe.
SLIPS = """\
- name: xlogy.Tensor(Tensor self, Tensor other) -> Tensor
  # é 😀
  self: at::xlogy(grad, other).masked_fill((self == 0.) & (other <= 0.), 0.);
  other: grad * self
    / othr
"""
SAFE = SLIPS.replace(";", "")
ALL = SAFE.replace("othr", "other")
COS = "- name: cos(Tensor self) -> Tensor\n  self: grad * self.sin().conj()\n"
#: The suggestion replaces the whole.
UNCERTAIN = """\
- name: cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
  self: grad * self.no_such_method(dim)
"""


def write(here: Path, text: str, name: str = "derivatives.yaml") -> Path:
    path = here / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("variant", ["crlf", "bom", "no final line end"])
def test_every_other_byte_stays(variant: str, run: Run, here: Path) -> None:
    def varied(text: str) -> str:
        changes = {"crlf": text.replace("\n", "\r\n"), "bom": "\ufeff" + text, "no final line end": text.rstrip("\n")}
        return changes[variant]

    path = write(here, varied(SLIPS))
    assert run("check", "--fix", "--unsafe-fixes", str(path)).status == 0
    assert path.read_bytes() == varied(ALL).encode()


def test_certain_suggestions_are_unsafe_fixes(run: Run, here: Path) -> None:
    path = write(here, COS + UNCERTAIN)
    run("check", "--fix", str(path))
    assert path.read_text() == COS + UNCERTAIN
    run("check", "--fix", "--unsafe-fixes", str(path))
    assert path.read_text() == COS.replace("grad", "-grad") + UNCERTAIN


def test_a_file_without_anything_to_fix_is_not_written(run: Run, here: Path) -> None:
    path = write(here, SIN)
    os.utime(path, (1, 1))
    assert run("check", "--fix", str(path)).status == 0
    assert path.stat().st_mtime == 1


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_difference_can_be_applied(line_end: str, run: Run, here: Path) -> None:
    """Also where the last line has no end."""
    path = write(here, SLIPS.rstrip("\n").replace("\n", line_end))
    (here / "a.diff").write_bytes(process("--diff", "--unsafe-fixes", "derivatives.yaml"))
    subprocess.run(["git", "apply", "-p0", "--whitespace=nowarn", "a.diff"], cwd=here, check=True)
    assert path.read_bytes() == ALL.rstrip("\n").replace("\n", line_end).encode()


def process(*arguments: str, stdin: bytes = b"") -> bytes:
    """What a process of its own prints, to the byte: the runner of the other tests translates line ends."""
    command = [sys.executable, "-m", "derivlint", "check", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=False).stdout


@pytest.mark.usefixtures("here")
def test_standard_output_has_the_very_bytes() -> None:
    given, wanted = (("\ufeff" + text.rstrip("\n")).replace("\n", "\r\n").encode() for text in (SLIPS, ALL))
    assert process("--fix", "--unsafe-fixes", "-", stdin=given) == wanted


def test_mode_and_links_are_kept(run: Run, here: Path) -> None:
    (here / "real").mkdir()
    target = write(here, SLIPS, "real/file.yaml")
    target.chmod(0o640)
    link = here / "derivatives.yaml"
    link.symlink_to("real/file.yaml")
    run("check", "--fix", "derivatives.yaml")
    assert link.is_symlink()
    assert target.read_text() == SAFE
    assert target.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in target.parent.iterdir()) == ["file.yaml"]


def test_a_read_only_file_is_reported_and_the_others_are_fixed(run: Run, here: Path) -> None:
    first = write(here, SLIPS, "derivatives_a.yaml")
    second = write(here, SLIPS, "derivatives_b.yaml")
    first.chmod(0o444)
    outcome = run("check", "--fix", "derivatives_a.yaml", "derivatives_b.yaml")
    assert outcome.status == 2
    assert 'derivlint: cannot write "derivatives_a.yaml": it is read-only\n' in outcome.err
    assert (first.read_text(), second.read_text()) == (SLIPS, SAFE)


def test_a_failed_write_leaves_the_file_as_it_was(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    path = write(here, SLIPS)
    monkeypatch.setattr(os, "replace", fail)
    outcome = run("check", "--fix", "derivatives.yaml")
    assert outcome.status == 2
    assert outcome.err.startswith('derivlint: cannot write "derivatives.yaml": No space left on device\n')
    assert path.read_text() == SLIPS
    assert [item.name for item in here.iterdir() if item.name.startswith(".new")] == []
