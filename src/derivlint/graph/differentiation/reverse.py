"""Reverse mode: differentiate a graph node by node, from its outputs to its inputs.

Has the results of torch/csrc/jit/runtime/autodiff.cpp: ``differentiate``, ``addReverseInline``,
``linearGradientForNode``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from derivlint.formula import Member
from derivlint.graph.builder import Builder, Item
from derivlint.graph.differentiation.entries import Entries, NodeArguments, output_names
from derivlint.graph.differentiation.gradient import Gradient
from derivlint.graph.differentiation.lift import lift
from derivlint.graph.differentiation.prepare import PreparedGraph
from derivlint.graph.ir import (
    ADD,
    GRAD_OF,
    LIST,
    LIST_UNPACK,
    TUPLE,
    TUPLE_UNPACK,
    ZERO,
    Graph,
    GraphBlock,
    GraphNode,
    GraphValue,
    NodeOrigin,
)
from derivlint.graph.lowering import Lowering
from derivlint.graph.passes import TOTAL
from derivlint.graph.types import GraphError, UndifferentiableError, list_of
from derivlint.model import Derivative
from derivlint.operators import Book

#: Operators that never broadcast, so that gradients need no sum.
NEVER_BROADCASTS = Book.by_hand("never-broadcasts")
SUM_TO_SIZE = "aten::_grad_sum_to_size"
_PLAIN = NodeOrigin("sum over uses")


def differentiate(graph: Graph, entries: Entries, wrt: Collection[str] | None = None) -> Gradient:
    """Differentiate a graph; the graph itself is not modified.

    Args:
        graph: the graph. Linear blocks are inlined, so that derivatives can be differentiated again.
        entries: the source of the formulas.
        wrt: the names of the inputs whose gradients to compute; by default those that require one, or all if none
            declares it.

    Raises:
        UndifferentiableError: it has operators without usable formulas; the message lists all of them.
    """
    return _Reverse(PreparedGraph(graph, entries, wrt)).gradient()


class _Reverse:
    def __init__(self, prepared: PreparedGraph) -> None:
        self._prepared = prepared
        self._entries = prepared.entries
        self._block = GraphBlock()
        self._builder = Builder(prepared.entries.operators, self._block)
        self._lowering = Lowering(self._builder)
        self._grads: dict[GraphValue, GraphValue] = {}
        self._totals: dict[GraphValue, GraphNode] = {}

    def gradient(self) -> Gradient:
        prepared = self._prepared
        graph = prepared.graph
        if prepared.problems:
            raise UndifferentiableError(tuple(prepared.problems))
        df_input_vjps = []
        for place, output in enumerate(graph.outputs):
            if output not in prepared.requires_grad:
                continue
            name = "grad" if len(graph.outputs) == 1 else f"grad_{place}"
            self.add(output, self._block.add_input(output.type, name))
            df_input_vjps.append(place)
        for node in reversed(graph.nodes):
            if any(value in self._grads for value in node.outputs) and prepared.requires(node.inputs):
                self._node(node)
        if prepared.problems:
            raise UndifferentiableError(tuple(prepared.problems))
        df_output_vjps = []
        for place, value in enumerate(graph.inputs):
            if value in prepared.requires_grad and value in self._grads:
                self._block.outputs.append(self._grads[value])
                df_output_vjps.append(place)
        return lift(graph, self._block, self._totals, df_input_vjps, df_output_vjps)

    def add(self, value: GraphValue, grad: GraphValue) -> None:
        """Accumulate a gradient of a value."""
        before = self._grads.get(value)
        if before is not None:
            self._builder.origin = _PLAIN
            grad = self._builder.node(ADD, [before, grad], [value.type]).output
        self._grads[value] = grad

    def _grad(self, value: GraphValue) -> GraphValue:
        """The total gradient of a value, or zero; valid after all uses were processed."""
        grad = self._grads.get(value)
        self._builder.origin = None
        if grad is None:
            grad = self._builder.node(ZERO, [], [value.type]).output
        total = self._totals.get(value)
        if total is None:
            total = self._totals[value] = self._builder.node(TOTAL, [grad], [value.type])
        return total.output

    def _node(self, node: GraphNode) -> None:
        if node in self._prepared.arguments:
            try:
                self._operator(node, self._prepared.arguments[node])
            except GraphError as error:
                self._prepared.problem(node, str(error))
            return
        builder = self._builder
        builder.origin = NodeOrigin(node.kind)
        if node.kind == ADD:
            for value in node.inputs:
                if value in self._prepared.requires_grad:
                    self.add(value, self._grad(node.output))
        elif node.kind == SUM_TO_SIZE:
            self._expand(node)
        elif node.kind in (LIST, TUPLE):
            grad = self._grad(node.output)
            kind = LIST_UNPACK if node.kind == LIST else TUPLE_UNPACK
            parts = builder.node(kind, [grad], [value.type for value in node.inputs]).outputs
            for value, part in zip(node.inputs, parts, strict=True):
                if value in self._prepared.requires_grad:
                    self.add(value, part)
        elif node.kind in (LIST_UNPACK, TUPLE_UNPACK):
            self._unpacked(node)

    def _expand(self, node: GraphNode) -> None:
        """Propagate the gradient of a sum over broadcast dimensions."""
        value = node.inputs[0]
        incoming = self._grad(node.output)
        with self._linear(node, [incoming]) as linear:
            builder = self._builder
            builder.origin = NodeOrigin("_grad_sum_to_size", "self")
            grad = builder.call("expand", [incoming, builder.sizes(value)])
            linear.outputs.append((value, builder.value(grad)))

    def _unpacked(self, node: GraphNode) -> None:
        held = node.inputs[0]
        grads = [self._grad(value) for value in node.outputs]
        if node.kind == TUPLE_UNPACK:
            self.add(held, self._builder.tuple_of(grads))
            return
        with self._linear(node, grads) as linear:
            items: list[Item] = []
            for value, grad in zip(node.outputs, grads, strict=True):
                items.append(self._builder.call("zeros_like", [value]) if _is_zero(grad) else grad)
            linear.outputs.append((held, self._builder.value(items)))

    def _linear(self, node: GraphNode, grads: Sequence[GraphValue]) -> _Linear:
        return _Linear(self._builder, node, grads, self)

    def _operator(self, node: GraphNode, arguments: NodeArguments) -> None:
        function = arguments.function
        info = self._entries.info(function)
        if info is None:
            raise GraphError(self._entries.undifferentiable_reason(function))
        targets: dict[str, GraphValue] = {}
        for argument, value in arguments.values:
            if value in self._prepared.requires_grad:
                targets[argument.name] = value
        ignored = self._entries.ignored(function)
        missing = [name for name in targets if name not in ignored]
        grads = [self._grad(value) for value in node.outputs]
        with self._linear(node, [grad for grad in grads if not _is_zero(grad)]) as linear:
            names: dict[str, Item] = dict(arguments.items)
            names.update(output_names(function, node.outputs))
            self._gradient_names(names, node, arguments, grads)
            for derivative in info.derivatives:
                if not targets.keys().isdisjoint(derivative.var_names):
                    linear.outputs += self._formula(arguments, derivative, names, targets)
                    missing = [name for name in missing if name not in derivative.var_names]
            if missing:
                raise GraphError(f'its entry has no formula for "{missing[0]}"')

    def _gradient_names(
        self, names: dict[str, Item], node: GraphNode, arguments: NodeArguments, grads: Sequence[GraphValue]
    ) -> None:
        """Bind ``grad``, ``grads`` and ``grad_<output>``; missing ones are zeros, or None if tested by the formula."""
        function = arguments.function
        info = self._entries.info(function)
        assert info is not None
        asks = any(_asks_whether_defined(derivative) for derivative in info.derivatives)
        self._builder.origin = None
        incoming: list[Item] = []
        flags = self._entries.differentiable_outputs(function, len(grads))
        for value, grad, flag in zip(node.outputs, grads, flags, strict=True):
            if not flag:
                continue
            if not _is_zero(grad):
                incoming.append(grad)
            elif asks or not value.type.is_tensor:
                incoming.append(None)
            else:
                incoming.append(self._builder.call("zeros_like", [value]))
        # the gradient of a list output is a list
        names["grads"] = incoming[0] if len(incoming) == 1 and node.outputs[0].type.is_list else incoming
        names["grad"] = incoming[0] if incoming else None
        differentiable = [item for item, flag in zip(function.schema.returns, flags, strict=False) if flag]
        for item, grad_item in zip(differentiable, incoming, strict=False):
            if item.name is not None:
                names[f"grad_{item.name}"] = grad_item

    def _formula(
        self, arguments: NodeArguments, derivative: Derivative, names: dict[str, Item], targets: dict[str, GraphValue]
    ) -> list[tuple[GraphValue, GraphValue]]:
        function = arguments.function
        self._builder.origin = self._entries.origin(function, derivative)
        formula = derivative.written
        if formula is None:
            raise GraphError("its formula is not written in the file")
        mask: list[Item] = [name in targets for name in derivative.var_names]
        result = self._lowering.evaluate(formula.parsed, {**names, "grad_input_mask": mask})
        is_list = len(derivative.var_names) == 1 and derivative.var_names[0] in targets
        of_list = is_list and targets[derivative.var_names[0]].type.is_list
        results = result if isinstance(result, list) and not of_list else [result]
        if len(results) < len(derivative.var_names):
            count = len(derivative.var_names)
            raise GraphError(f"expected {count} gradients of its formula, found {len(results)}")
        pairs = []
        for name, item in zip(derivative.var_names, results, strict=False):
            if name in targets and item is not None:
                grad = self._builder.value(item)
                pairs.append((targets[name], self._reduced(arguments, targets[name], grad)))
        return pairs

    def _reduced(self, arguments: NodeArguments, value: GraphValue, grad: GraphValue) -> GraphValue:
        """Sum a gradient over the dimensions in which the operator broadcast its input."""
        tensors = [operand for _, operand in arguments.values if operand.type.is_tensor]
        if not value.type.is_tensor or len(tensors) < 2 or arguments.function.name.base in NEVER_BROADCASTS:
            return grad
        shapes = {operand.type.static_shape for operand in tensors}
        if len(shapes) == 1 and None not in shapes:
            return grad
        builder = self._builder
        sizes = builder.value(builder.sizes(value))
        return builder.node(SUM_TO_SIZE, [grad, sizes], [grad.type]).output


def _asks_whether_defined(derivative: Derivative) -> bool:
    """Whether a formula tests for missing gradients: ``grads[1].defined()``."""
    nodes = derivative.written.parsed.nodes if derivative.written is not None else ()
    return any(isinstance(node, Member) and node.name == "defined" for node in nodes)


def _is_zero(value: GraphValue) -> bool:
    """Whether the value with this gradient is unused."""
    node = value.node
    if node is not None and node.kind == TOTAL:
        node = node.inputs[0].node
    return node is not None and node.kind == ZERO


class _Linear:
    """A linear block under construction: its outputs are zero if all incoming gradients are."""

    def __init__(self, builder: Builder, node: GraphNode, grads: Sequence[GraphValue], reverse: _Reverse) -> None:
        self.outputs: list[tuple[GraphValue, GraphValue]] = []
        self._builder = builder
        name = node.kind if node.function is None else f"aten::{node.function.name}"
        self._node = GraphNode(GRAD_OF, list(grads), attributes={"name": name})
        self._reverse = reverse
        self._body = GraphBlock()
        self._inside = builder.inside(self._body)

    def __enter__(self) -> _Linear:
        self._inside.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._inside.__exit__(None, None, None)
        if error[0] is not None:
            return
        self._node.blocks.append(self._body)
        self._builder.block.nodes.append(self._node)
        for value, grad in self.outputs:
            self._body.outputs.append(grad)
            self._node.add_output(list_of(grad.type.elements[0]) if value.type.is_list else grad.type)
        for (value, _), output in zip(self.outputs, self._node.outputs, strict=True):
            self._reverse.add(value, output)
