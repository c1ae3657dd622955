"""Semantics-preserving transformations of graphs, each in linear time."""

from __future__ import annotations

from functools import cache

from derivlint.graph.ir import (
    ADD,
    CONSTANT,
    GRAD_OF,
    LIST,
    LIST_UNPACK,
    TUPLE,
    TUPLE_UNPACK,
    ZERO,
    ConstantKey,
    Graph,
    GraphBlock,
    GraphNode,
    GraphValue,
    constant_key,
)
from derivlint.operators import Book
from derivlint.schema import load_index

#: Nodes that read only the shape or type of a tensor.
METADATA = frozenset({"aten::size", "aten::dim", "aten::numel", "prim::dtype"})
#: The tag of nondeterministic operators.
RANDOM = "nondeterministic_seeded"
#: The kind of nodes that mark the total gradient of a value; they take a second gradient if the value becomes a
#: temporary output.
TOTAL = "derivlint::total"


def is_pure(node: GraphNode) -> bool:
    """Whether the node is deterministic and has no side effects."""
    name = node.kind.rpartition("::")[2]
    return node.kind not in ("prim::Print", TOTAL) and not name.endswith("_") and not _differs_each_time(node, name)


def _differs_each_time(node: GraphNode, name: str) -> bool:
    """Whether an operator is nondeterministic: random, or returning uninitialized memory."""
    is_random = name in _random_names() if node.function is None else RANDOM in node.function.tags
    return is_random or name in Book.by_hand("uninitialized")


@cache
def _random_names() -> frozenset[str]:
    """The names of random operators, for unresolved nodes."""
    names = (function.name.name_without_overload for function in load_index().written if RANDOM in function.tags)
    return frozenset(names)


def eliminate_dead_code(block: GraphBlock) -> None:
    """Remove nodes whose outputs are unused, and unused outputs of linear blocks."""
    live = set(block.outputs)
    _sweep(block, live)


def _sweep(block: GraphBlock, live: set[GraphValue]) -> None:
    live_nodes: list[GraphNode] = []
    for node in reversed(block.nodes):
        used = [value in live for value in node.outputs]
        if not any(used) and (node.outputs or not node.blocks) and is_removable(node):
            continue
        if node.blocks and not all(used):
            for inner in node.blocks:
                inner.outputs = [value for value, keep in zip(inner.outputs, used, strict=True) if keep]
            node.outputs = [value for value, keep in zip(node.outputs, used, strict=True) if keep]
        for inner in node.blocks:
            live.update(inner.outputs)
            _sweep(inner, live)
        live.update(node.inputs)
        live_nodes.append(node)
    live_nodes.reverse()
    block.nodes = live_nodes


def is_removable(node: GraphNode) -> bool:
    """Whether the node has no side effects, so that it may be removed if its outputs are unused."""
    return node.kind != "prim::Print" and not node.kind.endswith("_")


def eliminate_common_subexpressions(block: GraphBlock) -> None:
    """Merge equal nodes within each block and its nested blocks."""
    _Subexpressions().run(block)


class _Subexpressions:
    def __init__(self) -> None:
        self._same: dict[GraphValue, GraphValue] = {}
        self._tables: list[dict[object, GraphNode]] = []

    def run(self, block: GraphBlock) -> None:
        """Process one block; the tables of outer blocks are on the stack."""
        table: dict[object, GraphNode] = {}
        self._tables.append(table)
        unique = []
        for node in block.nodes:
            node.inputs = [self._same.get(value, value) for value in node.inputs]
            if node.blocks or not is_pure(node):
                for inner in node.blocks:
                    self.run(inner)
                unique.append(node)
                continue
            key = _key(node)
            earlier = next((table[key] for table in self._tables if key in table), None)
            if earlier is None:
                table[key] = node
                unique.append(node)
            else:
                self._same.update(zip(node.outputs, earlier.outputs, strict=True))
        block.nodes = unique
        block.outputs = [self._same.get(value, value) for value in block.outputs]
        self._tables.pop()


def _key(node: GraphNode) -> object:
    attributes = tuple((name, constant_key(value)) for name, value in node.attributes.items())
    overload = None if node.function is None else str(node.function.name)
    kind = str(node.outputs[0].type) if node.kind == CONSTANT else ""
    return (node.kind, overload, kind, attributes, tuple(map(id, node.inputs)), len(node.outputs))


