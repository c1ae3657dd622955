"""Settings: which configuration counts for a file, what it may hold, and what is said of mistakes in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from derivlint.lint import Confidence, Severity
from derivlint.project.errors import InputError
from derivlint.project.settings import Settings, find_settings
from tests.cli.conftest import SIN, Run


def test_every_key_is_read_and_paths_are_relative_to_the_file(here: Path) -> None:
    (here / "pyproject.toml").write_text("""\
[project]
name = "x"

[tool.derivlint]
select = ["a"]
ignore = ["b", "c"]
extend-select = ["d"]
preview = true
min-severity = "warning"
min-confidence = "low"
fail-level = "error"
native-functions = ["n.yaml", "/m.yaml"]
tags = "t.yaml"
torch = "installed"
paths = ["p"]
""")
    origin = here / "pyproject.toml"
    assert find_settings(here / "below") == Settings(
        origin=origin,
        operators_from=str(origin),
        paths=(here / "p",),
        native_functions=(here / "n.yaml", Path("/m.yaml")),
        tags=here / "t.yaml",
        torch="installed",
        select=("a",),
        ignore=("b", "c"),
        extend_select=("d",),
        preview=True,
        min_severity=Severity.WARNING,
        min_confidence=Confidence.LOW,
        fail_level=Severity.ERROR,
    )


def test_the_nearest_table_counts_and_the_own_file_comes_first(here: Path) -> None:
    below = here / "a" / "b"
    below.mkdir(parents=True)
    (here / "pyproject.toml").write_text('[tool.derivlint]\nfail-level = "info"\n')
    (here / "a" / "pyproject.toml").write_text('[tool.other]\nname = "derivlint"\n')
    assert find_settings(below).origin == here / "pyproject.toml"
    (here / "a" / "derivlint.toml").write_text('fail-level = "error"\n')
    (here / "a" / "pyproject.toml").write_text('[tool.derivlint]\nfail-level = "info"\n')
    assert find_settings(below).origin == here / "a" / "derivlint.toml"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('\n[tool.derivlint]\nselct = ["a"]\n', ':3: unknown key "selct"; did you mean "select"?'),
        ('[tool.derivlint]\n"min-severity" = "bad"\n', ':2: "min-severity" must be one of "error", "warning", "info"'),
        ("[tool.derivlint]\nmin-confidence = 3\n", ':2: "min-confidence" must be one of "high", "medium", "low"'),
        ('[tool.derivlint]\n# x\npreview = "yes"\n', ':3: "preview" must be true or false'),
        ('[tool.derivlint]\nselect = "a"\n', ':2: "select" must be a list of rule names'),
        ("[tool.derivlint]\nignore = [1]\n", ':2: "ignore" must be a list of rule names'),
        ("[tool.derivlint]\ntorch = 2.1\n", ':2: "torch" must be a version, or "installed"'),
        ("[tool.derivlint]\ntags = []\n", ':2: "tags" must be a path'),
        ('[tool.derivlint]\npaths = "a"\n', ':2: "paths" must be a list of paths'),
        ("[tool.x]\nselct = 1\n[ tool.derivlint ]\nselct = 1\n", ':4: unknown key "selct"; did you mean "select"?'),
        ("[tool]\nderivlint.selct = 1\n", ': unknown key "selct"; did you mean "select"?'),
    ],
)
def test_a_mistake_is_told_with_its_line(here: Path, text: str, message: str) -> None:
    path = here / "pyproject.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        find_settings(here)
    assert str(caught.value) == f"{path}{message}"


def test_a_key_that_resembles_none_is_told_with_all_there_are(here: Path) -> None:
    (here / "derivlint.toml").write_text("zzzzzz = 1\n")
    allowed = '"extend-select", "fail-level", "headers", "ignore"'
    with pytest.raises(InputError, match=f'unknown key "zzzzzz"; allowed are {allowed}'):
        find_settings(here)


def test_what_is_no_table_or_no_toml_is_told(here: Path) -> None:
    path = here / "pyproject.toml"
    path.write_text("[tool]\nderivlint = 3\n")
    with pytest.raises(InputError, match=f'"derivlint" in "{path}" must be a table'):
        find_settings(here)
    path.write_text("tool = 3 # derivlint\n")
    assert find_settings(here).origin is None
    path.write_text("[tool.derivlint\n")
    with pytest.raises(InputError, match=f'cannot read "{path}": .*line 1'):
        find_settings(here)
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match=f'cannot read "{path}": '):
        find_settings(here)


def test_the_command_line_comes_before_the_configuration() -> None:
    configured = Settings(select=("a",), fail_level=Severity.INFO, preview=True, torch="2.1", tags=Path("t"))
    settings = configured.overridden(select=("b",), fail_level=None, preview=None, ignore=(), native_functions=())
    assert settings == Settings(select=("b",), fail_level=Severity.INFO, preview=True, torch="2.1", tags=Path("t"))


def test_operators_of_the_command_line_replace_all_of_the_configuration() -> None:
    configured = Settings(native_functions=(Path("n"),), tags=Path("t"), operators_from="pyproject.toml")
    assert configured.overridden(torch="2.1") == Settings(torch="2.1", operators_from="the command line")


@pytest.mark.usefixtures("rules")
def test_each_file_is_checked_with_the_configuration_nearest_to_it(run: Run, here: Path) -> None:
    for folder, rule in (("a", "error-rule"), ("b", "info-rule")):
        (here / folder).mkdir()
        (here / folder / "derivatives.yaml").write_text(SIN)
        (here / folder / "derivlint.toml").write_text(f'select = ["{rule}"]\n')

    def found(*options: str) -> list[tuple[str, str]]:
        outcome = run("check", "a", "b", "--output-format", "json", *options)
        return [(item["path"][0], item["rule"]) for item in json.loads(outcome.out)["diagnostics"]]

    assert found() == [("a", "error-rule"), ("b", "info-rule")]
    assert found("--select", "warning-rule") == [("a", "warning-rule"), ("b", "warning-rule")]
    assert len(found("--no-config")) == 6


@pytest.mark.usefixtures("rules")
def test_a_mistake_in_any_configuration_is_2_before_anything_is_checked(run: Run, here: Path) -> None:
    for folder in ("a", "b"):
        (here / folder).mkdir()
        (here / folder / "derivatives.yaml").write_text(SIN)
    (here / "b" / "derivlint.toml").write_text('select = ["eror-rule"]\n')
    outcome = run("check", "a", "b")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == 'derivlint: unknown rule "eror-rule"; did you mean "error-rule"?\n'


@pytest.mark.usefixtures("rules")
def test_the_configuration_names_the_files_to_check(run: Run, here: Path) -> None:
    (here / "d").mkdir()
    (here / "d" / "x.yaml").write_text(SIN)
    (here / "pyproject.toml").write_text('[tool.derivlint]\npaths = ["d/*.yaml"]\nselect = ["error-rule"]\n')
    assert run("check").out.startswith("d/x.yaml:2:21: error: ")
