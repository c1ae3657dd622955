"""Derivatives of graphs are, number by number, those of PyTorch's autograd."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings

from derivlint.graph.differentiation.entries import Entries
from derivlint.graph.differentiation.forward import jvp
from derivlint.graph.differentiation.gradient import Gradient
from derivlint.graph.differentiation.reverse import differentiate
from derivlint.graph.evaluate import evaluate
from derivlint.graph.ir import Graph
from derivlint.graph.syntax.expression import read_expression
from derivlint.graph.types import UndifferentiableError
from tests.graph.situations import BINARY, UNARY, programs

functional: Any = torch.autograd.functional


def sample(count: int) -> list[Any]:
    generator = torch.Generator().manual_seed(count)
    random = [torch.rand(2, 3, dtype=torch.double, generator=generator) for _ in range(count)]
    return [(item * 0.6 + 0.2).requires_grad_() for item in random]


def close(ours: Any, theirs: Any) -> bool:
    """Whether two gradients are equal, an undefined one being zeros."""
    if ours is None or theirs is None:
        present = theirs if ours is None else ours
        return present is None or bool((present == 0).all())
    return bool(torch.allclose(ours, theirs, rtol=1e-9, atol=1e-9))


def vectors_for(graph: Graph, gradient: Gradient, inputs: list[Any]) -> tuple[list[Any], list[Any]]:
    outputs = evaluate(graph, inputs)
    results = [outputs[place] for place in gradient.df_input_vjps if place < gradient.f_real_outputs]
    return results, [torch.rand_like(item, requires_grad=True) for item in results]


def run_in_two_steps(gradient: Gradient, inputs: list[Any], vectors: list[Any]) -> list[Any]:
    """The forward graph, and then its derivative on what was captured."""
    outputs = evaluate(gradient.f, inputs)
    real = iter(vectors)
    given_vjps = [next(real) if place < gradient.f_real_outputs else None for place in gradient.df_input_vjps]
    captured = [inputs[place] for place in gradient.df_input_captured_inputs]
    captured += [outputs[place] for place in gradient.df_input_captured_outputs]
    return evaluate(gradient.df, [*given_vjps, *captured])


def check(graph: Graph, entries: Entries, order: int) -> None:
    inputs = sample(len(graph.inputs))
    names = [value.name for value in graph.inputs]
    for _ in range(order):
        gradient = differentiate(graph, entries, names)
        results, vectors = vectors_for(graph, gradient, inputs)
        pairs = [(item, vector) for item, vector in zip(results, vectors, strict=True) if item.requires_grad]
        if not pairs:
            return
        wanted = torch.autograd.grad(
            [item for item, _ in pairs], inputs, [vector for _, vector in pairs], create_graph=True, allow_unused=True
        )
        joined = gradient.joined()
        together = evaluate(joined, [*inputs, *vectors])
        apart = run_in_two_steps(gradient, inputs, vectors)
        for ours in (together, apart):
            by_place = dict(zip(gradient.df_output_vjps, ours, strict=True))
            assert [place for place, right in enumerate(wanted) if not close(by_place.get(place), right)] == []
        graph, inputs = joined, [*inputs, *vectors]
        names = [value.name for value in graph.inputs]


def graph_of(text: str, entries: Entries) -> Graph:
    return read_expression(text, entries.operators, inputs=["x", "y"] if text in BINARY else ["x"])


@pytest.mark.parametrize("text", UNARY + BINARY)
def test_two_orders_of_an_operator(text: str, entries: Entries) -> None:
    """The first and the second derivative are PyTorch's."""
    check(graph_of(text, entries), entries, 2)


def test_more_than_sixty_operators_are_covered(entries: Entries) -> None:
    """The expressions above call that many operators."""
    names: set[object] = set()
    for text in UNARY + BINARY:
        names.update(node.function.name for node in graph_of(text, entries).nodes if node.function is not None)
    assert len(names) >= 90


