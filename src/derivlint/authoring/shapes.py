"""Sizes of gradients: whether they are summed to the sizes of an operand that was broadcast.

The sizes of a value are those that its operands are broadcast to, as long as operators work element by element; any
other operator gives a tensor of its own sizes. Two values have the same sizes for certain where both are broadcast from
the same tensors. What autograd sums by itself, the gradient of an argument, need not be summed by a formula.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from derivlint.graph.differentiation.entries import operator_name
from derivlint.graph.differentiation.reverse import SUM_TO_SIZE
from derivlint.graph.ir import ADD, CONSTANT, Graph, GraphNode, GraphValue
from derivlint.operators import Book

#: The tag of operators that work element by element.
POINTWISE = "pointwise"
#: What the sizes of a value are broadcast from.
Sizes = frozenset[int]
_TAKEN_FROM_SIZES = (SUM_TO_SIZE, "aten::expand")


class SizesOf:
    """Works out the sizes of values, the same for equal values of several graphs."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def of_input(self, name: str) -> Sizes:
        """The sizes of an argument of the operator."""
        return frozenset({self._number(name)})

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def of(self, graph: Graph, inputs: Mapping[str, Sizes]) -> dict[GraphValue, Sizes]:
        """The sizes of every value of a graph, whose inputs have known ones."""
        numbers: dict[GraphValue, int] = {}
        sizes: dict[GraphValue, Sizes] = {}
        for value in graph.inputs:
            numbers[value] = self._number(value.name)
            sizes[value] = inputs.get(value.name, frozenset())
        for node in graph.walk():
            operands = tuple(numbers.get(value, -1) for value in node.inputs)
            attributes = tuple(sorted((name, repr(value)) for name, value in node.attributes.items()))
            inferred = self._found(node, sizes)
            for place, value in enumerate(node.outputs):
                numbers[value] = self._number((node.kind, place, operands, attributes))
                if not value.type.is_tensor:
                    sizes[value] = frozenset()
                else:
                    sizes[value] = inferred if inferred is not None else frozenset({numbers[value]})
        return sizes

    @staticmethod
    def _found(node: GraphNode, sizes: Mapping[GraphValue, Sizes]) -> Sizes | None:
        """The sizes of what a node gives, or None if they are its own."""
        if node.kind == CONSTANT:
            return frozenset()
        if node.kind in _TAKEN_FROM_SIZES:
            return _asked_for(node.inputs[1], sizes)
        function = node.function
        if node.kind == ADD or (function is not None and POINTWISE in function.tags) or _keeps(node):
            return frozenset().union(*(sizes[value] for value in node.inputs))
        return None


def _keeps(node: GraphNode) -> bool:
    """Whether an operator gives a tensor of the sizes of its argument."""
    name = operator_name(node)
    return name in Book.by_hand("like-first") or name in Book.by_hand("conjugates")


def _asked_for(value: GraphValue, sizes: Mapping[GraphValue, Sizes]) -> Sizes | None:
    """The sizes that a list of sizes names."""
    node = value.node
    return sizes.get(node.inputs[0]) if node is not None and node.kind == "aten::size" else None


def drop_needless_sums(graph: Graph, sizes: Mapping[GraphValue, Sizes]) -> None:
    """Take away the sums that change nothing, and the last one, which autograd does."""
    replaced: dict[GraphValue, GraphValue] = {}
    for node in graph.walk():
        node.inputs = [replaced.get(value, value) for value in node.inputs]
        if node.kind == SUM_TO_SIZE:
            operand, target_sizes = node.inputs[0], _asked_for(node.inputs[1], sizes)
            if node.output in graph.outputs or (target_sizes is not None and sizes[operand] == target_sizes):
                replaced[node.output] = operand
    graph.outputs = [replaced.get(value, value) for value in graph.outputs]
