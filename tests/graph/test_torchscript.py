"""Graphs of TorchScript: its text is read and written, and its own derivatives are ours."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from derivlint.graph.differentiation.entries import Entries
from derivlint.graph.differentiation.reverse import differentiate
from derivlint.graph.evaluate import evaluate
from derivlint.graph.syntax.printer import print_graph
from derivlint.graph.syntax.reader import read_graph

NAMES = ("sigmoid", "tanh", "sin", "cos", "exp", "relu", "neg", "sqrt", "log", "mul", "add", "div", "sub")
WITH_ALPHA = frozenset({"add", "sub"})
WITH_TWO = frozenset({"mul", "add", "div", "sub"})
C: Any = torch._C


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A graph in TorchScript's form in which every value reaches an output."""
    type_ = "Double(2, 3, requires_grad=1)"
    lines = [f"graph(%x : {type_},", f"      %y : {type_}):", "  %one : int = prim::Constant[value=1]()"]
    known = ["x", "y"]
    lines.append("  %v0 : Tensor = aten::mul(%x, %y)")
    last = "v0"
    for number in range(1, draw(st.integers(2, 8))):
        name = draw(st.sampled_from(NAMES))
        operands = [f"%{last}"]
        if name in WITH_TWO:
            operands.append(f"%{draw(st.sampled_from([*known, last]))}")
        if name in WITH_ALPHA:
            operands.append("%one")
        lines.append(f"  %s{number} : Tensor = aten::{name}({', '.join(operands)})")
        # keeps the values positive and small
        lines.append(f"  %v{number} : Tensor = aten::sigmoid(%s{number})")
        known.append(last)
        last = f"v{number}"
    outputs = [last] if draw(st.booleans()) else [last, "v0"]
    return "\n".join([*lines, f"  return ({', '.join('%' + name for name in outputs)})"])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=texts())
def test_its_own_derivative_is_ours(entries: Entries, text: str) -> None:
    """The counts, the differentiated outputs and inputs, and all numbers are those of ``_jit_differentiate``."""
    ours = differentiate(read_graph(text), entries)
    theirs = C._jit_differentiate(C.parse_ir(text))
    assert ours.f_real_outputs == theirs.f_real_outputs
    assert ours.df_output_vjps == theirs.df_output_vjps
    real = ours.f_real_outputs
    assert [place for place in ours.df_input_vjps if place < real] == [
        place for place in theirs.df_input_vjps if place < real
    ]
    inputs = [torch.rand(2, 3, dtype=torch.double) * 0.6 + 0.2 for _ in range(2)]
    vectors = [torch.rand(2, 3, dtype=torch.double) for _ in range(real)]

    def given_to(gradient: Any, outputs: Any, missing: Any) -> list[Any]:
        vjps = [vectors[place] if place < real else missing for place in gradient.df_input_vjps]
        captured = [inputs[place] for place in gradient.df_input_captured_inputs]
        return [*vjps, *captured, *(outputs[place] for place in gradient.df_input_captured_outputs)]

    found = evaluate(ours.df, given_to(ours, evaluate(ours.f, inputs), None))
    outputs = C._jit_interpret_graph(theirs.f, tuple(inputs))
    zero = torch.zeros(2, 3, dtype=torch.double)
    wanted = C._create_function_from_graph("df", theirs.df)(*given_to(theirs, outputs, zero))
    for ours_item, right in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        assert torch.allclose(ours_item, right, rtol=1e-9, atol=1e-9)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=texts())
def test_what_is_printed_is_read_again(entries: Entries, text: str) -> None:
    """The same graph, and the same derivative with its nested blocks, come back; TorchScript reads the graph too."""
    graph = read_graph(text)
    printed = print_graph(graph)
    assert print_graph(read_graph(printed)) == printed
    again = str(C.parse_ir(printed))
    assert str(C.parse_ir(print_graph(read_graph(again)))) == again
    gradient = differentiate(graph, entries)
    for part in (gradient.f, gradient.df, gradient.joined()):
        assert print_graph(read_graph(print_graph(part))) == print_graph(part)


def test_torchscripts_derivatives_can_be_read() -> None:
    """Nested blocks, optional types, tuples and names with dots are understood."""
    text = (
        "graph(%x : Double(2, 3, requires_grad=1), %y : Double(2, 3)):\n"
        "  %a : Tensor = aten::mul(%x, %y)\n  %b : Tensor = aten::tanh(%a)\n  return (%b)\n"
    )
    theirs = C._jit_differentiate(C.parse_ir(text))
    for graph in (theirs.f, theirs.df):
        printed = print_graph(read_graph(str(graph)))
        assert print_graph(read_graph(printed)) == printed
        assert printed.count("prim::GradOf") == str(graph).count("prim::GradOf")


@pytest.mark.filterwarnings("ignore:.torch.jit.trace:DeprecationWarning")
def test_a_traced_function_can_be_differentiated(entries: Entries) -> None:
    """What ``torch.jit.trace`` prints is read with its comments, and its derivative is PyTorch's."""
    x = torch.rand(2, 3, dtype=torch.double, requires_grad=True)
    traced: Any = torch.jit.trace(lambda x: torch.softmax(x * 2 + 1, -1).sum(0), (x,))  # type: ignore[no-untyped-call]  # by torch
    graph = read_graph(str(traced.graph))
    vector = torch.rand(3, dtype=torch.double)
    (wanted,) = torch.autograd.grad(traced(x), x, vector)
    (found,) = evaluate(differentiate(graph, entries).joined(), [x, vector])
    assert torch.allclose(found, wanted)


@pytest.mark.parametrize(
    "type_",
    [
        "Tensor", "Double", "Double(2, 3)", "Float(*, 3, requires_grad=0)",
        "Double(2, 3, strides=[3, 1], requires_grad=1, device=cpu)", "int[]?", "(Tensor, int[], (float, bool))",
        "Tensor?[]", "NoneType", "Device", "str",
    ],
)  # fmt: skip
def test_types(type_: str) -> None:
    """Types come back as they were written."""
    text = f"graph(%x : {type_}):\n  return (%x)\n"
    assert print_graph(read_graph(text)) == text


WRITTEN_OUT = {
    # keywords with numbers, and without
    "addmm(%b, %x, %w, %one, %one)": "addmm",
    "addmv(%b, %x, %w, %one, %one)": "addmv",
    "add(%x, %w, %one)": "add.Tensor",
    "softmax(%x, %one, %none)": "softmax.int",
}


@pytest.mark.parametrize("call", WRITTEN_OUT)
def test_arguments_are_written_out(call: str, entries: Entries) -> None:
    """TorchScript writes all arguments by position, those that are keywords in Python as well."""
    graph = read_graph(
        "graph(%x : Tensor, %w : Tensor, %b : Tensor):\n"
        "  %one : int = prim::Constant[value=1]()\n"
        "  %none : NoneType = prim::Constant()\n"
        f"  %y : Tensor = aten::{call}\n"
        "  return (%y)\n"
    )
    node = graph.nodes[-1]
    name = node.kind.removeprefix("aten::")
    bound = entries.operators.bind(name, [value.type for value in node.inputs])
    assert bound is not None
    assert str(bound.function.name) == WRITTEN_OUT[call]
