"""The intermediate representation: graphs of blocks, nodes and values in static single assignment form.

Values are numbered on printing. Blocks have their nodes in execution order; a value is visible in the block that
defines it and in blocks nested there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from derivlint.graph.types import BOOL, FLOAT, INT, NONE, STR, GraphType, list_of

if TYPE_CHECKING:
    from derivlint.schema import NativeFunction

CONSTANT = "prim::Constant"
LIST = "prim::ListConstruct"
LIST_UNPACK = "prim::ListUnpack"
TUPLE = "prim::TupleConstruct"
TUPLE_UNPACK = "prim::TupleUnpack"
ZERO = "prim::AutogradZero"
ADD = "prim::AutogradAdd"
GRAD_OF = "prim::GradOf"
IF = "prim::If"

#: The values of constants; lists are represented as tuples.
Constant = int | float | bool | str | None | tuple[int, ...] | tuple[float, ...]
ConstantKey = tuple[str, str]


class NodeOrigin(Struct, frozen=True):
    """The formula from which a node was generated.

    Attributes:
        operator: the operator of the entry, with its overload.
        key: the key of the formula, as written; empty without an entry.
        path: the derivatives file; empty without an entry.
        line: the line of the formula in it, from 1.
        formula: the formula's text.
    """

    operator: str
    key: str = ""
    path: str = ""
    line: int = 0
    formula: str = ""

    def __str__(self) -> str:
        if not self.path:
            return f"{self.operator}{' ' if self.key else ''}{self.key}"
        return f"{self.path}:{self.line}: {self.operator}, {self.key}"


class GraphValue(Struct, eq=False):
    """A value that a node defines, or a parameter of a block.

    Attributes:
        type: its type.
        name: its name without the percent sign, or empty.
        node: the node that defines it, or None for a parameter of a block.
    """

    type: GraphType
    name: str = ""
    node: GraphNode | None = None


class GraphNode(Struct, eq=False):
    """An operation.

    Attributes:
        kind: the operator, such as ``aten::mul``.
        inputs: its operands.
        outputs: the values that it defines.
        attributes: ``value`` of constants, ``name`` of linear blocks.
        blocks: the blocks in it.
        function: the overload once resolved, or None.
        origin: the formula from which it was generated, or None for a node of the input graph.
        line: the line in the source text, from 1, or None if it was not parsed.
    """

    kind: str
    inputs: list[GraphValue] = field(default_factory=list)
    outputs: list[GraphValue] = field(default_factory=list)
    attributes: dict[str, Constant] = field(default_factory=dict)
    blocks: list[GraphBlock] = field(default_factory=list)
    function: NativeFunction | None = None
    origin: NodeOrigin | None = None
    line: int | None = None

    @property
    def output(self) -> GraphValue:
        """The only output."""
        (value,) = self.outputs
        return value

    def add_output(self, type_: GraphType, name: str = "") -> GraphValue:
        """Add an output."""
        value = GraphValue(type_, name, self)
        self.outputs.append(value)
        return value


class GraphBlock(Struct, eq=False):
    """A sequence of nodes with parameters and returned values."""

    inputs: list[GraphValue] = field(default_factory=list)
    nodes: list[GraphNode] = field(default_factory=list)
    outputs: list[GraphValue] = field(default_factory=list)

    def add_input(self, type_: GraphType, name: str = "") -> GraphValue:
        """Add a parameter."""
        value = GraphValue(type_, name)
        self.inputs.append(value)
        return value

    def walk(self) -> Iterator[GraphNode]:
        """All nodes in preorder: nodes of nested blocks follow the node that contains them."""
        for node in self.nodes:
            yield node
            for block in node.blocks:
                yield from block.walk()


class Graph(GraphBlock, eq=False):
    """A top-level block."""

    def input(self, name: str) -> GraphValue:
        """The parameter with a name.

        Raises:
            KeyError: there is none.
        """
        for value in self.inputs:
            if value.name == name:
                return value
        raise KeyError(name)


def constant_type(value: Constant) -> GraphType:
    """The type of a constant."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT
    if isinstance(value, float):
        return FLOAT
    if isinstance(value, str):
        return STR
    return list_of(FLOAT if value and isinstance(value[0], float) else INT)


