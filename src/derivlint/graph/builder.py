"""Build nodes: calls of operators with values and constants, and arithmetic on numbers."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from msgspec import Struct

from derivlint.graph.ir import (
    CONSTANT,
    IF,
    LIST,
    TUPLE,
    Constant,
    ConstantKey,
    GraphBlock,
    GraphNode,
    GraphValue,
    NodeOrigin,
    constant_key,
    constant_node,
    constant_of,
    is_constant,
)
from derivlint.graph.operators import GraphOperators, returned_types
from derivlint.graph.types import BOOL, FLOAT, INT, NUMBER, TENSOR, GraphError, GraphType, UnknownOperatorError, list_of
from derivlint.operators.reference.evaluators import COMPARING
from derivlint.schema import Argument


class TensorOptions(Struct, frozen=True):
    """The ``TensorOptions`` of a tensor."""

    of: GraphValue


#: The value of an expression: a graph value, or a constant known while the graph is built. None also denotes an absent
#: tensor.
Item: TypeAlias = "GraphValue | TensorOptions | bool | int | float | str | list[Item] | None"

#: The values of names in schema defaults.
NAMED_DEFAULTS = {"Mean": 1, "Sum": 2, "contiguous_format": 0, "preserve_format": 1, "long": 4}
ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
LOGICAL = {"&&": "logical_and", "||": "logical_or", "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor"}
_STATIC: dict[str, Callable[..., bool | int | float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    **COMPARING,
}


class Builder:
    """Appends nodes to a block.

    Attributes:
        operators: the available operators.
        block: the block to which nodes are appended.
        origin: the origin of new nodes.
    """

    def __init__(self, operators: GraphOperators, block: GraphBlock) -> None:
        self.operators = operators
        self.block = block
        self.origin: NodeOrigin | None = None
        self._constants: dict[ConstantKey, GraphValue] = {}

    @contextmanager
    def inside(self, block: GraphBlock) -> Iterator[GraphBlock]:
        """Append to another block temporarily."""
        saved = self.block, self._constants
        # inner blocks may use constants of outer ones, but not vice versa
        self.block, self._constants = block, dict(self._constants)
        try:
            yield block
        finally:
            self.block, self._constants = saved

    def node(self, kind: str, inputs: Sequence[GraphValue], types: Sequence[GraphType]) -> GraphNode:
        """Append a node."""
        node = GraphNode(kind, list(inputs), origin=self.origin)
        for type_ in types:
            node.add_output(type_)
        self.block.nodes.append(node)
        return node

    def constant(self, value: Constant) -> GraphValue:
        """Return a constant; equal constants share a value."""
        key = constant_key(value)
        value_of_constant = self._constants.get(key)
        if value_of_constant is None:
            node = constant_node(value)
            self.block.nodes.append(node)
            value_of_constant = self._constants[key] = node.output
        return value_of_constant

    def value(self, item: Item, element: GraphType = INT) -> GraphValue:
        """Convert an item to a graph value; ``element`` is the element type of an empty list."""
        if isinstance(item, GraphValue):
            return item
        if isinstance(item, TensorOptions):
            raise GraphError("tensor options are not a value")
        if isinstance(item, list):
            values = [self.value(part) for part in item]
            kinds = {value.type.name for value in values}
            type_ = values[0].type if len(kinds) == 1 else NUMBER if values else element
            if type_.is_tensor:
                type_ = next((value.type for value in values if value.type.is_complex), TENSOR)
            return self.node(LIST, values, [list_of(type_)]).output
        return self.constant(item)

    def tuple_of(self, values: Sequence[GraphValue]) -> GraphValue:
        """Build a tuple."""
        return self.node(TUPLE, values, [GraphType("tuple", tuple(value.type for value in values))]).output

    def call(self, name: str, operands: Sequence[Item], keywords: Mapping[str, Item] | None = None) -> Item:
        """Call an operator.

        Returns:
            The result; a list of several results.

        Raises:
            GraphError: no overload takes such operands.
        """
        groups = [self._operand(item) for item in operands]
        named = {key: self.value(item) for key, item in (keywords or {}).items()}
        values = [value for group in groups for value in group]
        types = [value.type for value in values]
        bound = self.operators.bind(name, types, {key: value.type for key, value in named.items()})
        if bound is None:
            if not self.operators.exists(name):
                raise UnknownOperatorError(f'no operator "{name}"', name)
            raise GraphError(f'no overload of "{name}" takes ({", ".join(map(str, types))})')
        inputs = []
        for argument, place in bound.places:
            if isinstance(place, int):
                inputs.append(values[place])
            elif place is None:
                inputs.append(self.value(default_of(argument)))
            else:
                inputs.append(named[place])
        kinds = returned_types(bound.function, [value.type for value in inputs])
        node = self.node(f"aten::{bound.function.name.name_without_overload}", inputs, kinds)
        node.function = bound.function
        return node.outputs[0] if len(node.outputs) == 1 else list(node.outputs)

    def _operand(self, item: Item) -> list[GraphValue]:
        if isinstance(item, TensorOptions):
            return [self.dtype(item.of), *map(self.constant, (None, None, None))]
        return [self.value(item)]

    def tensor(self, name: str, *operands: Item) -> GraphValue:
        """Call an operator that returns one tensor."""
        result = self.call(name, operands)
        assert isinstance(result, GraphValue)
        return result

    def dtype(self, value: GraphValue) -> GraphValue:
        """Read the scalar type of a tensor."""
        return self.node("prim::dtype", [value], [INT]).output

    def sizes(self, value: GraphValue) -> Item:
        """Read the sizes of a tensor, as constants if its type has them."""
        shape = value.type.static_shape
        if shape is not None:
            return list(shape)
        return self.node("aten::size", [value], [list_of(INT)]).output

    def size(self, sizes: Item, dim: Item) -> Item:
        """Read the size of one dimension."""
        if isinstance(sizes, list) and isinstance(dim, int) and -len(sizes) <= dim < len(sizes):
            return sizes[dim]
        if isinstance(sizes, GraphValue) and sizes.node is not None and sizes.node.kind == "aten::size":
            return self.node("aten::size", [sizes.node.inputs[0], self.value(dim)], [INT]).output
        return self.node("aten::__getitem__", [self.value(sizes), self.value(dim)], [INT]).output

    def rank(self, value: GraphValue) -> Item:
        """Read the number of dimensions."""
        if value.type.shape is not None:
            return len(value.type.shape)
        return self.node("aten::dim", [value], [INT]).output

    def negative(self, item: Item) -> Item:
        """``-x``."""
        if isinstance(item, (int, float)):
            return -item
        value = self.value(item)
        if value.type.is_tensor:
            return self.call("neg", [value])
        return self.node("aten::neg", [value], [value.type]).output

    def negation(self, item: Item) -> Item:
        """``!x``."""
        if not isinstance(item, GraphValue):
            return not item
        if item.type.is_tensor:
            return self.call("logical_not", [item])
        return self.node("aten::__not__", [item], [BOOL]).output

    def binary(self, op: str, left: Item, right: Item) -> Item:
        """``x op y`` for any combination of tensors and numbers.

        Raises:
            GraphError: the operator is not defined for them.
        """
        if not isinstance(left, GraphValue) and not isinstance(right, GraphValue):
            return self._static(op, left, right)
        tensors = [isinstance(item, GraphValue) and item.type.is_tensor for item in (left, right)]
        if not any(tensors):
            return self._numbers(op, left, right)
        if tensors[0]:
            name = ARITHMETIC.get(op) or COMPARISONS.get(op) or LOGICAL.get(op)
            if name is None:
                raise GraphError(f'unknown operator "{op}"')
            return self.call(name, [left, right])
        if op in ("+", "*"):
            return self.call(ARITHMETIC[op], [right, left])
        if op == "-":
            return self.call("rsub", [right, left])
        if op == "/":
            return self.call("mul", [self.call("reciprocal", [right]), left])
        if op in FLIPPED:
            return self.call(COMPARISONS[FLIPPED[op]], [right, left])
        raise GraphError(f'unknown operator "{op}"')

    def _static(self, op: str, left: Item, right: Item) -> Item:
        if op in ("&&", "||"):
            return (bool(left) and bool(right)) if op == "&&" else (bool(left) or bool(right))
        if isinstance(left, (int, float)) and isinstance(right, (int, float)):
            if op == "/":
                if right == 0:
                    raise GraphError("division by zero")
                # C++ integer division truncates
                if isinstance(left, int) and isinstance(right, int):
                    return int(left / right)
                return left / right
            if op in _STATIC:
                return _STATIC[op](left, right)
        if op == "==":
            return left == right
        if op == "!=":
            return left != right
        raise GraphError(f'unknown operator "{op}"')

    def _numbers(self, op: str, left: Item, right: Item) -> Item:
        if op in ("&&", "||"):
            # one side is constant: it decides the result, or is neutral
            for constant, operand in ((left, right), (right, left)):
                if isinstance(constant, bool):
                    return operand if constant == (op == "&&") else constant
            operands = [self.value(left), self.value(right)]
            return self.node("aten::__and__" if op == "&&" else "aten::__or__", operands, [BOOL]).output
        values = [self.value(left), self.value(right)]
        kinds = [value.type for value in values]
        if op in COMPARISONS:
            return self.node(f"aten::{COMPARISONS[op]}", values, [BOOL]).output
        if op not in ARITHMETIC:
            raise GraphError(f'unknown operator "{op}"')
        if kinds == [INT, INT]:
            return self.node("aten::floordiv" if op == "/" else f"aten::{ARITHMETIC[op]}", values, [INT]).output
        type_ = FLOAT if FLOAT in kinds else NUMBER
        return self.node(f"aten::{ARITHMETIC[op]}", values, [type_]).output

    def conditional(self, condition: Item, then: Callable[[], Item], otherwise: Callable[[], Item]) -> Item:
        """``condition ? then : otherwise``; a node with two blocks if the condition is unknown."""
        if not isinstance(condition, GraphValue):
            return then() if condition else otherwise()
        node = GraphNode(IF, [condition], origin=self.origin)
        for branch in (then, otherwise):
            with self.inside(GraphBlock()) as block:
                block.outputs = [self.value(branch())]
            node.blocks.append(block)
        self.block.nodes.append(node)
        return node.add_output(node.blocks[0].outputs[0].type)


def default_of(argument: Argument) -> Item:
    """The default value of an argument.

    Raises:
        GraphError: it has none.
    """
    text = argument.default
    if text is None:
        raise GraphError(f'"{argument.name}" is missing')
    if text in NAMED_DEFAULTS:
        return NAMED_DEFAULTS[text]
    try:
        parsed = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    if isinstance(parsed, (bool, int, float, str)):
        return parsed
    return list(parsed) if isinstance(parsed, (list, tuple)) else None


def item_of(value: GraphValue) -> Item:
    """Convert a graph value to an item: a constant if it is known, a list for a list of tensors."""
    if is_constant(value):
        constant = constant_of(value)
        return list(constant) if isinstance(constant, tuple) else constant
    node = value.node
    if node is not None and node.kind == LIST:
        return [item_of(item) if item.node is not None and item.node.kind == CONSTANT else item for item in node.inputs]
    return value
