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
from tests.cli.conftest import ADD, COS, NO_FINDINGS, SIN, Run

ERROR = """\
derivatives.yaml:2:21: error: "cos" is used (sin: self) [error-rule]
    2 |   self: grad * self.cos().conj()
      |                     ^^^
"""


def rules_found(output: str) -> list[str]:
    return [item["rule"] for item in json.loads(output)["diagnostics"]]


def test_a_clean_file_is_0(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    outcome = run("check", "derivatives.yaml", "--select", "")
    assert (outcome.status, outcome.out, outcome.err) == (0, NO_FINDINGS, "")


@pytest.mark.usefixtures("rules")
def test_findings_are_1_and_shown_with_their_place(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    outcome = run("check", "derivatives.yaml", "--select", "error-rule")
    assert outcome.status == 1
    assert outcome.err == ""
    assert outcome.out == f"{ERROR}\nfound 1 error in 1 file (1 entry, 2 formulas)\n"


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


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], ["warning-rule", "error-rule", "info-rule"]),
        (["--select", "info-rule"], ["info-rule"]),
        (["--select", "info-rule", "--select", "error-rule"], ["error-rule", "info-rule"]),
        (["--select", "info-rule", "--extend-select", "error-rule"], ["error-rule", "info-rule"]),
        (["--ignore", "info-rule,error-rule"], ["warning-rule"]),
        (["--preview"], ["preview-rule", "warning-rule", "error-rule", "info-rule"]),
        (["--extend-select", "preview-rule", "--ignore", "info-rule"], ["preview-rule", "warning-rule", "error-rule"]),
        (["--min-severity", "error"], ["error-rule"]),
        (["--min-confidence", "low", "--min-severity", "error"], ["doubtful-rule", "error-rule"]),
    ],
)
def test_options_choose_the_rules_and_what_is_shown(
    run: Run, here: Path, options: list[str], expected: list[str]
) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    outcome = run("check", "derivatives.yaml", "--output-format", "json", *options)
    assert rules_found(outcome.out) == expected


