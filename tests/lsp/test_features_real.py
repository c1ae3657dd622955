"""The features on the file that PyTorch ships: every node of every formula."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from derivlint.cpp.declarations.header import read_declarations
from derivlint.formula import Call, Member, Name, walk
from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.lsp.features.completions.completion import completions
from derivlint.lsp.features.completions.formula_completion import signature_help
from derivlint.lsp.features.facts import VariableKind, variable
from derivlint.lsp.features.formatting import format_range
from derivlint.lsp.features.hover import hover
from derivlint.lsp.features.locate import AtFormula, locate
from derivlint.lsp.features.navigation import definition, function_places, highlights, references
from derivlint.lsp.features.outline import document_symbols, folds, selections, workspace_symbols
from derivlint.lsp.features.rename import prepare_rename
from derivlint.lsp.features.tokens import inlay_hints, semantic_tokens
from derivlint.model import DerivativeFormula
from derivlint.source import Span
from tests.lsp.feature_analysis import analysis_of
from tests.sampling import CAMPAIGN, sample


@pytest.fixture(scope="module")
def real(derivatives_path: Path) -> DocumentAnalysis:
    """The analysis of the file."""
    return analysis_of(derivatives_path.read_text(encoding="utf-8"))


def formulas(analysis: DocumentAnalysis) -> Iterator[DerivativeFormula]:
    return (formula for entry in analysis.model.entries for formula in entry.formulas if formula.is_expression)


def test_every_node_of_every_formula_is_answered(real: DocumentAnalysis) -> None:
    count = 0
    for formula in sample(formulas(real), 120):
        assert formula.parsed.tree is not None
        for node in walk(formula.parsed.tree):
            start = node.name_start if isinstance(node, Member) else node.start
            span = formula.range(start, node.name_end if isinstance(node, Member) else node.end)
            found = hover(real, span.start)
            assert isinstance(locate(real, span.start), AtFormula)
            assert found is not None or not isinstance(node, Name | Call | Member), real.source.slice(span)
            assert found is None or found.markdown.strip()
            selections(real, span.start)
            prepare_rename(real, span.start)
            count += 1
    assert count > (10_000 if CAMPAIGN else 900)


def test_every_argument_and_output_leads_to_its_name_in_the_schema(real: DocumentAnalysis) -> None:
    kinds = (VariableKind.ARGUMENT, VariableKind.PRIMAL, VariableKind.TANGENT)
    for formula in formulas(real):
        for word in formula.parsed.words:
            found = variable(formula, word.text) if word.role == "variable" else None
            if found is None or found.part is None:
                continue
            places = definition(real, formula.span_of(word).start)
            assert len(places) == 1, formula.text
            if found.kind in kinds:
                assert places[0].text == found.part.name
            else:
                assert places[0].text in (found.part.name, str(found.part.type), word.text) or "(" in places[0].text
            assert (
                places[0].whole == formula.entry.place(formula.entry.name) if formula.entry.name is not None else True
            )


def test_references_of_a_function_are_words_of_its_name(real: DocumentAnalysis) -> None:
    text = real.source.text
    for before, name in ((" ", "maybe_multiply"), (": ", "sum_backward"), (".", "conj")):
        places = references(real, text.index(f"{before}{name}(") + len(before) + 1, include_declaration=False)
        assert places
        assert {place.text for place in places} == {name}


@pytest.mark.torch
def test_every_function_of_the_real_header_has_its_place() -> None:
    spec = find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    header = Path(spec.origin).parent / "include/torch/csrc/autograd/FunctionsManual.h"
    declared = read_declarations(header.read_text(encoding="utf-8")).declarations.functions
    overloads = {name: functions for names in declared.values() for name, functions in names.items()}
    assert len(overloads) > 150
    for name, functions in overloads.items():
        places = function_places((header,), name)
        assert [place.text for place in places] == [name] * len(functions)


def test_requests_are_answered_everywhere(real: DocumentAnalysis) -> None:
    text = real.source.text
    for offset in [formula.value_span.start + 1 for formula in formulas(real)][::25]:
        around = Span(offset, offset + 3000)
        assert selections(real, offset)
        assert completions(real, text, offset).items
        assert semantic_tokens(real, around)
        assert all(text[place.span.start : place.span.end] == place.text for place in references(real, offset))
        assert all(offset - 3000 < span.start < len(text) for span in highlights(real, offset) if span.start >= offset)
        signature_help(real, text, offset)
        inlay_hints(real, around)
        # the file is formatted as its authors format it
        assert format_range(real, around) is not None


def test_requests_about_the_whole_file_are_answered(real: DocumentAnalysis) -> None:
    assert len(document_symbols(real)) == len(real.model.entries)
    assert len(folds(real)) >= len(real.model.entries) // 2
    assert any("addcmul" in symbol.name for symbol in workspace_symbols(real, "addc"))
    assert len(semantic_tokens(real)) > 7_500
