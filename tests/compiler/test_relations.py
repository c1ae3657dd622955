"""The shipped table of type relations is what the compiler says.

A sample of its types is asked for again in every run; in a campaign it is the whole table, byte by byte, which takes
about a minute and a half.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import derivlint.cpp
from derivlint.compiler.gxx import Toolchain, find_toolchain
from derivlint.compiler.relation_types import relation_types, spelled
from derivlint.cpp.cpp_type import cpp_type
from derivlint.cpp.relations import Relations, load_relations
from tests.cpp.relations_by_name import RelationsByName
from tests.sampling import CAMPAIGN, sample
from tools.type_relations import (
    ASSIGNING,
    BINARY,
    BRANCHES,
    LITERALS,
    UNARY,
    render_relations,
    tabulate_relations,
)

SHIPPED = Path(derivlint.cpp.__file__).parent / "data" / "relations-2.13.0.json"
#: Types that take part in most formulas are always in the sample.
ALWAYS = ("int", "double", "Tensor", "Scalar")
SAMPLE = 6

Answer = tuple[str, str | bool | None]


@pytest.fixture(scope="module")
def toolchain(precompiled_headers: None) -> Toolchain:
    """The compiler and the headers of torch; tests cannot do without."""
    return find_toolchain()


def sampled_types() -> dict[str, str]:
    types = relation_types()
    return {name: types[name] for name in sample(types, SAMPLE, always=ALWAYS)}


def answers(relations: Relations, types: list[str]) -> Iterator[Answer]:
    """Everything that a table says of some types; a result that is another type is reported as unknown."""

    table = RelationsByName(relations)

    def reported(result: str | None) -> str | None:
        return result if result is None or result in types else "?"

    for a in types:
        yield f"{a} as condition", table.condition(a)
        for op in UNARY:
            yield f"{op} {a}", reported(table.unary(op, a))
        for literal in LITERALS:
            yield f"{literal} to {a}", table.literal(literal, a)
        for literal in BRANCHES:
            yield f"{literal} : {a}", reported(table.literal_ternary(literal, a, literal_first=True))
            yield f"{a} : {literal}", reported(table.literal_ternary(literal, a, literal_first=False))
        for b in types:
            yield f"{a} to {b}", table.implicit(a, b)
            yield f"{b}({a})", table.explicit(a, b)
            yield f"{{{a}}} to {b}", table.braced(a, b)
            yield f"{a} is a {b}", table.is_base(a, b)
            yield f"{a} : {b}", reported(table.ternary(a, b))
            yield f"{a}[{b}]", reported(table.index(a, b))
            for op in (*BINARY, *ASSIGNING):
                yield f"{a} {op} {b}", reported(table.binary(op, a, b))


def test_shipped_table_is_what_the_compiler_says(toolchain: Toolchain) -> None:
    if CAMPAIGN:
        assert render_relations(tabulate_relations(toolchain)) == SHIPPED.read_bytes()
        return
    types = sampled_types()
    assert len(types) == SAMPLE
    asked = dict(answers(Relations(tabulate_relations(toolchain, types)), list(types)))
    shipped = dict(answers(load_relations(), list(types)))
    differing = {
        question: (shipped[question], answer) for question, answer in asked.items() if shipped[question] != answer
    }
    assert differing == {}
    assert asked.keys() == shipped.keys()


def test_shipped_table_has_the_types_that_are_asked_for() -> None:
    assert list(map(str, load_relations().types)) == list(relation_types())


def test_spelling_of_types() -> None:
    assert spelled(cpp_type("Tensor")) == "at::Tensor"
    assert spelled(cpp_type("const char*")) == "const char*"
    assert spelled(cpp_type("optional<ArrayRef<SymInt>>")) == "std::optional<c10::ArrayRef<c10::SymInt>>"