@pytest.mark.usefixtures("rules")
def test_the_summary_tells_how_many_findings_are_hidden(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    outcome = run("check", "derivatives.yaml", "--min-severity", "error")
    assert outcome.out.splitlines()[-1] == (
        "found 1 error in 1 file (1 entry, 2 formulas); 3 hidden by --min-severity or --min-confidence"
    )
    summary = json.loads(run("check", "derivatives.yaml", "--output-format", "json").out)["summary"]
    assert summary == {
        "files": 1,
        "entries": 1,
        "formulas": 2,
        "errors": 1,
        "warnings": 1,
        "infos": 1,
        "suppressed": 0,
        "hidden": 1,
        "baselined": 0,
        "unchanged": 0,
        "fixed": 0,
        "unknown_functions": 0,
    }


@pytest.mark.usefixtures("rules")
def test_an_unknown_rule_is_2_and_names_the_nearest(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    for option in ("--select", "--ignore", "--extend-select"):
        outcome = run("check", "derivatives.yaml", option, "eror-rule")
        assert (outcome.status, outcome.out) == (2, "")
        assert outcome.err == 'derivlint: unknown rule "eror-rule"; did you mean "error-rule"?\n'


@pytest.mark.usefixtures("rules")
def test_quiet_leaves_out_the_summary_and_keeps_json_whole(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    assert run("check", "derivatives.yaml", "--select", "error-rule", "-q").out == f"{ERROR}\n"
    (here / "derivatives.yaml").write_text("[]")
    assert run("check", "derivatives.yaml", "-q").out == ""
    assert json.loads(run("check", "derivatives.yaml", "-q", "--output-format", "json").out)["diagnostics"] == []


@pytest.mark.usefixtures("rules")
def test_standard_input_has_the_name_that_is_given(run: Run, here: Path) -> None:
    outcome = run("check", "-", "--select", "error-rule", "--output-format", "json", stdin=SIN)
    assert outcome.status == 1
    assert [item["path"] for item in json.loads(outcome.out)["diagnostics"]] == ["<stdin>"]
    outcome = run("check", "-", "--stdin-filename", "a/b.yaml", "--select", "error-rule", stdin=SIN)
    assert outcome.out.startswith("a/b.yaml:2:21: error:")


def test_any_bytes_are_checked_without_a_traceback(run: Run, here: Path) -> None:
    for data in (b"", b"\xff\xfe\x00", b"\x00", b"- name: [\n", b"]", b"- " * 5000, b"!!python/object:os.system x"):
        outcome = run("check", "-", stdin=data)
        assert outcome.status in (0, 1), data
        assert "Traceback" not in outcome.out + outcome.err


@pytest.mark.usefixtures("rules")
def test_folders_patterns_and_files_are_checked_once_each(run: Run, here: Path) -> None:
    for name in ("a/derivatives.yaml", "a/b/derivatives_npu.yaml", "a/.venv/derivatives.yaml", "a/b/other.yaml"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(SIN)

    def checked(*paths: str) -> list[str]:
        document = json.loads(run("check", "--select", "error-rule", "--output-format", "json", *paths).out)
        assert document["summary"]["files"] == len(document["diagnostics"])
        return [item["path"] for item in document["diagnostics"]]

    assert checked("a") == ["a/b/derivatives_npu.yaml", "a/derivatives.yaml"]
    assert checked("a/b/*.yaml") == ["a/b/derivatives_npu.yaml", "a/b/other.yaml"]
    assert checked("a/**/other.yaml") == ["a/b/other.yaml"]
    assert checked("a/derivatives.yaml", "a", "./a/../a/derivatives.yaml") == [
        "a/b/derivatives_npu.yaml",
        "a/derivatives.yaml",
    ]


@pytest.mark.usefixtures("rules")
def test_without_paths_the_nearest_file_is_checked(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    assert run("check", "--select", "error-rule").out.startswith(ERROR)
    (here / "below").mkdir()
    monkeypatch.chdir(here / "below")
    assert run("check", "--select", "error-rule").out.startswith(f"{here}/{ERROR}")


def test_without_paths_the_installed_torch_has_a_file(run: Run, derivatives_path: Path) -> None:
    outcome = run("check", "--torch", "installed", "--show-settings")
    assert outcome.out.startswith(f"file: {derivatives_path}\n")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("*.yml", 'no file matches "*.yml"'),
        ("folder", 'no file called "*derivatives*.yaml" in "folder"'),
        ("missing.yaml", 'cannot read "missing.yaml": No such file or directory'),
    ],
)
def test_what_cannot_be_found_is_2(run: Run, here: Path, path: str, message: str) -> None:
    (here / "folder").mkdir()
    outcome = run("check", path)
    assert (outcome.status, outcome.out, outcome.err) == (2, "", f"derivlint: {message}\n")


@pytest.mark.usefixtures("rules")
def test_a_file_that_cannot_be_read_does_not_stop_the_others(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    outcome = run("check", "missing.yaml", "derivatives.yaml", "--select", "error-rule", "--exit-zero")
    assert outcome.status == 2
    assert outcome.err == 'derivlint: cannot read "missing.yaml": No such file or directory\n'
    assert outcome.out == f"{ERROR}\nfound 1 error in 1 file (1 entry, 2 formulas)\n"


@pytest.mark.usefixtures("crashing_rule")
def test_a_crashing_rule_is_a_finding_and_3(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    outcome = run("check", "derivatives.yaml", "--exit-zero", "--output-format", "json")
    assert outcome.status == 3
    assert [(item["rule"], item["entry"], item["message"]) for item in json.loads(outcome.out)["diagnostics"]] == [
        ("internal-error", "sin", 'rule "crashing-rule" crashed on the entry of "sin": RuntimeError: oops'),
        ("error-rule", "sin", '"cos" is used'),
    ]


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
    monkeypatch.setattr("derivlint.cli.checking.check.configured", None)
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


def test_options_that_make_no_sense_are_2(run: Run) -> None:
    for options in (["--selct"], ["--min-severity", "bad"], ["--tags", "missing"], ["--output-format", "xml"]):
        outcome = run("check", *options)
        assert (outcome.status, outcome.out) == (2, "")


def test_a_misspelt_command_is_2_and_names_the_nearest(run: Run) -> None:
    outcome = run("chekc")
    assert outcome.status == 2
    assert outcome.err.splitlines()[-1] == 'Error: no such command "chekc"; did you mean "check"?'


def test_the_cache_that_there_is_not_can_be_switched_off(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text("[]")
    assert run("check", "derivatives.yaml", "--no-cache").status == 0


def test_operators_of_a_file_are_used_and_its_problems_are_reported_once(run: Run, here: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (here / name).write_text("[]")
    (here / "native.yaml").write_text(f"{ADD}- func: broken(\n")
    outcome = run("check", "a.yaml", "b.yaml", "--native-functions", "native.yaml")
    assert outcome.status == 2
    assert outcome.err.startswith("derivlint: native.yaml:3:")
    assert outcome.err.count("\n") == 1
    assert outcome.out == "no findings in 2 files (0 entries, 0 formulas)\n"


def test_without_any_operators_nothing_is_checked(run: Run, here: Path) -> None:
    """Else every operator of the derivatives file would be called unknown."""
    (here / "derivatives.yaml").write_text(SIN)
    (here / "native.yaml").write_text("[]")
    outcome = run("check", "derivatives.yaml", "--native-functions", "native.yaml")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == 'derivlint: no native functions in "native.yaml"\n'


def test_an_index_that_is_not_bundled_is_2(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    outcome = run("check", "derivatives.yaml", "--torch", "0.1")
    assert outcome.status == 2
    assert outcome.err.startswith('derivlint: no bundled operator index of version "0.1"; there is "2.')


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        *((argument, text) for argument in ("my_derivatives.yaml", ".") for text in ("", "\n\n", "---\n", "\ufeff")),
        # of a back end's further files some hold nothing but comments
        (".", "# nothing but a comment\n"),
    ],
)
def test_an_empty_file_does_not_pass_whatever_its_name(run: Run, here: Path, text: str, argument: str) -> None:
    name = "my_derivatives.yaml" if argument != "." else "derivatives.yaml"
    (here / name).write_text(text, encoding="utf-8")
    outcome = run("check", argument, "--output-format", "json")
    assert (outcome.status, rules_found(outcome.out)) == (1, ["not-a-list-of-entries"])


MINE = """\
- name: my_clamp(Tensor self, Tensor min, Tensor max) -> Tensor
  self: my_helper(grad, self, min, max)
  min: other_helper(grad, self) + my_helper(grad, self, min, max)
  max: 'not_implemented("my_clamp: max")'
"""
MY_OPERATORS = "- func: my_clamp(Tensor self, Tensor min, Tensor max) -> Tensor\n  dispatch:\n    CPU: my_clamp\n"


def test_functions_that_no_header_declares_are_counted(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(MINE)
    (here / "my_ops.yaml").write_text(MY_OPERATORS)
    (here / "mine.h").write_text("at::Tensor my_helper(at::Tensor, at::Tensor, at::Tensor, at::Tensor);\n")
    check = ("check", "derivatives.yaml", "--native-functions", "my_ops.yaml")
    for _ in range(2):  # the second time from the cache
        lines = run(*check).out.splitlines()
        assert lines[-1] == "2 functions unknown (my_helper, other_helper); name headers with --headers"
    assert json.loads(run(*check, "--output-format", "json").out)["summary"]["unknown_functions"] == 2
    # with a header everything that formulas call has to be declared
    lines = run(*check, "--headers", "mine.h", "--output-format", "concise").out.splitlines()
    assert (len(lines), "other_helper" in lines[0], "[undefined-function]" in lines[0]) == (2, True, True)
    (here / "derivlint.toml").write_text('options.undefined-function.functions = ["my_*", "other_*"]\n')
    assert "unknown" not in run(*check).out


def test_known_functions_are_not_counted(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    assert "unknown" not in run("check", "derivatives.yaml").out
