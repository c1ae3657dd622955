"""What the tests of the commands share: an empty folder to stand in, rules that find known things, and running."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest

import derivlint.rules
from derivlint.cli.main import COMMANDS, cli
from derivlint.lint import Confidence, Finding, Rule, RuleMeta, Severity
from derivlint.model import DerivativeFormula, Entry
from tests.running import runner
from tools.running import Tool, ToolGroup

SIN = "- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos().conj()\n  result: auto_element_wise\n"
COS = "- name: cos(Tensor self) -> Tensor\n  self: grad * -self.sin().conj()\n"
ADD = "- func: add_one(Tensor self) -> Tensor\n  variants: function\n"

NO_FINDINGS = "no findings in 1 file (1 entry, 2 formulas)\n"


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, with nothing set that changes the output."""
    monkeypatch.chdir(tmp_path)
    # rules that tests make up have no files, by which the cache would know them: there is no folder for one
    monkeypatch.setenv("DERIVLINT_CACHE_DIR", os.devnull)
    roots = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
    for name in ("NO_COLOR", "FORCE_COLOR", "DERIVLINT_DEBUG", "DERIVLINT_OUTPUT_FORMAT", *roots):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def run(here: Path) -> Run:
    """Run a command line in this process."""

    def invoke(*arguments: str, stdin: str | bytes | None = None) -> Outcome:
        result = runner().invoke(cli, arguments, input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return invoke


def word_rule(
    name: str, word: str, severity: Severity, confidence: Confidence = Confidence.HIGH, status: str = "stable"
) -> Rule:
    """A rule that finds a word in formulas."""

    def check(formula: DerivativeFormula) -> Iterator[Finding]:
        text = formula.text or ""
        if word in text:
            start = text.index(word)
            yield Finding(formula.range(start, start + len(word)), f'"{word}" is used')

    meta = RuleMeta(severity=severity, group="style", confidence=confidence, status=status)
    return Rule(name, f"finds {word}", f"finds {word}\n", meta, "formula", check, (), ())


def install(monkeypatch: pytest.MonkeyPatch, *rules: Rule) -> None:
    """Make these the rules there are."""
    # commands are imported on demand, and what they import of the rules then would stay when this test is over
    for module in COMMANDS.values():
        import_module(module)
    by_name = {rule.name: rule for rule in rules}
    monkeypatch.setattr(derivlint.rules, "NAMES", tuple(by_name))
    monkeypatch.setattr(derivlint.rules, "load_rule", by_name.__getitem__)
    monkeypatch.setattr(derivlint.rules, "load_rules", lambda: rules)


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules of every kind instead of the real ones."""
    fake = (
        word_rule("error-rule", "cos", Severity.ERROR),
        word_rule("warning-rule", "self", Severity.WARNING),
        word_rule("info-rule", "auto", Severity.INFO),
        word_rule("doubtful-rule", "grad", Severity.ERROR, confidence=Confidence.LOW),
        word_rule("preview-rule", "*", Severity.ERROR, status="preview"),
    )
    install(monkeypatch, *fake)


@pytest.fixture
def crashing_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """One rule that crashes beside one that works."""

    def check(entry: Entry) -> Iterator[Finding]:
        raise RuntimeError("oops")

    crashing = Rule("crashing-rule", "crashes", "crashes\n", RuleMeta(Severity.INFO, "style"), "entry", check, (), ())
    fake = (crashing, word_rule("error-rule", "cos", Severity.ERROR))
    install(monkeypatch, *fake)


@pytest.fixture
def tool(here: Path) -> Run:
    """Run one of the tools, which a checkout has, in this process."""

    def invoke(name: str, *arguments: str) -> Outcome:
        module = import_module(f"tools.{name}")
        (command,) = (item for item in vars(module).values() if isinstance(item, (Tool, ToolGroup)))
        result = runner().invoke(command, arguments)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return invoke
