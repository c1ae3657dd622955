"""Where the findings go and in which format; the exit status, the streams and what is printed next to the findings."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from xml.etree import ElementTree

import pytest

from derivlint.formats.registry import FORMATS
from tests.cli.conftest import COS, SIN, Run

STRUCTURED = sorted(FORMATS.keys() - {"text", "concise", "github"})


def parse(name: str, text: str) -> None:
    """Read a structured text as its consumer does; anything else in it is an error."""
    if name == "junit":
        ElementTree.fromstring(text)
    elif name in ("json-lines", "rdjsonl", "lintrunner"):
        for line in text.splitlines():
            json.loads(line)
    else:
        json.loads(text)


@pytest.fixture
def file(here: Path) -> Path:
    path = here / "derivatives.yaml"
    path.write_text(SIN)
    return path


@pytest.mark.usefixtures("rules", "file")
@pytest.mark.parametrize("name", FORMATS)
def test_the_status_is_the_same_in_every_format_but_that_of_lintrunner(run: Run, name: str) -> None:
    expected = 0 if name == "lintrunner" else 1
    assert run("check", "--output-format", name).status == expected
    assert run("check", "--output-format", name, "--select", "error-rule", "--exit-zero").status == 0
    assert run("check", "--output-format", name, "--fail-level", "error", "--select", "info-rule").status == 0
    assert run("check", "missing.yaml", "--output-format", name).status == (0 if name == "lintrunner" else 2)


@pytest.mark.usefixtures("rules", "file")
@pytest.mark.parametrize("name", STRUCTURED)
def test_standard_output_can_be_parsed_whatever_else_is_asked_for(run: Run, name: str) -> None:
    outcome = run("check", "derivatives.yaml", "missing.yaml", "--output-format", name, "-v", "--color", "always")
    parse(name, outcome.out)
    assert outcome.out
    assert "\x1b" not in outcome.out
    assert "derivlint: derivatives.yaml: operators: " in outcome.err


@pytest.mark.usefixtures("rules", "file")
@pytest.mark.parametrize("name", STRUCTURED)
def test_no_findings_are_a_valid_document_as_well(run: Run, file: Path, name: str) -> None:
    file.write_text(COS)
    outcome = run("check", "--select", "error-rule", "--output-format", name)
    assert outcome.status == 0
    parse(name, outcome.out)


@pytest.mark.usefixtures("rules", "file")
def test_the_environment_names_the_format_where_the_command_line_does_not(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DERIVLINT_OUTPUT_FORMAT", "concise")
    assert run("check", "--select", "error-rule").out.startswith("derivatives.yaml:2:21: error: ")
    assert json.loads(run("check", "--output-format", "json").out)["version"] == 1
    monkeypatch.setenv("DERIVLINT_OUTPUT_FORMAT", "yaml")
    assert run("check").status == 2


@pytest.mark.usefixtures("rules", "file")
@pytest.mark.parametrize("name", FORMATS)
def test_a_file_gets_the_same_text_and_standard_output_none(run: Run, here: Path, name: str) -> None:
    expected = run("check", "--output-format", name)
    outcome = run("check", "--output-format", name, "--output-file", "out put.txt")
    assert (outcome.status, outcome.out, outcome.err) == (expected.status, "", expected.err)
    assert (here / "out put.txt").read_bytes() == expected.out.encode()


@pytest.mark.usefixtures("rules", "file")
def test_a_file_is_written_whole_and_keeps_its_mode(run: Run, here: Path) -> None:
    out = here / "out.json"
    link = here / "link.json"
    out.write_text("old")
    out.chmod(0o600)
    link.symlink_to(out.name)
    assert run("check", "--output-format", "json", "-o", "link.json").status == 1
    assert json.loads(out.read_text())["version"] == 1
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert link.is_symlink()
    assert sorted(path.name for path in here.glob("*")) == ["derivatives.yaml", "link.json", "out.json"]


@pytest.mark.usefixtures("rules", "file")
def test_a_device_is_written_to_and_not_replaced(run: Run) -> None:
    assert run("check", "--output-file", os.devnull).status == 1
    assert not stat.S_ISREG(os.stat(os.devnull).st_mode)


@pytest.mark.usefixtures("rules", "file")
def test_a_place_that_cannot_be_written_is_2_before_anything_is_checked(run: Run) -> None:
    outcome = run("check", "-o", "missing/out.txt", "-v")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == 'derivlint: cannot write "missing/out.txt": there is no folder "missing"\n'


@pytest.mark.usefixtures("rules", "file")
def test_counts_for_each_rule(run: Run) -> None:
    assert run("check", "--statistics").out == (
        "1  error-rule    error\n1  info-rule     info\n1  warning-rule  warning\n"
        "found 1 error, 1 warning and 1 info in 1 file (1 entry, 2 formulas); "
        "1 hidden by --min-severity or --min-confidence\n"
    )
    document = json.loads(run("check", "--statistics", "--output-format", "json").out)
    assert document["statistics"] == [
        {"rule": "error-rule", "count": 1},
        {"rule": "info-rule", "count": 1},
        {"rule": "warning-rule", "count": 1},
    ]
    assert len(document["diagnostics"]) == 3
    assert "statistics" not in json.loads(run("check", "--output-format", "json").out)
    outcome = run("check", "--statistics", "--output-format", "sarif")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == 'derivlint: --statistics is for the formats text, concise, json, not for "sarif"\n'


@pytest.mark.usefixtures("rules", "file")
def test_verbose_tells_what_is_read_and_how_long_it_takes(run: Run) -> None:
    lines = run("check", "-v").err.splitlines()
    assert lines[0] == "derivlint: derivatives.yaml: configuration none"
    assert re.fullmatch(
        r"derivlint: derivatives\.yaml: operators: bundled operator index of PyTorch .* \(.*\)", lines[1]
    )
    assert re.fullmatch(r"derivlint: derivatives\.yaml: checked by \d+ rules in \d+\.\d\d s", lines[2])
    assert lines[3] == (
        "derivlint: derivatives.yaml: judged value of 1 of 1, linear of 1 of 1, complex of 1 of 1, shapes of 1 of 1 "
        "entries; derivlint coverage --judged lists them"
    )
    assert run("check").err == ""


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--select", "undefined-nam"], 'unknown rule "undefined-nam"; did you mean "undefined-name"?'),
        (
            ["--torch", "1.2"],
            'no bundled operators of version "1.2"; choose "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", '
            '"2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1" and "2.15.0", '
            'or "installed"',
        ),
        (["missing.yaml"], 'cannot read "missing.yaml": No such file or directory'),
        (["@missing"], 'cannot read the list of paths "missing": No such file or directory'),
    ],
)
def test_lintrunner_gets_what_is_wrong_as_a_message_without_a_path(
    run: Run, arguments: list[str], message: str
) -> None:
    outcome = run("check", "--output-format", "lintrunner", *arguments)
    assert outcome.status == 0
    (found,) = map(json.loads, outcome.out.splitlines())
    assert found == {
        "path": None, "line": None, "char": None, "code": "DERIVATIVES", "severity": "error", "name": "command-failed",
        "original": None, "replacement": None, "description": message,
    }  # fmt: skip


def test_lintrunner_as_pytorch_starts_it(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = here / "a checkout"
    derivatives = root / "tools/autograd/derivatives.yaml"
    natives = root / "aten/src/ATen/native/native_functions.yaml"
    for path in (derivatives, natives):
        path.parent.mkdir(parents=True)
    derivatives.write_text(COS.replace("self.sin", "self.sinn"))
    natives.write_text("- func: cos(Tensor self) -> Tensor\n  variants: function, method\n")
    monkeypatch.chdir(root)
    (here / "paths file").write_text(f"{derivatives}\n\n{natives}\n")
    outcome = run("check", "--output-format=lintrunner", "--", f"@{here / 'paths file'}")
    assert outcome.status == 0
    found = [json.loads(line) for line in outcome.out.splitlines()]
    assert {item["path"] for item in found} == {str(derivatives)}
    assert "undefined-member" in {item["name"] for item in found}
    assert sum(item["replacement"] is not None for item in found) <= 1


@pytest.mark.usefixtures("rules")
def test_paths_in_reports_are_those_of_the_repository(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / ".git").mkdir()
    (here / "a b").mkdir()
    (here / "a b" / "derivatives.yaml").write_text(SIN)
    monkeypatch.chdir(here / "a b")
    document = json.loads(run("check", "--select", "error-rule", "--output-format", "sarif").out)
    place = document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20b/derivatives.yaml"}
    (found,) = json.loads(run("check", "--select", "error-rule", "--output-format", "gitlab").out)
    assert found["location"]["path"] == "a b/derivatives.yaml"
    text = run("check", "--select", "error-rule", "--output-format", "github").out
    assert text.startswith("::error file=a b/derivatives.yaml,line=2,")


@pytest.mark.usefixtures("rules")
def test_gitlab_fingerprints_stay_when_lines_are_added_above(run: Run, here: Path) -> None:
    path = here / "derivatives.yaml"

    def fingerprints() -> list[str]:
        return [item["fingerprint"] for item in json.loads(run("check", "--output-format", "gitlab").out)]

    path.write_text(SIN)
    before = fingerprints()
    path.write_text(f"# a line\n\n{COS}{SIN}")
    assert len(before) == 3
    assert set(before) < set(fingerprints())
