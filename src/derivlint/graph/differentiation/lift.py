"""Lift the reverse block to a separate graph whose inputs are captured values of the forward graph.

Has the results of torch/csrc/jit/runtime/autodiff.cpp: ``lambdaLiftReverse``, ``getReverseCaptures``,
``liftConstants``, ``deduplicateSizeCaptures``.
"""

from __future__ import annotations

from derivlint.graph.differentiation.gradient import Gradient
from derivlint.graph.ir import (
    ADD,
    CONSTANT,
    LIST,
    ConstantKey,
    Graph,
    GraphBlock,
    GraphNode,
    GraphValue,
    clone_into,
    constant_key,
    constant_node,
    is_constant,
    replace_uses,
)
from derivlint.graph.passes import (
    METADATA,
    TOTAL,
    eliminate_dead_code,
    optimize,
)


def lift(
    graph: Graph,
    reverse: GraphBlock,
    totals: dict[GraphValue, GraphNode],
    df_input_vjps: list[int],
    df_output_vjps: list[int],
) -> Gradient:
    """Build the gradient of a graph from its reverse block.

    Args:
        graph: the graph; captured temporaries become additional outputs.
        reverse: the block, whose inputs are gradients of the graph's outputs.
        totals: the ``TOTAL`` node of each value with a requested gradient.
        df_input_vjps: the outputs whose gradients are the block's inputs.
        df_output_vjps: the inputs whose gradients are the block's outputs.
    """
    _use_metadata_of(graph, reverse)
    _own_constants(graph, reverse)
    optimize(reverse)
    _move_metadata(graph, reverse)
    result = Gradient(graph, Graph(), len(graph.outputs), df_input_vjps, df_output_vjps=df_output_vjps)
    outputs: dict[GraphValue, int] = {}
    for place, value in enumerate(graph.outputs):
        outputs.setdefault(value, place)
    inputs = {value: place for place, value in enumerate(graph.inputs)}
    for value in _captures(graph, reverse):
        if value in outputs:
            result.df_input_captured_outputs.append(outputs[value])
        elif value in inputs:
            result.df_input_captured_inputs.append(inputs[value])
        else:
            result.df_input_captured_outputs.append(len(graph.outputs))
            graph.outputs.append(value)
    eliminate_dead_code(graph)
    _complete(graph, reverse, totals, result)
    optimize(reverse)
    replacements = {value: result.df.add_input(value.type, value.name) for value in reverse.inputs}
    for place in result.df_input_captured_inputs:
        value = graph.inputs[place]
        replacements[value] = result.df.add_input(value.type, value.name)
    for place in result.df_input_captured_outputs:
        value = graph.outputs[place]
        replacements[value] = result.df.add_input(value.type, value.name)
    made = clone_into(result.df, reverse, replacements)
    result.df.outputs = [made.get(value, value) for value in reverse.outputs]
    return result


def _use_metadata_of(graph: Graph, reverse: GraphBlock) -> None:
    """Reuse sizes and types that the graph already computes."""
    table: dict[object, GraphValue] = {}
    for node in graph.nodes:
        if node.kind in METADATA:
            table[(node.kind, tuple(map(id, node.inputs)))] = node.output
    same: dict[GraphValue, GraphValue] = {}
    for node in reverse.walk():
        if node.kind in METADATA:
            output = table.get((node.kind, tuple(map(id, node.inputs))))
            if output is not None:
                same[node.output] = output
    replace_uses(reverse, same)


def _own_constants(graph: Graph, reverse: GraphBlock) -> None:
    """Copy constants into the reverse block instead of capturing them."""
    pool: dict[ConstantKey, GraphNode] = {}
    fresh: list[GraphNode] = []
    same: dict[GraphValue, GraphValue] = {}
    for node in graph.nodes:
        if node.kind == CONSTANT:
            value = node.attributes.get("value")
            key = constant_key(value)
            if key not in pool:
                pool[key] = constant_node(value)
                fresh.append(pool[key])
            same[node.output] = pool[key].output
        elif node.kind == LIST and is_constant(node.output):
            copy = GraphNode(LIST, [same[item] for item in node.inputs], origin=node.origin)
            same[node.output] = copy.add_output(node.output.type)
            fresh.append(copy)
    replace_uses(reverse, same)
    reverse.nodes[:0] = fresh


def _move_metadata(graph: Graph, reverse: GraphBlock) -> None:
    """Move sizes and types to the forward graph, so that they are captured instead of the tensors.

    The metadata of tensors that are captured anyway stays in the reverse block.
    """
    defined = _defined(graph)
    needed: set[GraphValue] = set(reverse.outputs)
    for node in reverse.walk():
        if node.kind not in METADATA:
            needed.update(node.inputs)
        for block in node.blocks:
            needed.update(block.outputs)
    moved: dict[object, GraphValue] = {}
    same: dict[GraphValue, GraphValue] = {}

    def run(block: GraphBlock) -> None:
        nodes = []
        for node in block.nodes:
            if node.kind in METADATA and node.inputs[0] in defined and node.inputs[0] not in needed:
                # the operand after the tensor is a dimension, usually a constant
                key = (node.kind, *(_identity(value) for value in node.inputs))
                if key not in moved:
                    moved[key] = _moved(graph, node)
                same[node.output] = moved[key]
                continue
            for inner in node.blocks:
                run(inner)
            nodes.append(node)
        block.nodes = nodes

    run(reverse)
    replace_uses(reverse, same)


def _identity(value: GraphValue) -> object:
    if value.node is not None and value.node.kind == CONSTANT:
        return constant_key(value.node.attributes.get("value"))
    return id(value)


def _moved(graph: Graph, node: GraphNode) -> GraphValue:
    inputs = []
    for value in node.inputs:
        if value.node is not None and value.node.kind == CONSTANT:
            constant = constant_node(value.node.attributes.get("value"))
            graph.nodes.append(constant)
            value = constant.output
        inputs.append(value)
    copy = GraphNode(node.kind, inputs, origin=node.origin)
    graph.nodes.append(copy)
    return copy.add_output(node.output.type)


def _defined(graph: Graph) -> set[GraphValue]:
    values = set(graph.inputs)
    for node in graph.nodes:
        values.update(node.outputs)
    return values


def _captures(graph: Graph, reverse: GraphBlock) -> list[GraphValue]:
    """The captured values, each once, in graph order."""
    used = set(reverse.outputs)
    for node in reverse.walk():
        used.update(node.inputs)
        for block in node.blocks:
            used.update(block.outputs)
    ordered = list(graph.inputs)
    for node in graph.nodes:
        ordered.extend(node.outputs)
    return [value for value in ordered if value in used]


def _complete(graph: Graph, reverse: GraphBlock, totals: dict[GraphValue, GraphNode], result: Gradient) -> None:
    """Add an input for the gradient of each temporary, which is nonzero in second derivatives."""
    for place in range(result.f_real_outputs, len(graph.outputs)):
        value = graph.outputs[place]
        total = totals.get(value)
        if total is not None:
            total.kind = ADD
            total.inputs.insert(0, reverse.add_input(value.type))
            result.df_input_vjps.append(place)
    same: dict[GraphValue, GraphValue] = {}
    nodes = []
    for node in reverse.nodes:
        if node.kind == TOTAL:
            same[node.output] = same.get(node.inputs[0], node.inputs[0])
        else:
            nodes.append(node)
    reverse.nodes = nodes
    replace_uses(reverse, same)
