"""Prepare a graph for differentiation: inline nested blocks, and decompose operators without entry."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from derivlint.graph.builder import Builder
from derivlint.graph.differentiation.entries import Entries, NodeArguments, operator_name
from derivlint.graph.differentiation.refusal import refused
from derivlint.graph.ir import (
    ADD,
    CONSTANT,
    LIST,
    LIST_UNPACK,
    TUPLE,
    TUPLE_UNPACK,
    ZERO,
    Graph,
    GraphNode,
    GraphValue,
    copy_graph,
    replace_uses,
)
from derivlint.graph.passes import METADATA, inline_linear_blocks, optimize
from derivlint.graph.types import INTEGRAL_NUMBERS, GraphError, UndifferentiableError, holds_tensors

#: Nodes other than operators that pass gradients.
STRUCTURE = frozenset({LIST, LIST_UNPACK, TUPLE, TUPLE_UNPACK, ADD, "aten::_grad_sum_to_size"})
#: Nodes that pass no gradient; other prim:: operators are unknown.
OPAQUE = METADATA | {CONSTANT, ZERO}
MAX_DECOMPOSITIONS = 10


class PreparedGraph:
    """A graph that is ready for node-by-node differentiation.

    Attributes:
        graph: a copy of the original graph.
        entries: the derivatives of its nodes.
        requires_grad: the values that depend on an input with a requested gradient.
        arguments: the arguments of each operator that requires a gradient.
        problems: the reasons why operators cannot be differentiated.
    """

    def __init__(self, graph: Graph, entries: Entries, wrt: Collection[str] | None) -> None:
        self.entries = entries
        self.graph, values = copy_graph(graph)
        self.requires_grad: set[GraphValue] = set()
        self.arguments: dict[GraphNode, NodeArguments] = {}
        self.problems: dict[str, None] = {}
        self._same: dict[GraphValue, GraphValue] = {}
        # find mutations before dead code elimination, which could remove them
        for node, reason in refused(self.graph, entries):
            self.problem(node, reason)
        if self.problems:
            raise UndifferentiableError(tuple(self.problems))
        inline_linear_blocks(self.graph)
        optimize(self.graph)
        for value in graph.inputs:
            if wrt is not None and value.name in wrt and not value.type.is_differentiable:
                raise GraphError(f'"{value.name}" is a {value.type}, which has no gradient')
            is_requested = value.type.requires_grad is not False if wrt is None else value.name in wrt
            if is_requested and value.type.is_differentiable:
                self.requires_grad.add(values[value])
        if wrt is None and any(value.type.requires_grad for value in graph.inputs):
            # if some inputs declare requires_grad, the others do not require a gradient
            self.requires_grad = {value for value in self.requires_grad if value.type.requires_grad}
        nodes = self.graph.nodes
        self.graph.nodes = []
        builder = Builder(self.entries.operators, self.graph)
        for node in nodes:
            self._node(builder, node, 0)
        self.graph.outputs = [self._same.get(value, value) for value in self.graph.outputs]

    def requires(self, values: Iterable[GraphValue]) -> bool:
        """Whether any of these requires a gradient."""
        return any(value in self.requires_grad for value in values)

    def problem(self, node: GraphNode, reason: str) -> None:
        """Record why a node cannot be differentiated."""
        name = str(node.function.name) if node.function is not None else operator_name(node)
        if not node.kind.startswith("aten::"):
            name = node.kind
        where = f" in line {node.line} of the graph" if node.line is not None else ""
        self.problems[f'"{name}"{where} cannot be differentiated: {reason}'] = None

    def _node(self, builder: Builder, node: GraphNode, level: int) -> None:
        node.inputs = [self._same.get(value, value) for value in node.inputs]
        for inner in node.blocks:
            replace_uses(inner, self._same)
        inputs_require = self.requires(used_by(node))
        if node.kind in STRUCTURE or node.kind in OPAQUE or not inputs_require:
            self.graph.nodes.append(node)
            if inputs_require and node.kind in STRUCTURE:
                self.requires_grad.update(value for value in node.outputs if carries(value))
                self._refuse_untracked(node)
            return
        if not node.kind.startswith("aten::"):
            self.graph.nodes.append(node)
            reason = "control flow has no derivative here" if node.blocks else "it is not an operator of PyTorch"
            self.problem(node, reason)
            return
        if not any(value.type.is_differentiable for value in node.outputs):
            self.graph.nodes.append(node)
            self._refuse_untracked(node)
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

    def _refuse_untracked(self, node: GraphNode) -> None:
        """Refuse a node whose outputs may contain gradients in an untracked form."""
        for value in node.outputs:
            if holds_tensors(value.type) and not carries(value):
                self.problem(node, f"gradients through a value of the type {value.type} are not followed")

    def _decompose(self, builder: Builder, node: GraphNode, arguments: NodeArguments, level: int) -> None:
        fresh = Graph()
        with builder.inside(fresh):
            builder.origin = node.origin
            result = self.entries.decompose(builder, arguments.function, arguments)
            builder.origin = None
            values = [builder.value(item) for item in (result if isinstance(result, list) else [result])]
        if len(values) != len(node.outputs):
            name = arguments.function.name
            raise GraphError(f'the definition of "{name}" has {len(values)} of its {len(node.outputs)} outputs')
        for inner in fresh.nodes:
            self._node(builder, inner, level + 1)
        self._same.update(zip(node.outputs, (self._same.get(value, value) for value in values), strict=True))
        for old, new in zip(node.outputs, values, strict=True):
            new = self._same.get(new, new)
            new.name = new.name or old.name

    def _operator(self, node: GraphNode, arguments: NodeArguments) -> None:
        function = arguments.function
        if not self.entries.carries_gradients(function):
            return
        ignored = self.entries.ignored(function)
        requested = [
            argument.name
            for argument, value in arguments.values
            if value in self.requires_grad and argument.name not in ignored
        ]
        if not requested:
            return
        dtype = arguments.items.get("dtype")
        if isinstance(dtype, int) and dtype in INTEGRAL_NUMBERS:
            # integers have no gradient
            return
        if isinstance(dtype, GraphValue) and (dtype.node is None or dtype.node.kind != "prim::dtype"):
            self.problem(node, "the type of its result is not known")
        self.arguments[node] = arguments
        flags = self.entries.differentiable_outputs(function, len(node.outputs))
        self.requires_grad.update(
            value for value, flag in zip(node.outputs, flags, strict=True) if flag and value.type.is_differentiable
        )


def used_by(node: GraphNode) -> Iterator[GraphValue]:
    """Yield the values that a node uses: its operands, and those that its blocks use or return."""
    yield from node.inputs
    for block in node.blocks:
        yield from block.outputs
        for inner in block.nodes:
            yield from used_by(inner)


def carries(value: GraphValue) -> bool:
    """Whether values of this type can have gradients: tensors, lists of tensors, and tuples of those."""
    if value.type.name != "tuple":
        return value.type.is_differentiable
    parts = [element for element in value.type.elements if holds_tensors(element)]
    return bool(parts) and all(element.is_differentiable for element in parts)
