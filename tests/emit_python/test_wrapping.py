"""Long expressions are broken without a change of their meaning, into lines that are short enough."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from derivlint.emit.python.wrapping import WIDTH, assignment

_NAMES = st.sampled_from(["grad", "self", "a_rather_long_name", "result", "another_name_that_is_long"])
_EXPRESSIONS = st.recursive(
    _NAMES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), inner).map(lambda each: f"({' '.join(each)})"),
        st.tuples(_NAMES, st.sampled_from(["+", "*"]), _NAMES).map(" ".join),
        st.tuples(_NAMES, st.lists(inner, min_size=1, max_size=5)).map(
            lambda each: f"F.{each[0]}({', '.join(each[1])})"
        ),
        st.tuples(inner, _NAMES).map(lambda each: f"({each[0]}).sum({each[1]}).conj()"),
        st.tuples(inner, inner, inner).map(lambda each: f"({each[0]} if {each[1]} is not None else {each[2]})"),
        st.lists(inner, min_size=1, max_size=4).map(lambda each: f"[{', '.join(each)}]"),
    ),
    max_leaves=25,
)


def value_of(lines: list[str]) -> str:
    """What the statements assign, an "if" as the expression that it is."""

    def valued(statement: ast.stmt) -> ast.expr:
        if isinstance(statement, ast.If):
            return ast.IfExp(statement.test, valued(statement.body[0]), valued(statement.orelse[0]))
        assert isinstance(statement, ast.Assign)
        return statement.value

    (statement,) = ast.parse("\n".join(lines)).body
    return ast.unparse(valued(statement))


@given(text=_EXPRESSIONS, indent=st.sampled_from([0, 8, 12]))
@example(
    text="(([(grad + grad), (grad + another_name_that_is_long), (grad if grad is not None else a_rather_long_name)])"
    ".sum(grad).conj()).sum(grad).conj()",
    indent=12,
)
@settings(deadline=None)
def test_the_meaning_is_kept(text: str, indent: int) -> None:
    """The statements assign the same expression, and only what cannot be broken is too long."""
    lines = assignment("grad_self", text, indent)
    assert value_of(lines) == ast.unparse(ast.parse(text, mode="eval").body)
    assert all(len(line) + indent <= WIDTH or len(line.split()) <= 4 for line in lines)


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ("a + b", ["x = a + b"]),
        (
            f"{'a' * 60} + {'b' * 60}",
            ["x = (", f"    {'a' * 60}", f"    + {'b' * 60}", ")"],
        ),
        (
            f"{'a' * 60} if c is None else {'b' * 60}",
            ["if c is None:", f"    x = {'a' * 60}", "else:", f"    x = {'b' * 60}"],
        ),
        (
            f"F.helper({'a' * 60}, {'b' * 60}).conj()",
            ["x = F.helper(", f"    {'a' * 60},", f"    {'b' * 60},", ").conj()"],
        ),
    ],
)
def test_where_lines_are_broken(value: str, lines: list[str]) -> None:
    """At operators, in brackets, and a choice into its branches."""
    assert assignment("x", value, 0) == lines


@pytest.mark.tools
def test_a_formatter_agrees() -> None:
    """What is printed is what ruff would make of it."""
    arguments = ", ".join(f"argument_number_{index}" for index in range(12))
    values = [
        f"F.helper({arguments})",
        f"self * F.helper({arguments})",
        f"(self + F.helper({arguments})).conj()",
        f"grad.unsqueeze(0).expand([{arguments}]).bmm(other.transpose(1, 2).conj())",
        f"aten.where.default(self, other, grad)[0] + aten.where.default({arguments})[0]",
    ]
    text = "\n".join(line for value in values for line in assignment("x", value, 0)) + "\n"
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--no-cache", "--line-length", "120", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert done.stdout == text
