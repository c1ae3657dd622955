"""Makes a graph ready to be differentiated: nested blocks inlined, operators without entry taken apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from derivlint.graph.builder import Builder
from derivlint.graph.entries import Entries, NodeArguments, operator_name
from derivlint.graph.errors import GraphError
from derivlint.graph.ir import (
    ADD,
    CONSTANT,
    LIST,
    LIST_UNPACK,
    TUPLE,
    TUPLE_UNPACK,
    ZERO,
    Graph,
    Node,
    Value,
    copy_graph,
)
from derivlint.graph.passes import METADATA, inline_linear_blocks, is_pure, optimize

#: Nodes that are no operators and that gradients pass through.
STRUCTURE = frozenset({LIST, LIST_UNPACK, TUPLE, TUPLE_UNPACK, ADD, "aten::_grad_sum_to_size"})
#: Nodes whose values no gradient flows through; the prim:: operators beside them are not known.
OPAQUE = METADATA | {CONSTANT, ZERO}
MAX_DECOMPOSITIONS = 10


class Prepared:
    """A graph of nodes that are differentiated one by one.

    Attributes:
        graph: the graph, a copy of the one given.
        entries: what its nodes' derivatives are.
        requires_grad: the values that depend on an input whose gradient is asked for.
        arguments: the arguments of each operator that requires a gradient.
        problems: why operators cannot be differentiated.
    """

    def __init__(self, graph: Graph, entries: Entries, wrt: Collection[str] | None) -> None:
        self.entries = entries
        self.graph, values = copy_graph(graph)
        inline_linear_blocks(self.graph)
        optimize(self.graph)
        self.requires_grad: set[Value] = set()
        for value in graph.inputs:
            asked = value.type.requires_grad is not False if wrt is None else value.name in wrt
            if asked and value.type.is_differentiable:
                self.requires_grad.add(values[value])
        if wrt is None and any(value.type.requires_grad for value in graph.inputs):
            # where some say so, the others do not
            self.requires_grad = {value for value in self.requires_grad if value.type.requires_grad}
        self.arguments: dict[Node, NodeArguments] = {}
        self.problems: dict[str, None] = {}
        self._same: dict[Value, Value] = {}
        self._rewrite()

    def requires(self, values: Iterable[Value]) -> bool:
        """Whether any of these requires a gradient."""
        return any(value in self.requires_grad for value in values)

    def problem(self, node: Node, reason: str) -> None:
        """Say why a node cannot be differentiated."""
        name = str(node.function.name) if node.function is not None else operator_name(node)
        self.problems[f'"{name}" cannot be differentiated: {reason}'] = None

    def _rewrite(self) -> None:
        nodes = self.graph.nodes
        self.graph.nodes = []
        builder = Builder(self.entries.operators, self.graph)
        for node in nodes:
            self._node(builder, node, 0)
        self.graph.outputs = [self._same.get(value, value) for value in self.graph.outputs]

    def _node(self, builder: Builder, node: Node, level: int) -> None:
        node.inputs = [self._same.get(value, value) for value in node.inputs]
        inputs_require = self.requires(node.inputs)
        if node.kind in STRUCTURE or node.kind in OPAQUE or not inputs_require:
            self.graph.nodes.append(node)
            if inputs_require and node.kind in STRUCTURE:
                self.requires_grad.update(value for value in node.outputs if carries(value))
            return
        if not node.kind.startswith("aten::"):
            self.graph.nodes.append(node)
            reason = "control flow has no derivative here" if node.blocks else "it is no operator of PyTorch"
            self.problem(node, reason)
            return
        if not any(value.type.is_differentiable for value in node.outputs):
            self.graph.nodes.append(node)
            return
        if not is_pure(node) and node.kind.endswith("_"):
            self.graph.nodes.append(node)
            self.problem(node, "it changes its operand in place")
            return
        try:
            arguments = self.entries.arguments(node)
            if self.entries.is_decomposed(arguments.function) and level < MAX_DECOMPOSITIONS:
                self._decompose(builder, node, arguments, level)
                return
        except GraphError as error:
            self.graph.nodes.append(node)
            self.problem(node, str(error))
            return
        self.graph.nodes.append(node)
        self._operator(node, arguments)

    def _decompose(self, builder: Builder, node: Node, arguments: NodeArguments, level: int) -> None:
        fresh = Graph()
        with builder.inside(fresh):
            builder.origin = node.origin
            result = self.entries.decompose(builder, arguments.function, arguments)
            builder.origin = None
            values = [builder.value(item) for item in (result if isinstance(result, list) else [result])]
        for inner in fresh.nodes:
            self._node(builder, inner, level + 1)
        self._same.update(zip(node.outputs, (self._same.get(value, value) for value in values), strict=True))
        for old, new in zip(node.outputs, values, strict=True):
            new = self._same.get(new, new)
            new.name = new.name or old.name

    def _operator(self, node: Node, arguments: NodeArguments) -> None:
        function = arguments.function
        if not self.entries.carries_gradients(function):
            return
        ignored = self.entries.ignored(function)
        asked = [
            argument.name
            for argument, value in arguments.values
            if value in self.requires_grad and argument.name not in ignored
        ]
        if not asked:
            return
        self.arguments[node] = arguments
        flags = self.entries.differentiable_outputs(function, len(node.outputs))
        self.requires_grad.update(
            value for value, flag in zip(node.outputs, flags, strict=True) if flag and value.type.is_differentiable
        )


def carries(value: Value) -> bool:
    """Whether gradients can flow through a value of its type, a tuple with such values among them."""
    return value.type.is_differentiable or any(element.is_differentiable for element in value.type.elements)
