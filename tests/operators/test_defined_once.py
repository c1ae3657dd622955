"""What an operator or helper computes, and what it is linear in, is said in one place."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from derivlint.analysis.scalar_evaluation import domain as numbers
from derivlint.analysis.scalar_evaluation.functions.table import TABLE
from derivlint.formula.vocabulary import words
from derivlint.functional import definitions as tensors
from derivlint.graph.built_in_helpers import BUILT_IN
from derivlint.operators import Book
from derivlint.operators.reference import definitions as definitions_module
from derivlint.operators.reference import terms as terms_module
from derivlint.operators.reference.definitions import DefinitionError, DefinitionKind, definitions
from derivlint.operators.reference.primitives import PRIMITIVES

#: Composites of views, where a number has no view to be made of.
PARTS_OF_NUMBERS = words("conj imag real")
#: Helpers over tensors with an implementation in Python that stands in for the definition: the sums of exponentials do
#: not overflow there, determinants may be zero, and the others know gradients that are undefined.
WRITTEN_TOO = words("""
    linalg_det_backward linalg_det_jvp logcumsumexp_backward logcumsumexp_jvp split_backward split_with_sizes_backward
    stack_tensors_backward unbind_backward
""")


def test_a_second_definition_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one.txt", "other.txt"):
        (tmp_path / name).write_text("helper twice_backward(grad)\n    = grad\n")
    monkeypatch.setattr(definitions_module, "FOLDER", tmp_path)
    with pytest.raises(DefinitionError, match='"twice_backward" is defined twice'):
        definitions.__wrapped__()


def test_numbers_have_no_second_implementation() -> None:
    implemented = TABLE.keys() | numbers.PRIMITIVES.keys()
    assert sorted(definitions().keys() & implemented - PARTS_OF_NUMBERS) == []


def test_tensors_have_no_second_implementation() -> None:
    domain = tensors.Tensors()
    # an operator is PyTorch's own there
    defined = [name for name, definition in definitions().items() if definition.kind is not DefinitionKind.OPERATOR]
    implemented = {name for name in defined if domain.primitive(name) is not None}
    assert sorted(implemented - WRITTEN_TOO - PRIMITIVES.keys()) == []
    written = Counter(
        name
        for module in tensors._WRITTEN
        for name, value in vars(module).items()
        if callable(value) and value.__module__ == module.__name__ and not name.startswith("_")
    )
    assert [name for name, count in written.items() if count > 1] == []


def test_graphs_have_no_second_implementation() -> None:
    # a square is one node less when it is a product
    assert definitions().keys() & BUILT_IN.keys() <= {"square"}


def test_what_an_operator_is_linear_in_is_said_once() -> None:
    lines = terms_module._FILE.read_text(encoding="ascii").splitlines()
    heads = [line.partition("(")[0] for line in lines if line and not line.startswith("#")]
    names = [name for head in heads for name in head.split(", ")]
    names += [name for topic in ("linear", "zero", "nonlinear") for name in Book.by_hand(topic)]
    assert [name for name, count in Counter(names).items() if count > 1] == []
