"""The short syntax of graphs."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from derivlint.graph.differentiation.entries import Entries
from derivlint.graph.differentiation.reverse import differentiate
from derivlint.graph.syntax.drawing import boxes_of, dot, svg
from derivlint.graph.syntax.expression import print_expression, read_expression
from derivlint.graph.syntax.printer import print_graph
from derivlint.graph.syntax.reader import read_graph
from derivlint.graph.types import GraphError, GraphSyntaxError
from tests.graph.situations import programs


def test_an_expression_and_its_graph(entries: Entries) -> None:
    """Names are inputs; overloads are found by the types of operands; keywords go where the schema has them."""
    graph = read_expression("h = mul(a, 2); add(sum(h, [0], keepdim=True), b, alpha=3)", entries.operators)
    assert print_graph(graph) == (
        """\
graph(%a : Tensor,
      %b : Tensor):
  %0 : int = prim::Constant[value=2]()
  %h : Tensor = aten::mul(%a, %0)
  %1 : int = prim::Constant[value=0]()
  %2 : int[] = prim::ListConstruct(%1)
  %3 : bool = prim::Constant[value=1]()
  %4 : Tensor = aten::sum(%h, %2, %3)
  %5 : int = prim::Constant[value=3]()
  %6 : Tensor = aten::add(%4, %b, %5)
  return (%6)
"""
    )
    assert [str(node.function.name) for node in graph.nodes if node.function is not None] == [
        "mul.Scalar",
        "sum.dim_IntList",
        "add.Tensor",
    ]
    assert print_expression(graph) == "add(sum(mul(a, 2), [0], True), b, alpha=3)\n"


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=programs())
def test_what_is_printed_is_read_again(entries: Entries, text: str) -> None:
    """An expression means the graph that it was printed from, that of a derivative too."""
    graph = read_expression(text, entries.operators, inputs=["a", "b"])
    for each in (graph, differentiate(graph, entries).joined()):
        printed = print_expression(each)
        names = [value.name for value in each.inputs]
        again = read_expression(printed, entries.operators, inputs=names)
        assert print_expression(again) == printed
        kinds = sorted(node.kind for node in read_graph(print_graph(again)).walk())
        assert kinds == sorted(node.kind for node in again.walk())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mul(a, ", "1:8: the text ends too early"),
        ("mul(a b)", '1:7: unexpected "b"'),
        ("mul(a, $)", '1:8: unexpected "$"'),
        ("nothing(a)", 'no operator "nothing"'),
        ("mul(a, [1])", 'no overload of "mul" takes (Tensor, int[])'),
        ("h = a; h = b; h", '"h" is defined already'),
        ("a; b", 'only the last statement gives a result; others define a name, "h = mul(a, b)"'),
        ("mul(a, b) = c; a", 'only names come before "="'),
        ("h = mul(a, b)", "the last statement must be an expression"),
        ("x, y = sin(a); x", "cannot unpack 1 values into 2 names"),
        ("sum(dim=[0], a)", 'an argument of "sum" comes after keywords'),
        ("sum(a, dim=[0], dim=[1])", '"dim" is passed twice'),
        ("mul(a, -b)", '"-b" is not a number'),
        ("sin(" * 300 + "a" + ")" * 300, "the text is nested more than 120 levels deep"),
    ],
)
def test_errors(text: str, message: str, entries: Entries) -> None:
    """What cannot be understood is reported, with its place where the syntax is wrong."""
    with pytest.raises(GraphError) as caught:
        read_expression(text, entries.operators)
    assert str(caught.value) == message


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=st.text(alphabet='ab()[],;=%."-1 \nsinmul#:>', max_size=40))
def test_any_text_is_read_or_refused(entries: Entries, text: str) -> None:
    """Nothing but a graph error is raised."""
    with suppress(GraphError):
        read_expression(text, entries.operators)
    with suppress(GraphError):
        read_graph(f"graph(%a : {text}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph(%x : Tensor):\n  return (%y)", '"%y" is used but not defined'),
        ("graph(%x : Tensor, %x : Tensor):\n  return (%x)", '"%x" is defined twice'),
        ("graph(%x : Tensor):\n  retrun (%x)", '2:3: unexpected "retrun"'),
        ("graph(%x : Tensor):\n", "the text ends too early"),
    ],
)
def test_errors_of_torchscripts_form(text: str, message: str) -> None:
    """The same for TorchScript's textual form."""
    with pytest.raises(GraphError) as caught:
        read_graph(text)
    assert str(caught.value).endswith(message)


def test_syntax_errors_have_a_place() -> None:
    """Line and column are numbers of their own."""
    with pytest.raises(GraphSyntaxError) as caught:
        read_graph("graph(%x : Tensor):\n  return %x")
    assert (caught.value.line, caught.value.column) == (2, 10)


def test_drawings(entries: Entries) -> None:
    """Every operator is a box with its formula; constants are inside of boxes; edges lead to inputs."""
    graph = differentiate(read_expression("pow(a, 2)", entries.operators), entries).joined()
    boxes = boxes_of(graph)
    assert [(box.label, box.kind, box.sources) for box in boxes] == [
        ("a", "input", []),
        ("grad", "input", []),
        ("pow(·, 1)", "node", [0]),
        ("mul(·, 2)", "node", [2]),
        ("mul(·, ·)", "node", [1, 3]),
        ("output", "output", [4]),
    ]
    assert "pow.Tensor_Scalar, self" in boxes[2].note
    assert dot(graph).count("->") == 5
    assert svg(graph).count("<rect") == 6


def test_infinity_has_a_sign(entries: Entries) -> None:
    """What is not finite is read as it is printed."""
    for text in ("eq(a, -inf)\n", "eq(a, inf)\n"):
        assert print_expression(read_expression(text, entries.operators)) == text
