"""Places of formulas in the file: what is underlined is what is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from derivlint.formula import Name, walk
from derivlint.model import Model, build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile


@pytest.fixture(scope="module")
def model(derivatives_path: Path, installed_natives: NativeFunctions) -> Model:
    return build_model(SourceFile.read(derivatives_path), installed_natives)


def test_every_word_of_every_formula_is_cut_from_the_source_by_its_place(model: Model) -> None:
    words = 0
    folded = 0
    for entry in model.entries:
        for formula in entry.formulas:
            raw = model.source.slice(formula.value_span)
            folded += "\n" in raw
            assert formula.is_exact()
            for word in formula.parsed.words:
                words += 1
                assert model.source.slice(formula.span_of(word)) == word.text
    assert words > 7_000
    assert folded >= 14, "the file has formulas folded over several lines"


def test_every_name_of_every_tree_is_cut_from_the_source_by_its_place(model: Model) -> None:
    names = 0
    for entry in model.entries:
        for formula in entry.formulas:
            if formula.parsed.tree is None:
                continue
            for node in walk(formula.parsed.tree):
                if isinstance(node, Name) and node.simple is not None:
                    names += 1
                    assert model.source.slice(formula.span_of(node)) == node.simple
    assert names > 4_000


def test_every_name_in_a_key_is_cut_from_the_source_by_its_place(model: Model) -> None:
    for entry in model.entries:
        for formula in entry.formulas:
            for name in formula.names:
                assert model.source.slice(formula.name_span(name)) == name.text


def test_every_operator_is_cut_from_the_source_by_its_place(model: Model) -> None:
    for entry in model.entries:
        assert model.source.slice(entry.name_span) == entry.operator
