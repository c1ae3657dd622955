"""The options of the command line that are about configuration: precedence, exclusion, and what is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import derivlint.rules
from derivlint.lint import Finding, Option, Options, Rule, RuleMeta, Severity
from derivlint.model import Entry, Model
from derivlint.project.settings.document import load_toml
from derivlint.source import Span
from tests.cli.conftest import COS, SIN, Run, install

pytestmark = pytest.mark.usefixtures("rules")


def found(run: Run, *options: str) -> list[tuple[str, str, str]]:
    """What is found: file, rule and severity."""
    outcome = run("check", "--output-format", "json", *options)
    assert (outcome.err, outcome.status) in (("", 0), ("", 1))
    return [(item["path"], item["rule"], item["severity"]) for item in json.loads(outcome.out)["diagnostics"]]


def rules_found(run: Run, *options: str) -> list[str]:
    return [rule for _, rule, _ in found(run, *options)]


@pytest.fixture
def sin(here: Path) -> Path:
    path = here / "derivatives.yaml"
    path.write_text(SIN)
    return path


@pytest.mark.usefixtures("sin")
def test_the_command_line_comes_before_config_pairs_and_those_before_the_file(run: Run, here: Path) -> None:
    (here / "derivlint.toml").write_text('select = ["error-rule"]\nseverity.error-rule = "info"\n')
    assert found(run) == [("derivatives.yaml", "error-rule", "info")]
    pair = ("--config", 'select=["warning-rule"]')
    assert rules_found(run, *pair) == ["warning-rule"]
    assert rules_found(run, *pair, "--select", "info-rule") == ["info-rule"]
    severity = ("--config", 'severity.error-rule = "warning"')
    assert found(run, *severity) == [("derivatives.yaml", "error-rule", "warning")]
    assert found(run, *severity, "--isolated", "--select", "error-rule") == [
        ("derivatives.yaml", "error-rule", "warning")
    ]
    assert found(run, "--isolated", "--select", "error-rule") == [("derivatives.yaml", "error-rule", "error")]
    assert rules_found(run, "--config", 'min-severity="warning"') == []
    assert rules_found(run, "--config", 'min-severity="warning"', "--min-severity", "info") == ["error-rule"]


@pytest.mark.usefixtures("sin")
def test_config_names_the_one_file_to_read(run: Run, here: Path) -> None:
    (here / "derivlint.toml").write_text('select = ["error-rule"]\n')
    (here / "other.toml").write_text('select = ["info-rule"]\n')
    (here / "a=b.toml").write_text('tool.derivlint.select = ["warning-rule"]\n')
    (here / "sub").mkdir()
    (here / "sub" / "pyproject.toml").write_text('[tool.derivlint]\nselect = ["warning-rule"]\n')
    assert rules_found(run, "--config", "other.toml") == ["info-rule"]
    assert rules_found(run, "--config", "a=b.toml") == ["warning-rule"]
    assert rules_found(run, "--config", "sub/pyproject.toml") == ["warning-rule"]


@pytest.mark.usefixtures("sin")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["nope.toml"], 'cannot read "nope.toml": No such file or directory'),
        (["."], 'cannot read ".": Is a directory'),
        (["pyproject.toml"], 'pyproject.toml:1:1: has no table "[tool.derivlint]"'),
        (["a.toml", "b.toml"], "--config names 2 files; there can be one"),
        (['select="x"'], '--config:1:8: "select" must be a list of rule names'),
        (['selct=["x"]'], '--config:1:1: unknown key "selct"; did you mean "select"?'),
        (['select=["eror-rule"]'], '--config:1:9: unknown rule "eror-rule"; did you mean "error-rule"?'),
        (["preview"], 'cannot read "preview": No such file or directory'),
        (["preview=maybe"], '--config:1:9: "maybe" is not a TOML value; write --config \'preview="maybe"\''),
        (["preview=[tru"], "--config:1:10: no valid TOML: invalid value"),
    ],
)
def test_what_config_cannot_be_is_2(run: Run, here: Path, options: list[str], message: str) -> None:
    (here / "pyproject.toml").write_text('[project]\nname = "x"\n')
    outcome = run("check", *(item for option in options for item in ("--config", option)))
    assert (outcome.status, outcome.out, outcome.err) == (2, "", f"derivlint: {message}\n")


@pytest.mark.usefixtures("sin")
def test_config_with_a_file_and_isolated_contradict_one_another(run: Run) -> None:
    outcome = run("check", "--isolated", "--config", "x.toml")
    assert (outcome.status, outcome.err) == (
        2,
        "derivlint: --config names a file, and --isolated forbids to read one\n",
    )


@pytest.mark.usefixtures("sin")
@pytest.mark.parametrize("command", [("model",), ("show", "sin"), ("coverage",)])
def test_all_commands_that_read_files_read_configurations_alike(run: Run, here: Path, command: tuple[str, ...]) -> None:
    (here / "derivlint.toml").write_text("x = 1\ny = 2\n")
    outcome = run(*command)
    assert (outcome.status, outcome.out) == (2, "")
    assert [line[: len("derivlint: derivlint.toml:1:1")] for line in outcome.err.splitlines()] == [
        "derivlint: derivlint.toml:1:1",
        "derivlint: derivlint.toml:2:1",
    ]
    assert run(*command, "--isolated").status == 0
    assert run(*command, "--isolated", "--config", "preview=true").status == 0
    assert run(*command, "--isolated", "--config", "preview=1").status == 2


def test_findings_are_ignored_by_file_and_by_operator(run: Run, here: Path) -> None:
    (here / "old").mkdir()
    for path in ("derivatives.yaml", "old/derivatives.yaml"):
        (here / path).write_text(SIN + COS)
    (here / "derivlint.toml").write_text(
        'select = ["error-rule", "warning-rule"]\n'
        'per-file-ignores."old/*" = ["warning-*"]\n'
        'per-operator-ignores."si*" = ["error-rule"]\n'
    )
    assert [(path, rule) for path, rule, _ in found(run, ".")] == [
        ("derivatives.yaml", "warning-rule"),
        ("derivatives.yaml", "warning-rule"),
    ]
    assert found(run, "old", "--config", 'severity.warning-rule="info"') == []
    # a rule that is off by its severity runs when the command line asks for it
    assert rules_found(run, "derivatives.yaml", "--config", 'severity.warning-rule="off"') == []
    assert rules_found(
        run, "derivatives.yaml", "--config", 'severity.warning-rule="off"', "--select", "warning-rule"
    ) == ["warning-rule", "warning-rule"]


def test_a_preset_says_how_files_hold_their_entries(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = Rule("r", "r", "r\n", RuleMeta(Severity.ERROR, "style"), "model", entries_of, (), ())
    install(monkeypatch, rule)
    (here / "derivatives.yaml").write_text(SIN)

    def message(*options: str) -> str:
        document = json.loads(run("check", "--output-format", "json", *options).out)
        text: str = document["diagnostics"][0]["message"]
        return text

    assert message() == "1 entries"
    # older branches of such a project have plain lists
    assert message("--config", 'preset="torch_npu"') == "1 entries"
    assert message("--config", 'entries-key="backward"') == "1 entries"
    (here / "derivatives.yaml").write_text(f"backward:\n{SIN}")
    assert message("--config", 'preset="torch_npu"') == "1 entries"


def entries_of(model: Model) -> list[Finding]:
    """A check that counts entries."""
    return [Finding(Span(0, 1), f"{len(model.entries)} entries")]


def test_files_are_excluded_unless_they_are_named(run: Run, here: Path) -> None:
    for folder in ("a", "b"):
        (here / folder).mkdir()
        (here / folder / "derivatives.yaml").write_text(SIN)
    (here / "derivlint.toml").write_text('exclude = ["b"]\n')

    def files(*options: str) -> list[str]:
        outcome = run("check", "--show-files", *options)
        assert (outcome.status, outcome.err) == (0, "")
        return outcome.out.splitlines()

    assert files("a", "b") == ["a/derivatives.yaml"]
    assert files("*/derivatives.yaml") == ["a/derivatives.yaml"]
    assert files("a", "b/derivatives.yaml") == ["a/derivatives.yaml", "b/derivatives.yaml"]
    assert files("a", "b/derivatives.yaml", "--force-exclude") == ["a/derivatives.yaml"]
    assert files("b/derivatives.yaml", "--force-exclude") == []
    assert files("a", "b", "--exclude", "a/*.yaml") == ["b/derivatives.yaml"]
    assert files("a", "b", "--isolated") == ["a/derivatives.yaml", "b/derivatives.yaml"]
    assert files("-", "--stdin-filename", "b/derivatives.yaml") == ["-"]
    assert files("-", "--stdin-filename", "b/derivatives.yaml", "--force-exclude") == []


def test_that_everything_is_excluded_is_reported(run: Run, here: Path) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    outcome = run("check", ".", "--exclude", "*.yaml")
    assert (outcome.status, outcome.out) == (0, "")
    assert outcome.err == 'derivlint: nothing to check: "exclude" matches every file\n'


@pytest.mark.usefixtures("sin")
def test_every_setting_is_shown_with_its_origin(run: Run, here: Path) -> None:
    (here / "derivlint.toml").write_text(
        'select = ["ALL"]\nignore = ["info-*"]\nmin-severity = "warning"\nexclude = ["old/**"]\n'
        '[severity]\n"error-*" = "off"\n[per-file-ignores]\n"a b/*" = ["ALL"]\n'
    )
    outcome = run(
        *("check", "--show-settings", "--ignore", "doubtful-rule", "--min-severity", "info"),
        *("--config", 'severity.warning-rule="info"', "--config", 'baseline="b"'),
    )
    assert (outcome.status, outcome.err) == (0, "")
    settings, _, rules = outcome.out.partition("  settings:\n")[2].partition("  rules: ")
    lines = [line.strip().split("  # ") for line in settings.splitlines()]
    shown = {key: (value, origin) for (pair, origin) in lines for key, _, value in [pair.partition(" = ")]}
    assert {key: item for key, item in shown.items() if item[1] != "default"} == {
        "exclude": ('["old/**"]', "derivlint.toml:4:1"),
        "select": ('["ALL"]', "derivlint.toml:1:1"),
        "ignore": ('["info-*", "doubtful-rule"]', "derivlint.toml:2:1, the command line"),
        "severity": ('{ "error-*" = "off", warning-rule = "info" }', "derivlint.toml:5:2, --config:1:1"),
        "per-file-ignores": ('{ "a b/*" = ["ALL"] }', "derivlint.toml:7:2"),
        "baseline": (f'"{here}/b"', "--config:1:1"),
        "min-severity": ('"info"', "the command line"),
    }
    assert shown["fail-level"] == ('"warning"', "default")
    assert shown["tags"] == ("unset", "default")
    assert rules == "1\n    warning-rule\n"
    # but for what is unset, it is a configuration
    assert load_toml("\n".join(line for line in settings.splitlines() if " = unset" not in line))


def test_options_of_rules_reach_them(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(entry: Entry, options: Options) -> list[Finding]:
        return [Finding(entry.name_span, f'"{options.number("most")}" {options.names("names")}')]

    meta = RuleMeta(Severity.ERROR, "style", options=(Option("most", 1, "x"), Option("names", (), "x")))
    rule = Rule("r", "r", "r\n", meta, "entry", check, (), (), Options.of(meta.options), ("options",))
    install(monkeypatch, rule)
    assert derivlint.rules.load_rules() == (rule,)
    for folder, text in (("a", "options.r.most = 2"), ("b", 'options.r.names = ["x"]'), ("c", "")):
        (here / folder).mkdir()
        (here / folder / "derivatives.yaml").write_text(SIN)
        (here / folder / "derivlint.toml").write_text(text)
    outcome = run("check", "a", "b", "c", "--output-format", "json", "--config", 'options.r.names=["y"]')
    assert [item["message"] for item in json.loads(outcome.out)["diagnostics"]] == [
        "\"2\" ('y',)",
        "\"1\" ('y',)",
        "\"1\" ('y',)",
    ]


def test_a_former_name_of_a_rule_is_explained(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("derivlint.cli.rules.RENAMED", {"old-rule": "unknown-key"})
    outcome = run("rule", "old-rule")
    assert (outcome.status, outcome.err) == (0, 'derivlint: rule "old-rule" is now called "unknown-key"\n')
    assert outcome.out.startswith("# unknown-key\n")
