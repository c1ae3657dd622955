"""The options of the command line that are about configuration: precedence, exclusion, and what is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import derivlint.rules
from derivlint.lint import Finding, Option, Options, Rule, RuleMeta, Severity
from derivlint.model import Entry, Model
from derivlint.source import Span
from tests.cli.conftest import SIN, Run, install

pytestmark = pytest.mark.usefixtures("rules")


def found(run: Run, *options: str) -> list[tuple[str, str, str]]:
    """What is found: file, rule and severity."""
    outcome = run("check", "--output-format", "json", *options)
    assert (outcome.err, outcome.status) in (("", 0), ("", 1))
    return [(item["path"], item["rule"], item["severity"]) for item in json.loads(outcome.out)["diagnostics"]]


@pytest.fixture
def sin(here: Path) -> Path:
    path = here / "derivatives.yaml"
    path.write_text(SIN)
    return path


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
