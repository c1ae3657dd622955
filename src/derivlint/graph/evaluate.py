"""Run graphs with PyTorch, which is imported on first use."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from derivlint.graph.ir import (
    ADD,
    CONSTANT,
    GRAD_OF,
    IF,
    LIST,
    LIST_UNPACK,
    TUPLE,
    TUPLE_UNPACK,
    ZERO,
    Graph,
    GraphBlock,
    GraphNode,
    GraphValue,
)
from derivlint.graph.numbers import NUMBERS
from derivlint.graph.types import GraphError

_DTYPES = (
    *("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"),
    *("complex32", "complex64", "complex128", "bool"),
)


def evaluate(graph: Graph, inputs: Sequence[Any]) -> list[Any]:
    """Evaluate a graph for tensors and numbers; an undefined tensor is None.

    Raises:
        GraphError: a node cannot be run, or the number of inputs is wrong.
    """
    if len(inputs) != len(graph.inputs):
        raise GraphError(f"the graph takes {len(graph.inputs)} inputs, not {len(inputs)}")
    return _GraphRun().run(graph, inputs)


class _GraphRun:
    def __init__(self) -> None:
        self._torch: Any = import_module("torch")
        self._values: dict[GraphValue, Any] = {}

    def run(self, block: GraphBlock, inputs: Sequence[Any]) -> list[Any]:
        self._values.update(zip(block.inputs, inputs, strict=True))
        for node in block.nodes:
            results = self._node(node, [self._values[value] for value in node.inputs])
            self._values.update(zip(node.outputs, results, strict=True))
        return [self._values[value] for value in block.outputs]

    def _node(self, node: GraphNode, inputs: list[Any]) -> Sequence[Any]:
        kind = node.kind
        if kind == CONSTANT:
            value = node.attributes.get("value")
            return [list(value) if isinstance(value, tuple) else value]
        if kind == GRAD_OF:
            # linear block: without gradients, all results are zero
            return [None] * len(node.outputs) if all(item is None for item in inputs) else self.run(node.blocks[0], ())
        if kind == IF:
            return self.run(node.blocks[0 if inputs[0] else 1], ())
        if kind == ZERO:
            return [None]
        if kind == ADD:
            left, right = inputs
            return [_sum(left, right)]
        if kind == LIST:
            return [inputs]
        if kind == TUPLE:
            return [tuple(inputs)]
        if kind in (LIST_UNPACK, TUPLE_UNPACK):
            return [None] * len(node.outputs) if inputs[0] is None else list(inputs[0])
        if kind == "prim::dtype":
            return [self._scalar_type(inputs[0].dtype)]
        return self._operator(node, inputs)

    def _scalar_type(self, dtype: Any) -> int:
        if dtype == self._torch.bfloat16:
            return 15
        return [getattr(self._torch, name, None) for name in _DTYPES].index(dtype)

    def _dtype(self, number: int) -> Any:
        return self._torch.bfloat16 if number == 15 else getattr(self._torch, _DTYPES[number])

    def _operator(self, node: GraphNode, inputs: list[Any]) -> Sequence[Any]:
        name = node.kind.removeprefix("aten::")
        tensors = any(isinstance(item, self._torch.Tensor) for item in inputs)
        if name == "size":
            sizes = list(inputs[0].shape)
            return [sizes if len(inputs) == 1 else sizes[inputs[1]]]
        if name == "dim":
            return [inputs[0].dim()]
        if name == "numel":
            return [inputs[0].numel()]
        if name in NUMBERS and not tensors:
            return [NUMBERS[name](*inputs)]
        if name == "_grad_sum_to_size":
            grad, sizes = inputs
            return [grad if sizes is None or list(grad.shape) == list(sizes) else grad.sum_to_size(sizes)]
        if not node.kind.startswith("aten::"):
            raise GraphError(f'"{node.kind}" cannot be run')
        packet = getattr(self._torch.ops.aten, name, None)
        if packet is None:
            raise GraphError(f'"{node.kind}" cannot be run: PyTorch has no such operator')
        function = node.function
        if function is None:
            result = packet(*inputs)
        else:
            overload = getattr(packet, function.name.overload or "default")
            result = overload(*self._positional(function, inputs), **self._keywords(function, inputs))
        return result if isinstance(result, tuple) and len(node.outputs) != 1 else [result]

    def _positional(self, function: Any, inputs: list[Any]) -> list[Any]:
        arguments = function.schema.arguments.flat_positional
        return [self._given(argument, item) for argument, item in zip(arguments, inputs, strict=False)]

    def _keywords(self, function: Any, inputs: list[Any]) -> dict[str, Any]:
        arguments = function.schema.arguments
        rest = inputs[len(arguments.flat_positional) :]
        return {
            argument.name: self._given(argument, item)
            for argument, item in zip(arguments.flat_kwarg_only, rest, strict=False)
            if item is not None
        }

    def _given(self, argument: Any, item: Any) -> Any:
        if isinstance(item, int) and str(argument.type.base) == "ScalarType":
            return self._dtype(item)
        return item


def _sum(first: Any, second: Any) -> Any:
    """The sum of two possibly undefined gradients; lists are added item by item."""
    if first is None or second is None:
        return second if first is None else first
    if isinstance(first, list):
        return [_sum(*pair) for pair in zip(first, second, strict=True)]
    return first + second
