"""The functions that are made of formulas, and the C++ file with them."""

from __future__ import annotations

import json
import re

import pytest

from derivlint.model import Model
from derivlint.verify.code.engine import _refusals
from derivlint.verify.code.functions import BACKWARD, FORWARD, CollectedFunctions, FunctionSpec, collect
from derivlint.verify.code.wrappers import holder, source_of, uncallable_reason


@pytest.fixture(scope="module")
def collected(model: Model) -> CollectedFunctions:
    return collect(model)


def test_every_formula_of_the_real_file_becomes_a_function_or_is_left_out_with_a_reason(
    collected: CollectedFunctions,
) -> None:
    """Only what is not implemented or of another dispatch key has no function."""
    kinds = [each.spec.kind for each in collected.functions]
    assert kinds.count(BACKWARD) >= 700
    assert kinds.count(FORWARD) >= 440
    assert {reason for _, reason in collected.left_out} == {
        "not implemented",
        "it is of the dispatch key AutogradCUDA",
        "it is of the dispatch key AutogradNestedTensor",
    }
    assert not [each.spec.operator for each in collected.functions if uncallable_reason(each)]


def test_descriptions_survive_json(collected: CollectedFunctions) -> None:
    """What is sent to the process that checks is what it gets."""
    for each in collected.functions:
        assert FunctionSpec.from_json(json.loads(json.dumps(each.spec.to_json()))) == each.spec


def test_formulas_stand_at_their_lines_in_the_unit(model: Model, collected: CollectedFunctions) -> None:
    """A line directive before each formula brings the compiler's messages back to the YAML."""
    chosen = [each for each in collected.functions if each.spec.operator in ("addcmul", "exp", "_linalg_eigh")]
    source = source_of(model, chosen)
    for each in chosen:
        assert f'\n#line {each.spec.line} "derivatives.yaml"\n{each.evaluation.text}\n' in source
        assert re.search(rf'add_operator\("{each.spec.name}\(.*, "{each.spec.name}", &', source)


def test_messages_of_the_compiler_find_their_formula(model: Model, collected: CollectedFunctions) -> None:
    """By the line of the YAML, or by the name of the function around the formula; others belong to none."""
    first, second = collected.functions[:2]
    output = (
        f"/x/derivatives.yaml:{first.spec.line}:7: error: 'foo' was not declared\n"
        f"{second.spec.name}:3:1: error: could not convert\n"
        "/x/ATen/ATen.h:3:1: error: unrelated\n"
        f"derivatives.yaml:{first.spec.line}:9: warning: nothing\n"
    )
    assert _refusals(output, model, collected.functions) == {
        first.spec.number: "'foo' was not declared",
        second.spec.number: "could not convert",
    }


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("Tensor", "at::Tensor"),
        ("SymInt[2]?", "c10::OptionalArray<c10::SymInt>"),
        ("bool[3]", "std::array<bool, 3>"),
        ("Dimname", None),
    ],
)
def test_arguments_are_held_by_what_their_type_needs(kind: str, expected: str | None) -> None:
    """Lists are held by vectors whatever their size; a type that is not known is not held."""
    assert holder(kind) == expected