def constant_node(value: Constant) -> GraphNode:
    """Make a node that defines a constant."""
    node = GraphNode(CONSTANT, attributes={} if value is None else {"value": value})
    node.add_output(constant_type(value))
    return node


def constant_key(value: Constant) -> ConstantKey:
    """Return a key that is equal for equal constants; 1 and 1.0 differ, and so do 0.0 and -0.0."""
    return (str(constant_type(value)), repr(value))


def is_constant(value: GraphValue) -> bool:
    """Whether the value is a constant, possibly a list."""
    node = value.node
    return node is not None and (
        node.kind == CONSTANT or (node.kind == LIST and all(is_constant(item) for item in node.inputs))
    )


def constant_of(value: GraphValue) -> Constant:
    """The value of a constant.

    Raises:
        ValueError: it is not a constant.
    """
    node = value.node
    if node is not None and node.kind == CONSTANT:
        return node.attributes.get("value")
    if node is not None and node.kind == LIST:
        items = [constant_of(item) for item in node.inputs]
        if all(isinstance(item, int) for item in items):
            return tuple(item for item in items if isinstance(item, int))
        return tuple(float(item) for item in items if isinstance(item, (int, float)))
    raise ValueError("not a constant")


def clone_into(
    block: GraphBlock, source: GraphBlock, replacements: Mapping[GraphValue, GraphValue]
) -> dict[GraphValue, GraphValue]:
    """Append copies of all nodes of a block to another one.

    Args:
        block: the destination.
        source: the block to copy; its outputs are not added.
        replacements: the values for the source's parameters and for outside values; other outside values are unchanged.

    Returns:
        The new value for each value of the source, including ``replacements``.
    """
    values = dict(replacements)
    for node in source.nodes:
        block.nodes.append(_clone(node, values))
    return values


def _clone(node: GraphNode, values: dict[GraphValue, GraphValue]) -> GraphNode:
    copy = GraphNode(
        node.kind,
        [values.get(value, value) for value in node.inputs],
        attributes=dict(node.attributes),
        function=node.function,
        origin=node.origin,
        line=node.line,
    )
    for inner in node.blocks:
        cloned = GraphBlock()
        for parameter in inner.inputs:
            values[parameter] = cloned.add_input(parameter.type, parameter.name)
        for item in inner.nodes:
            cloned.nodes.append(_clone(item, values))
        cloned.outputs = [values.get(value, value) for value in inner.outputs]
        copy.blocks.append(cloned)
    for value in node.outputs:
        values[value] = copy.add_output(value.type, value.name)
    return copy


def copy_graph(graph: Graph) -> tuple[Graph, dict[GraphValue, GraphValue]]:
    """Copy a graph; return the copy and the new value for each value."""
    copy = Graph()
    values = {value: copy.add_input(value.type, value.name) for value in graph.inputs}
    values = clone_into(copy, graph, values)
    copy.outputs = [values[value] for value in graph.outputs]
    return copy, values


def replace_uses(block: GraphBlock, values: Mapping[GraphValue, GraphValue]) -> None:
    """Replace values in a block and its nested blocks."""
    for node in block.walk():
        node.inputs = [values.get(value, value) for value in node.inputs]
        for inner in node.blocks:
            inner.outputs = [values.get(value, value) for value in inner.outputs]
    block.outputs = [values.get(value, value) for value in block.outputs]


def unique_names(graph: Graph) -> dict[GraphValue, str]:
    """Assign each value of the graph a unique name: its own if free, a number if unnamed."""
    names: dict[GraphValue, str] = {}
    taken: set[str] = set()
    counter = 0
    values = [*graph.inputs]
    for node in graph.walk():
        values.extend(node.outputs)
        for block in node.blocks:
            values.extend(block.inputs)
    for value in values:
        if value.name and value not in names:
            names[value] = _free(value.name, taken)
            taken.add(names[value])
    for value in values:
        if value not in names:
            while str(counter) in taken:
                counter += 1
            names[value] = str(counter)
            counter += 1
    return names


def _free(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    number = 1
    while f"{name}.{number}" in taken:
        number += 1
    return f"{name}.{number}"
