"""Braced lists that narrow a variable are accepted by g++, with a warning; those that narrow a constant are not."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from derivlint.compiler.gxx import CompilerError, Toolchain, find_compiler
from derivlint.cpp.relations import Relations
from tests.cpp.relations_by_name import RelationsByName
from tools.narrowing import admit_narrowing

TYPES = {
    "bool": "bool",
    "int": "int",
    "double": "double",
    "string": "std::string",
    "vector<double>": "std::vector<double>",
}
HEAD = "#include <string>\n#include <vector>\ntemplate <class T> T& variable();\ntemplate <class T> void take(T);\n"
#: As the standard says: braces take only what does not narrow.
CONTENT: dict[str, Any] = {
    "types": list(TYPES),
    "braced": [{"1": "3"}, {"1": "2"}, {"1": "14"}, {"1": "8"}, {"1": "10"}],
    "literal {0}": {"1": "1f"},
    "literal {1.5}": {"1": "14"},
    "literal {nullptr, nullptr}": {},
}


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    """The compiler without the headers of torch, which the types here do not need."""
    compiler = find_compiler("g++")
    assert compiler is not None
    return Toolchain(compiler, ())


def test_variables_may_be_narrowed_and_constants_may_not(toolchain: Toolchain) -> None:
    before = deepcopy(CONTENT)
    table = RelationsByName(Relations(admit_narrowing(toolchain, CONTENT, TYPES, HEAD)))
    assert before == CONTENT
    accepted = {(a, b) for a in TYPES for b in TYPES if table.braced(a, b)}
    assert accepted == {
        *((a, b) for a in ("bool", "int", "double") for b in ("bool", "int", "double")),
        # a string of one character, a list of one element
        *((a, b) for a in ("bool", "int", "double") for b in ("string", "vector<double>")),
        ("string", "string"),
        ("vector<double>", "vector<double>"),
    }
    assert [type for type in TYPES if table.literal("{1.5}", type)] == ["double", "vector<double>"]


def test_what_is_wrong_otherwise_stays_refused(toolchain: Toolchain) -> None:
    content = {**CONTENT, "literal {1, nullptr}": {}}
    table = RelationsByName(Relations(admit_narrowing(toolchain, content, TYPES, HEAD)))
    assert [type for type in TYPES if table.literal("{1, nullptr}", type)] == []


def test_compiler_that_does_not_come_to_the_end(toolchain: Toolchain) -> None:
    with pytest.raises(CompilerError, match=r"cannot be compiled: .*no-such-header"):
        admit_narrowing(toolchain, CONTENT, TYPES, '#include "no-such-header"\n' + HEAD)
