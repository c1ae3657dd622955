"""Bugs that PyTorch's file really had, and what fixed them: rules see the former and are silent on the latter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from derivlint.lint import Confidence, Severity, run_rules
from derivlint.model import build_model
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

pytestmark = pytest.mark.long

BUGS = [json.loads(line) for line in (Path(__file__).parent / "historical_bugs.jsonl").read_text().splitlines()]


def rules_of(entry: str, natives: NativeFunctions) -> set[str]:
    """The rules whose errors and warnings a user sees."""
    result = run_rules(build_model(SourceFile("derivatives.yaml", entry), natives), Settings().selected(load_rules()))
    assert result.internal_errors == 0
    return {
        item.rule
        for item in result.diagnostics
        if item.severity is not Severity.INFO and item.confidence is Confidence.HIGH
    }


@pytest.mark.parametrize("bug", BUGS, ids=[f"{bug['ref']}-{index}" for index, bug in enumerate(BUGS)])
def test_a_bug_is_seen_and_its_repair_is_not(bug: dict[str, Any], bundled_natives: NativeFunctions) -> None:
    before, after = (rules_of(bug[which], bundled_natives) for which in ("before", "after"))
    assert sorted(before - after) == bug["rules"]