@pytest.mark.parametrize("text", UNARY + BINARY)
def test_forward_mode_of_an_operator(text: str, entries: Entries) -> None:
    """Tangents are PyTorch's Jacobian-vector products."""
    graph = graph_of(text, entries)
    inputs = [item.detach() for item in sample(len(graph.inputs))]
    tangents = [torch.rand_like(item) for item in inputs]
    output, tangent = evaluate(jvp(graph, entries), [*inputs, *tangents])
    wanted = functional.jvp(lambda *given: evaluate(graph, given)[0], tuple(inputs), tuple(tangents))
    assert close(output, wanted[0])
    assert close(tangent, wanted[1])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=programs())
def test_two_orders_of_random_graphs(entries: Entries, text: str) -> None:
    """The same of graphs with several operators, shared values and several outputs."""
    check(read_expression(text, entries.operators, inputs=["a", "b"]), entries, 2)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=programs(3))
def test_forward_over_reverse_of_random_graphs(entries: Entries, text: str) -> None:
    """The tangent of a gradient is that of PyTorch."""
    graph = read_expression(text, entries.operators, inputs=["a", "b"])
    gradient = differentiate(graph, entries, ["a", "b"])
    inputs = sample(2)
    _, vectors = vectors_for(graph, gradient, inputs)
    joined = gradient.joined()
    given_all = [item.detach() for item in (*inputs, *vectors)]
    tangents = [torch.rand_like(item) for item in given_all]
    names = [value.name for value in joined.inputs]
    # PyTorch has no forward formulas for some backward operators
    with suppress(UndifferentiableError):
        forward = jvp(joined, entries, names)
        check_tangents(joined, forward, given_all, tangents)


def check_tangents(joined: Graph, forward: Graph, given_all: list[Any], tangents: list[Any]) -> None:
    found = evaluate(forward, [*given_all, *tangents])
    wanted = functional.jvp(lambda *given: tuple(evaluate(joined, given)), tuple(given_all), tuple(tangents))[1]
    # an output that depends on no input, such as zeros, has no tangent
    constant = len(wanted) - (len(found) - len(wanted))
    with_tangent = [right for right in wanted if bool(right.any())] if constant else list(wanted)
    tangents_found = [item for item in found[len(wanted) :] if not constant or bool(item.any())]
    assert len(tangents_found) == len(with_tangent)
    assert all(map(close, tangents_found, with_tangent))


def test_third_order(entries: Entries) -> None:
    """Derivatives can be differentiated as often as one likes."""
    check(read_expression("sin(mul(x, tanh(x)))", entries.operators), entries, 3)


def test_broadcast_operands_get_gradients_of_their_own_shape(entries: Entries) -> None:
    """A gradient is summed over the dimensions that its operand was stretched along."""
    graph = read_expression("mul(a, b)", entries.operators)
    a, b = torch.rand(2, 3, dtype=torch.double), torch.rand(3, dtype=torch.double)
    grad = torch.rand(2, 3, dtype=torch.double)
    found = evaluate(differentiate(graph, entries).joined(), [a, b, grad])
    assert [item.shape for item in found] == [a.shape, b.shape]
    assert torch.equal(found[1], (grad * a).sum(0))


def test_complex_operands(entries: Entries) -> None:
    """Gradients of complex tensors are conjugated, and those of real ones real."""
    from derivlint.graph.types import complex_tensor

    graph = read_expression("mul(a, sin(b))", entries.operators, types={"a": complex_tensor()})
    a = torch.rand(2, 3, dtype=torch.complex128, requires_grad=True)
    b = torch.rand(2, 3, dtype=torch.double, requires_grad=True)
    grad = torch.rand(2, 3, dtype=torch.complex128)
    wanted = torch.autograd.grad(torch.mul(a, torch.sin(b)), [a, b], grad)
    found = evaluate(differentiate(graph, entries).joined(), [a, b, grad])
    assert [item.dtype for item in found] == [torch.complex128, torch.double]
    assert all(map(close, found, wanted))


def test_a_gradient_that_is_not_there_costs_nothing(entries: Entries) -> None:
    """A linear block whose gradients are undefined gives undefined ones; the other output still counts."""
    graph = read_expression("sigmoid(a), mul(b, 2)", entries.operators)
    found = evaluate(differentiate(graph, entries).joined(), [*sample(2), None, torch.ones(2, 3)])
    assert found[0] is None
    assert torch.equal(found[1], torch.full((2, 3), 2.0))
