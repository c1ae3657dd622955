"""What the checks can judge of PyTorch's file: ratchets."""

from __future__ import annotations

from pathlib import Path

import pytest

from derivlint.analysis.judged import JudgedEntry, Question, judged_entries
from derivlint.model import build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile


@pytest.fixture(scope="module")
def entries(derivatives_path: Path, bundled_natives: NativeFunctions) -> list[JudgedEntry]:
    return list(judged_entries(build_model(SourceFile.read(derivatives_path), bundled_natives)))


def lacking(entries: list[JudgedEntry], question: Question) -> set[str]:
    return {str(each.entry.operator) for each in entries if each.is_asked(question) and each.missing(question)}


def test_the_conjugation_of_every_complex_operator_is_followed(entries: list[JudgedEntry]) -> None:
    assert lacking(entries, Question.COMPLEX) == set()


def test_the_linearity_of_every_formula_is_known(entries: list[JudgedEntry]) -> None:
    assert lacking(entries, Question.LINEAR) == set()


def test_the_sizes_of_most_formulas_are_known(entries: list[JudgedEntry]) -> None:
    """Every other entry has a line that says why not, or depends on what calls those."""
    lacking_sizes = lacking(entries, Question.SHAPES)
    assert len(lacking_sizes) <= 26
    reasons = {reason for each in entries for reason in each.missing(Question.SHAPES)}
    assert [reason for reason in reasons if "operator book" in reason] == []
