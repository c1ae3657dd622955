"""``derivlint rule``, ``derivlint rules``, ``derivlint completion`` and ``derivlint --version``."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import pytest

from derivlint import __version__
from derivlint.formats.rule_page import rule_page
from derivlint.rules import NAMES, load_rule
from derivlint.schema import available_versions
from tests.cli.conftest import Run


def test_a_rule_is_explained_as_text_and_as_markdown(run: Run) -> None:
    expected = rule_page(load_rule("missing-conjugate"))
    assert run("rule", "missing-conjugate").out == expected
    assert run("rule", "missing-conjugate", "--output-format", "markdown").out == expected


def test_a_rule_is_explained_as_json(run: Run) -> None:
    document = json.loads(run("rule", "missing-conjugate", "--output-format", "json").out)
    assert document["version"] == 1
    (found,) = document["rules"]
    assert found.keys() >= {"name", "summary", "severity", "confidence", "status", "since", "fixable", "checks"}
    assert found["name"] == "missing-conjugate"
    assert found["url"].endswith("/docs/rules/missing-conjugate.md")
    assert list(found["sections"])[:2] == ["What it detects", "Why it is bad"]
    assert found["sections"]["What it detects"].startswith("A product of the gradient")
    assert not found["sections"]["What it detects"].endswith("\n")
    assert found["markdown"] == rule_page(load_rule("missing-conjugate"))
    assert len(found["valid"]) >= 2
    assert found["invalid"][0].keys() == {"yaml", "at", "message", "help", "fixed"}


def test_every_rule_is_explained(run: Run) -> None:
    document = json.loads(run("rule", "--all", "--output-format", "json").out)
    assert tuple(item["name"] for item in document["rules"]) == NAMES
    for item in document["rules"]:
        assert {"What it detects", "Why it is bad", "Example", "Instead"} <= item["sections"].keys(), item["name"]
        assert item["valid"], item["name"]
        assert item["invalid"], item["name"]
    text = run("rule", "--all").out
    assert [line[2:] for line in text.splitlines() if line.startswith("# ") and line[2:] in NAMES] == list(NAMES)


@pytest.mark.parametrize("arguments", [[], ["missing-conjugate", "--all"]])
def test_one_rule_or_all_of_them(run: Run, arguments: list[str]) -> None:
    outcome = run("rule", *arguments)
    assert (outcome.status, outcome.out, outcome.err) == (2, "", "derivlint: name a rule, or use --all\n")


def test_the_version_names_what_verdicts_depend_on(run: Run) -> None:
    releases = ", ".join(available_versions())
    expected = f"derivlint {__version__} (operators of PyTorch {releases}; Python {platform.python_version()})\n"
    assert run("--version").out == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_script(run: Run, shell: str) -> None:
    outcome = run("completion", shell)
    assert (outcome.status, outcome.err) == (0, "")
    assert f"_DERIVLINT_COMPLETE={shell}_complete" in outcome.out
    assert run("completion", "cmd").status == 2


def test_the_script_is_answered_with_commands_options_and_rules() -> None:
    def complete(*words: str) -> list[str]:
        environment = {
            **os.environ,
            "_DERIVLINT_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(("derivlint", *words)),
            "COMP_CWORD": str(len(words)),
        }
        outcome = subprocess.run(
            [sys.executable, "-m", "derivlint"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
        )
        return [line.partition(",")[2] for line in outcome.stdout.splitlines()]

    assert complete("che") == ["check"]
    assert complete("check", "--output-format", "rd") == ["rdjson", "rdjsonl"]
    assert complete("rule", "missing-conj") == ["missing-conjugate"]
