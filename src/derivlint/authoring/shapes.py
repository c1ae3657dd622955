"""Sizes of gradients, and sums to the sizes of broadcast operands.

A value of an elementwise operator has the broadcast sizes of its operands; any other operator returns a tensor with
sizes of its own. Two values certainly have the same sizes if both are broadcast from the same tensors. A formula need
not sum the gradient of an argument, since autograd does.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from derivlint.graph.differentiation.entries import operator_name
from derivlint.graph.differentiation.reverse import SUM_TO_SIZE
from derivlint.graph.ir import ADD, CONSTANT, Graph, GraphNode, GraphValue
from derivlint.operators import Book

#: The tag of elementwise operators.
POINTWISE = "pointwise"
#: The tensors from which the sizes of a value are broadcast.
Sizes = frozenset[int]
_TAKEN_FROM_SIZES = (SUM_TO_SIZE, "aten::expand")


class SizesOf:
    """Computes the sizes of values; equal values of several graphs get equal sizes."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def of_input(self, name: str) -> Sizes:
        """Return the sizes of an argument of the operator."""
        return frozenset({self._number(name)})

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def of(self, graph: Graph, inputs: Mapping[str, Sizes]) -> dict[GraphValue, Sizes]:
        """Return the sizes of every value of a graph, from those of its inputs."""
        numbers: dict[GraphValue, int] = {}
        sizes: dict[GraphValue, Sizes] = {}
        for value in graph.inputs:
            numbers[value] = self._number(value.name)
            sizes[value] = inputs.get(value.name, frozenset())
        for node in graph.walk():
            operands = tuple(numbers.get(value, -1) for value in node.inputs)
            attributes = tuple(sorted((name, repr(value)) for name, value in node.attributes.items()))
            inferred = self._result_sizes(node, sizes)
            for place, value in enumerate(node.outputs):
                numbers[value] = self._number((node.kind, place, operands, attributes))
                if not value.type.is_tensor:
                    sizes[value] = frozenset()
                else:
                    sizes[value] = inferred if inferred is not None else frozenset({numbers[value]})
        return sizes

    @staticmethod
    def _result_sizes(node: GraphNode, sizes: Mapping[GraphValue, Sizes]) -> Sizes | None:
        """Return the sizes of a node's result, or None if they are its own."""
        if node.kind == CONSTANT:
            return frozenset()
        if node.kind in _TAKEN_FROM_SIZES:
            return _denoted_sizes(node.inputs[1], sizes)
        function = node.function
        if node.kind == ADD or (function is not None and POINTWISE in function.tags) or _keeps(node):
            return frozenset().union(*(sizes[value] for value in node.inputs))
        return None


def _keeps(node: GraphNode) -> bool:
    name = operator_name(node)
    return name in Book.by_hand("like-first") or name in Book.by_hand("conjugates")


def _denoted_sizes(value: GraphValue, sizes: Mapping[GraphValue, Sizes]) -> Sizes | None:
    """Return the sizes that a list of sizes denotes, or None."""
    node = value.node
    return sizes.get(node.inputs[0]) if node is not None and node.kind == "aten::size" else None


def drop_needless_sums(graph: Graph, sizes: Mapping[GraphValue, Sizes]) -> None:
    """Remove sums without effect, and the last one, which autograd does."""
    replaced: dict[GraphValue, GraphValue] = {}
    for node in graph.walk():
        node.inputs = [replaced.get(value, value) for value in node.inputs]
        if node.kind == SUM_TO_SIZE:
            operand, target_sizes = node.inputs[0], _denoted_sizes(node.inputs[1], sizes)
            if node.output in graph.outputs or (target_sizes is not None and sizes[operand] == target_sizes):
                replaced[node.output] = operand
    graph.outputs = [replaced.get(value, value) for value in graph.outputs]


_ZEROS = "zeros_like"
_BOOLEAN = frozenset[str]().union(*map(Book.by_hand, ("compares", "answers", "boolean-output")))


def shorten(graph: Graph, sizes: Mapping[GraphValue, Sizes]) -> None:
    """Read sizes from the first value that has them, and remove zeros and expansions without effect."""
    first: dict[tuple[Sizes, bool], GraphValue] = {}
    replaced: dict[GraphValue, GraphValue] = {}
    for value in graph.inputs:
        if value.type.is_tensor:
            first.setdefault((sizes[value], value.type.is_complex), value)
    for node in graph.walk():
        node.inputs = [replaced.get(value, value) for value in node.inputs]
        name = operator_name(node)
        reads = name == _ZEROS or node.kind in ("aten::size", "aten::numel")
        if reads and (held := node.inputs[0]).type.is_tensor:
            node.inputs[0] = first.get((sizes[held], held.type.is_complex), held)
        same = _same_value(node, name, sizes)
        if same is not None:
            replaced[node.output] = same
        elif len(node.outputs) == 1 and node.output.type.is_tensor and name not in _BOOLEAN | {_ZEROS}:
            first.setdefault((sizes[node.output], node.output.type.is_complex), node.output)
    graph.outputs = [replaced.get(value, value) for value in graph.outputs]


def _same_value(node: GraphNode, name: str, sizes: Mapping[GraphValue, Sizes]) -> GraphValue | None:
    """Return the operand with the same sizes that a node returns unchanged, or None."""
    if len(node.outputs) != 1 or not node.output.type.is_tensor:
        return None
    own = sizes[node.output]
    operands = node.inputs
    if node.kind == ADD or name == "add":
        zero = next((place for place, value in enumerate(operands[:2]) if is_zero(value)), None)
        same = operands[1 - zero] if zero is not None and len(operands) == 2 else None
    elif node.kind == "aten::expand":
        same = operands[0]
    elif name == "where" and len(operands) == 3 and all(map(is_zero, operands[1:])):
        same = operands[1]
    elif name in ("mul", "div", "neg", "clone") and operands:
        zeros = [value for value in (operands[:2] if name == "mul" else operands[:1]) if is_zero(value)]
        same = zeros[0] if zeros else None
    else:
        same = None
    return same if same is not None and same.type.is_tensor and sizes[same] == own else None


def is_zero(value: GraphValue) -> bool:
    """Whether a value is zeros, according to the operator book."""
    return value.node is not None and operator_name(value.node) in Book.by_hand("zero")
