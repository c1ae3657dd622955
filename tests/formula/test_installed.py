"""Every formula of the installed PyTorch is understood."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from derivlint.formula import parse_formula, render, walk

NOT_FORMULAS = frozenset({"name", "output_differentiability"})


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in NOT_FORMULAS:
                yield from _texts(item)


@pytest.fixture(scope="module")
def formulas(derivatives_path: Path) -> list[str]:
    entries = yaml.load(derivatives_path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return sorted({text for entry in entries for text in _texts(entry)})


def test_all_formulas_parse_without_problems(formulas: list[str]) -> None:
    assert len(formulas) > 700
    assert [text for text in formulas if parse_formula(text).problems or parse_formula(text).tree is None] == []


def test_all_formulas_print_as_they_were_written(formulas: list[str]) -> None:
    for text in formulas:
        formula = parse_formula(text)
        assert formula.tree is not None
        assert render(formula) == text
        assert render(formula, formula.tree) == text.strip()
        for node in walk(formula.tree):
            assert 0 <= node.start < node.end <= len(text)


@pytest.mark.parametrize("bracket", list("()[]{}"))
def test_a_bracket_less_is_always_noticed(formulas: list[str], bracket: str) -> None:
    for text in formulas:
        if bracket in text and '"' not in text and "/*" not in text:
            formula = parse_formula(text.replace(bracket, " ", 1))
            (problem,) = formula.problems
            assert problem.kind.value in ("unclosed-bracket", "unmatched-bracket", "mismatched-bracket")
