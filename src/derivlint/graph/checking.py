"""Compare derived graphs with PyTorch's autograd."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import Any

from derivlint.graph.differentiation.entries import Entries
from derivlint.graph.differentiation.reverse import differentiate
from derivlint.graph.evaluate import evaluate
from derivlint.graph.ir import Graph
from derivlint.graph.types import GraphError

SHAPE = (2, 3)
TOLERANCE = 1e-8


def compare(graph: Graph, entries: Entries, wrt: Collection[str], order: int) -> str:
    """Derive a graph in reverse mode and compare each order with PyTorch, on random inputs between 0.2 and 0.8.

    Returns:
        A one-line report.

    Raises:
        GraphError: PyTorch is missing, the graph cannot be run on such inputs, or the results differ.
    """
    try:
        torch: Any = import_module("torch")
    except ImportError as error:
        raise GraphError("PyTorch is not installed") from error
    generator = torch.Generator().manual_seed(0)

    def sample(shape: Any) -> Any:
        random = torch.rand(shape, dtype=torch.double, generator=generator)
        return (random * 0.6 + 0.2).requires_grad_()

    inputs = [sample(value.type.static_shape or SHAPE) for value in graph.inputs]
    try:
        outputs: list[Any] = evaluate(graph, inputs)
        largest = 0.0
        for _ in range(order):
            places = [place for place, value in enumerate(graph.inputs) if value.name in wrt]
            gradient = differentiate(graph, entries, wrt)
            vectors = [sample(outputs[place].shape) for place in gradient.df_input_vjps if place < len(outputs)]
            results = [outputs[place] for place in gradient.df_input_vjps if place < len(outputs)]
            expected = torch.autograd.grad(
                results, [inputs[place] for place in places], vectors, create_graph=True, allow_unused=True
            )
            graph, inputs = gradient.joined(), [*inputs, *vectors]
            outputs = evaluate(graph, inputs)
            by_place = dict(zip(gradient.df_output_vjps, outputs, strict=True))
            for place, expected_gradient in zip(places, expected, strict=True):
                largest = max(largest, _difference(torch, by_place.get(place), expected_gradient))
    except (RuntimeError, IndexError, TypeError) as error:
        raise GraphError(f"PyTorch cannot run it: {str(error).splitlines()[0]}") from error
    if not largest <= TOLERANCE:
        raise GraphError(f"the values differ from PyTorch's by {largest:.2g}")
    return f"# agrees with PyTorch (largest difference: {largest:.2g})"


def _difference(torch: Any, ours: Any, theirs: Any) -> float:
    if ours is None and theirs is None:
        return 0.0
    if ours is None or theirs is None:
        present = theirs if ours is None else ours
        return float(present.detach().abs().max())
    return float((torch.as_tensor(ours) - theirs).detach().abs().max())
