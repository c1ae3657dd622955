"""Forward mode: a graph that computes the outputs and their tangents.

Operators without a forward formula have no tangent; none is derived from the backward formula.
"""

from __future__ import annotations

from collections.abc import Collection

from derivlint.formula import parse_formula
from derivlint.graph.builder import Builder, Item
from derivlint.graph.differentiation.entries import Entries, NodeArguments, output_names
from derivlint.graph.differentiation.prepare import PreparedGraph
from derivlint.graph.ir import (
    ADD,
    LIST,
    LIST_UNPACK,
    TUPLE,
    TUPLE_UNPACK,
    ZERO,
    Graph,
    GraphNode,
    GraphValue,
    NodeOrigin,
)
from derivlint.graph.lowering import Lowering
from derivlint.graph.passes import optimize
from derivlint.graph.types import GraphError, UndifferentiableError
from derivlint.model import ForwardDerivative
from derivlint.model.keys import RESULT
from derivlint.operators.reference.terms import LINEAR_IN_LIST, polynomials

#: Operators that are linear in lists; their forward formulas take primals and tangents together.
LINEAR_IN_LISTS = frozenset(name for name, polynomial in polynomials().items() if polynomial == LINEAR_IN_LIST)
TANGENT = "_t"
PRIMAL = "_p"


def jvp(graph: Graph, entries: Entries, wrt: Collection[str] | None = None, *, suffix: str = "t") -> Graph:
    """Derive a graph that computes Jacobian-vector products; the graph itself is not modified.

    Its inputs are those of the graph, followed by a tangent ``<name>_t`` for each differentiated input. Its outputs are
    those of the graph, followed by the tangents of differentiable outputs.

    Args:
        graph: the graph.
        entries: the source of the formulas.
        wrt: the names of the differentiated inputs; by default those that require a gradient.
        suffix: the suffix of tangents' names, after an underscore.

    Raises:
        UndifferentiableError: it has operators without usable formulas; the message lists all of them.
    """
    return _Forward(PreparedGraph(graph, entries, wrt), suffix).run()


class _Forward:
    def __init__(self, prepared: PreparedGraph, suffix: str) -> None:
        self._suffix = suffix
        self._prepared = prepared
        self._entries = prepared.entries
        self._graph = prepared.graph
        self._tangents: dict[GraphValue, GraphValue] = {}
        self._builder = Builder(prepared.entries.operators, self._graph)
        self._lowering = Lowering(self._builder)

    def run(self) -> Graph:
        graph, prepared = self._graph, self._prepared
        for value in list(graph.inputs):
            if value in prepared.requires_grad:
                self._tangents[value] = graph.add_input(
                    value.type, f"{value.name}_{self._suffix}" if value.name else ""
                )
        nodes = graph.nodes
        graph.nodes = []
        for node in nodes:
            graph.nodes.append(node)
            if prepared.requires(node.inputs):
                self._node(node)
        if prepared.problems:
            raise UndifferentiableError(tuple(prepared.problems))
        for value in list(graph.outputs):
            if value in prepared.requires_grad:
                graph.outputs.append(self._tangent(value))
        optimize(graph)
        return graph

    def _tangent(self, value: GraphValue) -> GraphValue:
        """The tangent of a value, or zeros."""
        tangent = self._tangents.get(value)
        if tangent is None:
            tangent = self._builder.tensor("zeros_like", value)
            self._tangents[value] = tangent
        return tangent

    def _node(self, node: GraphNode) -> None:
        arguments = self._prepared.arguments.get(node)
        if arguments is not None:
            try:
                self._operator(node, arguments)
            except GraphError as error:
                self._prepared.problem(node, str(error))
            return
        builder = self._builder
        builder.origin = NodeOrigin(node.kind)
        if node.kind in (LIST, TUPLE) and node.output in self._prepared.requires_grad:
            tangents = [self._tangent(value) if value.type.is_tensor else value for value in node.inputs]
            self._tangents[node.output] = builder.node(node.kind, tangents, [node.output.type]).output
        elif node.kind in (LIST_UNPACK, TUPLE_UNPACK) and node.inputs[0] in self._tangents:
            types = [value.type for value in node.outputs]
            parts = builder.node(node.kind, [self._tangents[node.inputs[0]]], types).outputs
            self._tangents.update(zip(node.outputs, parts, strict=True))
        elif node.kind == ADD:
            parts = [self._tangents[value] for value in node.inputs if value in self._tangents]
            self._tangents[node.output] = (
                parts[0] if len(parts) == 1 else builder.node(ADD, parts, [node.output.type]).output
            )
        elif node.kind == "aten::_grad_sum_to_size" and node.inputs[0] in self._tangents:
            inputs = [self._tangents[node.inputs[0]], node.inputs[1]]
            self._tangents[node.output] = builder.node(node.kind, inputs, [node.output.type]).output
        elif node.kind == ZERO:
            self._tangents[node.output] = node.output

    def _operator(self, node: GraphNode, arguments: NodeArguments) -> None:
        function = arguments.function
        base = function.name.base
        if base in LINEAR_IN_LISTS:
            self._linear_in_list(node, arguments)
            return
        info = self._entries.info(function)
        forwards = self._entries.forwards(function)
        if info is None:
            raise GraphError(self._entries.undifferentiable_reason(function))
        if not forwards:
            raise GraphError("it has no forward formula")
        names: dict[str, Item] = dict(arguments.items)
        outputs = output_names(function, node.outputs)
        names.update(outputs)
        self._builder.origin = None
        text = " ".join(forward.formula for forward in forwards)
        ignored = self._entries.ignored(function)
        for argument, value in arguments.values:
            if argument.type.is_tensor_like and value.type.is_tensor:
                names[argument.name + PRIMAL] = value
                if argument.name + TANGENT in text:
                    names[argument.name + TANGENT] = self._tangent(value)
            elif argument.type.is_tensor_like:
                if value in self._prepared.requires_grad and argument.name not in ignored:
                    raise GraphError(f'the tangents of the list "{argument.name}" are not followed')
                names[argument.name + PRIMAL] = names[argument.name + TANGENT] = arguments.items[argument.name]
        for forward in forwards:
            self._formula(node, arguments, forward, names, outputs)

    def _linear_in_list(self, node: GraphNode, arguments: NodeArguments) -> None:
        (_, tensors), *rest = arguments.values
        forwards = self._entries.forwards(arguments.function)
        self._builder.origin = self._entries.origin(arguments.function, forwards[0]) if forwards else None
        operands: list[Item] = [self._tangents[tensors], *(value for _, value in rest)]
        self._tangents[node.output] = self._builder.tensor(arguments.function.name.base, *operands)

    def _formula(
        self,
        node: GraphNode,
        arguments: NodeArguments,
        forward: ForwardDerivative,
        names: dict[str, Item],
        outputs: dict[str, Item],
    ) -> None:
        self._builder.origin = self._entries.origin(arguments.function, forward)
        result = self._lowering.evaluate(parse_formula(forward.formula), names)
        items = result if isinstance(result, list) and len(forward.var_names) > 1 else [result]
        for name, item in zip(forward.var_names, items, strict=True):
            if name == "self":
                name = RESULT
            target = outputs.get(name) if name in outputs else node.outputs[0]
            if isinstance(target, GraphValue) and item is not None:
                self._tangents[target] = self._builder.value(item)
