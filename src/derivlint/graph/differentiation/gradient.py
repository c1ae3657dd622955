"""A graph with its derivative, and the two combined as one graph."""

from __future__ import annotations

from msgspec import Struct, field

from derivlint.graph.ir import ZERO, Graph, GraphNode, GraphValue, clone_into, copy_graph
from derivlint.graph.passes import optimize
from derivlint.graph.types import TENSOR


class Gradient(Struct):
    """A graph with its derivative; the fields are those of PyTorch's ``torch::jit::Gradient``.

    Attributes:
        f: the graph, with additional outputs for its derivative.
        df: the derivative: from the gradients of the outputs of ``f`` and captured values to the gradients of its
            inputs.
        f_real_outputs: the number of original outputs.
        df_input_vjps: the outputs of ``f`` whose gradients ``df`` takes, in order.
        df_input_captured_inputs: the inputs of ``f`` that ``df`` takes next.
        df_input_captured_outputs: the outputs of ``f`` that ``df`` takes last.
        df_output_vjps: the inputs of ``f`` whose gradients ``df`` computes.
    """

    f: Graph
    df: Graph
    f_real_outputs: int
    df_input_vjps: list[int] = field(default_factory=list)
    df_input_captured_inputs: list[int] = field(default_factory=list)
    df_input_captured_outputs: list[int] = field(default_factory=list)
    df_output_vjps: list[int] = field(default_factory=list)

    def joined(self, names: list[str] | None = None) -> Graph:
        """Combine both graphs: from the inputs of ``f`` and gradients of its real outputs to gradients of its inputs.

        Args:
            names: the names of the gradients; by default ``grad``, or ``grad_0`` and so on for several.
        """
        graph, values = copy_graph(self.f)
        inputs, outputs = list(graph.inputs), list(graph.outputs)
        del values
        real = [place for place in self.df_input_vjps if place < self.f_real_outputs]
        if names is None:
            names = _gradient_names(graph, len(real))
        replacements: dict[GraphValue, GraphValue] = {}
        fresh = iter(names)
        for place, formal in zip(self.df_input_vjps, self.df.inputs, strict=False):
            if place < self.f_real_outputs:
                replacements[formal] = graph.add_input(formal.type, next(fresh))
            else:
                zero = GraphNode(ZERO)
                graph.nodes.append(zero)
                replacements[formal] = zero.add_output(TENSOR)
        captured = [
            *(inputs[place] for place in self.df_input_captured_inputs),
            *(outputs[place] for place in self.df_input_captured_outputs),
        ]
        replacements.update(zip(self.df.inputs[len(self.df_input_vjps) :], captured, strict=True))
        made = clone_into(graph, self.df, replacements)
        graph.outputs = [made[value] for value in self.df.outputs]
        optimize(graph)
        return graph


def _gradient_names(graph: Graph, count: int) -> list[str]:
    taken = {value.name for value in graph.inputs}
    names: list[str] = []
    for number in range(count):
        name = "grad" if count == 1 else f"grad_{number}"
        while name in taken:
            name = f"g{name}"
        taken.add(name)
        names.append(name)
    return names
