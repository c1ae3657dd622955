"""The mistakes that mutants are made of."""

from __future__ import annotations

import pytest

from tests.mutation.operators import mutants


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a == b", ["a != b"]),
        ("a < b <= c", ["a <= b <= c", "a < b < c"]),
        ("a and b", ["a or b"]),
        ("not a", ["a"]),
        ("-a", ["a"]),
        ("x = 1", ["x = 2"]),
        ("x = True", ["x = False"]),
        ("a if b else c", ["c if b else a"]),
        ("a + b", ["a - b"]),
        ("f()", ["pass"]),
        ("x += y", ["pass"]),
        ("if a:\n    b", ["if not a:\n    b"]),
        ("while a:\n    continue", ["while not a:\n    continue", "while a:\n    break"]),
        ("def f():\n    return a", ["def f():\n    return None"]),
        ("def f():\n    return None", []),
        ("def f(a: x[1]=2) -> y[3]:\n    pass", ["def f(a: x[1]=3) -> y[3]:\n    pass"]),
        ("if TYPE_CHECKING:\n    x = 1", ["if not TYPE_CHECKING:\n    x = 1"]),
        ("x = 'text'", []),
    ],
)
def test_each_mistake_is_made_at_one_place(text: str, expected: list[str]) -> None:
    assert [mutant.text() for mutant in mutants(text)] == expected


def test_a_mutant_knows_its_lines_and_leaves_the_others_alone() -> None:
    found = list(mutants("a == b\n\nc = (\n    1\n)\n"))
    assert [(list(each.lines), str(each)) for each in found] == [([1], "a == b  ->  a != b"), ([4], "1  ->  2")]
