"""``derivlint check``: what is checked, what is shown, and the exit status."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from derivlint.cli import main
from derivlint.cli.checking.check import with_progress
from derivlint.model import build_models
from tests.cli.conftest import COS, SIN, Run

ERROR = """\
derivatives.yaml:2:21: error: "cos" is used (sin: self) [error-rule]
    2 |   self: grad * self.cos().conj()
      |                     ^^^
"""


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize(
    ("options", "status"),
    [
        ([], 1),
        (["--exit-zero"], 0),
        (["--fail-level", "error"], 1),
        (["--ignore", "error-rule"], 1),
        (["--ignore", "error-rule", "--fail-level", "error"], 0),
        (["--ignore", "error-rule,warning-rule"], 0),
        (["--ignore", "error-rule,warning-rule", "--fail-level", "info"], 1),
        (["--ignore", "error-rule,warning-rule", "--fail-level", "info", "--min-severity", "warning"], 0),
    ],
)
@pytest.mark.parametrize("output_format", ["text", "json"])
def test_the_fail_level_decides_the_status_in_every_format(
    run: Run, here: Path, options: list[str], status: int, output_format: str
) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    assert run("check", "derivatives.yaml", "--output-format", output_format, *options).status == status


def test_any_bytes_are_checked_without_a_traceback(run: Run, here: Path) -> None:
    for data in (b"", b"\xff\xfe\x00", b"\x00", b"- name: [\n", b"]", b"- " * 5000, b"!!python/object:os.system x"):
        outcome = run("check", "-", stdin=data)
        assert outcome.status in (0, 1), data
        assert "Traceback" not in outcome.out + outcome.err


@pytest.mark.usefixtures("rules")
def test_without_paths_the_nearest_file_is_checked(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    assert run("check", "--select", "error-rule").out.startswith(ERROR)
    (here / "below").mkdir()
    monkeypatch.chdir(here / "below")
    concise = run("check", "--select", "error-rule", "--output-format", "concise").out
    assert concise.startswith(f"{here}/{ERROR.splitlines()[0]}\n")


def test_without_paths_the_installed_torch_has_a_file(run: Run, derivatives_path: Path) -> None:
    outcome = run("check", "--torch", "installed", "--show-settings")
    assert outcome.out.startswith(f"file: {derivatives_path}\n")


@pytest.mark.usefixtures("rules")
def test_a_file_on_which_derivlint_fails_does_not_stop_the_others(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "a.yaml").write_text(SIN)
    (here / "b.yaml").write_text(SIN)

    def fail(source: Any, *others: Any, **more: Any) -> Any:
        if source.path == "a.yaml":
            raise RuntimeError("oops")
        return build_models(source, *others, **more)

    monkeypatch.setattr("derivlint.project.check.build_models", fail)
    outcome = run("check", "a.yaml", "b.yaml", "--select", "error-rule", "--output-format", "json")
    assert outcome.status == 3
    assert [(item["path"], item["rule"], item["message"]) for item in json.loads(outcome.out)["diagnostics"]] == [
        ("a.yaml", "internal-error", "internal error: RuntimeError: oops"),
        ("b.yaml", "error-rule", '"cos" is used'),
    ]
    monkeypatch.setenv("DERIVLINT_DEBUG", "1")
    with pytest.raises(RuntimeError, match="oops"):
        run("check", "a.yaml")


def test_an_exception_outside_of_checks_is_reported_without_a_traceback(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    monkeypatch.setattr("derivlint.cli.checking.check.resolve_inputs", None)
    assert main.run(["check", "derivatives.yaml"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "derivlint: internal error: TypeError: 'NoneType' object is not callable\n"
        "derivlint: this is a bug of derivlint; set DERIVLINT_DEBUG=1 for the traceback and please report it\n"
    )


@pytest.mark.usefixtures("rules")
def test_colour_is_for_terminals_or_on_demand(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    options = ("check", "derivatives.yaml", "--select", "error-rule")
    plain = run(*options).out
    assert "\x1b" not in plain
    coloured = run(*options, "--color", "always").out
    assert "\x1b[1;31merror: \x1b[0m" in coloured
    assert without_styles(coloured) == plain
    assert "\x1b" not in run(*options, "--color", "always", "--output-format", "json").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run(*options).out == coloured
    assert run(*options, "--color", "never").out == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert run(*options).out == plain
    monkeypatch.setenv("TERM", "dumb")
    assert run(*options, "--color", "always").out == coloured


def without_styles(text: str) -> str:
    pieces = text.split("\x1b[")
    return pieces[0] + "".join(piece.partition("m")[2] for piece in pieces[1:])


@pytest.mark.usefixtures("rules")
def test_many_files_share_one_report_sorted_by_path(run: Run, here: Path) -> None:
    for number in range(12):
        (here / f"derivatives{number:02}.yaml").write_text(SIN if number % 2 else COS)
    outcome = run("check", ".", "--select", "error-rule")
    assert [line.partition(":")[0] for line in outcome.out.splitlines() if "error-rule" in line] == [
        f"derivatives{number:02}.yaml" for number in range(1, 12, 2)
    ]
    assert outcome.out.splitlines()[-1] == "found 6 errors in 12 files (12 entries, 18 formulas)"
    assert outcome.err == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_for_many_files_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CI", "PRE_COMMIT"):
        monkeypatch.delenv(name, raising=False)
    files = list("abcde")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert list(with_progress(files)) == files
    lines = [f"\r\x1b[Kchecking {number} of 5: {name}" for number, name in enumerate(files, 1)]
    assert terminal.getvalue() == "".join(lines) + "\r\x1b[K"
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert list(with_progress(files[1:])) == files[1:]
    monkeypatch.setenv("PRE_COMMIT", "1")
    assert list(with_progress(files)) == files
    assert terminal.getvalue() == ""


def test_known_functions_are_not_counted(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    assert "unknown" not in run("check", "derivatives.yaml").out