def move_constants(block: GraphBlock) -> None:
    """Deduplicate constants and move them before their uses."""
    pool: dict[ConstantKey, GraphNode] = {}
    same: dict[GraphValue, GraphValue] = {}
    _collect(block, pool, same)
    for node in block.walk():
        node.inputs = [same.get(value, value) for value in node.inputs]
        for inner in node.blocks:
            inner.outputs = [same.get(value, value) for value in inner.outputs]
    block.outputs = [same.get(value, value) for value in block.outputs]
    block.nodes[:0] = pool.values()


def _collect(block: GraphBlock, pool: dict[ConstantKey, GraphNode], same: dict[GraphValue, GraphValue]) -> None:
    nodes = []
    for node in block.nodes:
        if node.kind == CONSTANT:
            key = (str(node.output.type), constant_key(node.attributes.get("value"))[1])
            same[node.output] = pool.setdefault(key, node).output
            continue
        for inner in node.blocks:
            _collect(inner, pool, same)
        nodes.append(node)
    block.nodes = nodes


def inline_linear_blocks(block: GraphBlock) -> None:
    """Inline linear blocks, whose nodes then also run for zero gradients."""
    same: dict[GraphValue, GraphValue] = {}
    block.nodes = list(_inlined(block, same))
    block.outputs = [_final(value, same) for value in block.outputs]


def _inlined(block: GraphBlock, same: dict[GraphValue, GraphValue]) -> list[GraphNode]:
    nodes: list[GraphNode] = []
    for node in block.nodes:
        node.inputs = [_final(value, same) for value in node.inputs]
        if node.kind != GRAD_OF:
            for inner in node.blocks:
                inner.nodes = _inlined(inner, same)
                inner.outputs = [_final(value, same) for value in inner.outputs]
            nodes.append(node)
            continue
        (body,) = node.blocks
        nodes.extend(_inlined(body, same))
        for outer, inside in zip(node.outputs, body.outputs, strict=True):
            same[outer] = _final(inside, same)
    return nodes


def _final(value: GraphValue, same: dict[GraphValue, GraphValue]) -> GraphValue:
    return same.get(value, value)


def simplify(block: GraphBlock) -> None:
    """Remove zeros from sums and linear blocks, and unpack nodes of constructed lists and tuples.

    Linear blocks are removed only if their gradients are known to be zero.
    """
    same: dict[GraphValue, GraphValue] = {}
    _simplified(block, same)


def _simplified(block: GraphBlock, same: dict[GraphValue, GraphValue]) -> None:
    nodes = []
    for node in block.nodes:
        node.inputs = [_final(value, same) for value in node.inputs]
        if _is_gone(node, same):
            continue
        for inner in node.blocks:
            _simplified(inner, same)
        nodes.append(node)
    block.nodes = nodes
    block.outputs = [_final(value, same) for value in block.outputs]


def _is_gone(node: GraphNode, same: dict[GraphValue, GraphValue]) -> bool:
    if node.kind == ADD:
        left, right = node.inputs
        if is_zero(left) or is_zero(right):
            same[node.output] = right if is_zero(left) else left
            return True
    elif node.kind == GRAD_OF and node.inputs and all(map(is_zero, node.inputs)):
        same.update((value, node.inputs[0]) for value in node.outputs)
        return True
    elif node.kind in (TUPLE_UNPACK, LIST_UNPACK):
        made = node.inputs[0].node
        constructor = TUPLE if node.kind == TUPLE_UNPACK else LIST
        if made is not None and made.kind == constructor and len(made.inputs) == len(node.outputs):
            same.update(zip(node.outputs, made.inputs, strict=True))
            return True
    return False


def is_zero(value: GraphValue) -> bool:
    """Whether the value is a gradient that is known to be zero."""
    return value.node is not None and value.node.kind == ZERO


def drop_sum_to_size(graph: Graph) -> None:
    """Drop sums over broadcast dimensions, assuming that no operator broadcasts."""
    same: dict[GraphValue, GraphValue] = {}

    def run(block: GraphBlock) -> None:
        nodes = []
        for node in block.nodes:
            node.inputs = [_final(value, same) for value in node.inputs]
            if node.kind == "aten::_grad_sum_to_size":
                same[node.output] = node.inputs[0]
                continue
            for inner in node.blocks:
                run(inner)
            nodes.append(node)
        block.nodes = nodes
        block.outputs = [_final(value, same) for value in block.outputs]

    run(graph)


def optimize(graph: GraphBlock) -> None:
    """Run all passes that shrink a graph; linear blocks stay."""
    simplify(graph)
    move_constants(graph)
    eliminate_common_subexpressions(graph)
    eliminate_dead_code(graph)
