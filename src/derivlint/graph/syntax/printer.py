"""Print graphs in TorchScript's textual form."""

from __future__ import annotations

import json
import math

from derivlint.graph.ir import Constant, Graph, GraphBlock, GraphNode, GraphValue, unique_names

INDENT = "  "


def print_graph(graph: Graph, *, origins: bool = False) -> str:
    """Print a graph in TorchScript's textual form.

    Args:
        graph: the graph.
        origins: whether to append the entry and line of each node as a comment.
    """
    return _Printer(unique_names(graph), origins).graph(graph)


def constant_text(value: Constant) -> str:
    """Format a constant as an attribute."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(constant_text, value))}]"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        if math.isinf(value) or math.isnan(value):
            return str(value)
        text = repr(value)
        return text[:-1] if text.endswith(".0") else text
    if isinstance(value, str):
        return json.dumps(value)
    return str(value)


class _Printer:
    def __init__(self, names: dict[GraphValue, str], origins: bool) -> None:
        self._names = names
        self._origins = origins
        self._lines: list[str] = []

    def graph(self, graph: Graph) -> str:
        parameters = (",\n" + " " * len("graph(")).join(map(self._declared, graph.inputs))
        self._lines.append(f"graph({parameters}):")
        self._nodes(graph, INDENT)
        self._lines.append(f"{INDENT}return ({self._used(graph.outputs)})")
        return "\n".join(self._lines) + "\n"

    def _declared(self, value: GraphValue) -> str:
        return f"%{self._names[value]} : {value.type}"

    def _used(self, values: list[GraphValue]) -> str:
        return ", ".join(f"%{self._names[value]}" for value in values)

    def _nodes(self, block: GraphBlock, indent: str) -> None:
        for node in block.nodes:
            self._node(node, indent)

    def _node(self, node: GraphNode, indent: str) -> None:
        defined = ", ".join(map(self._declared, node.outputs))
        attributes = ""
        if node.attributes:
            attributes = ", ".join(f"{name}={constant_text(value)}" for name, value in node.attributes.items())
            attributes = f"[{attributes}]"
        comment = f" # {node.origin}" if self._origins and node.origin is not None else ""
        self._lines.append(f"{indent}{defined} = {node.kind}{attributes}({self._used(node.inputs)}){comment}")
        for number, block in enumerate(node.blocks):
            self._lines.append(f"{indent}{INDENT}block{number}({', '.join(map(self._declared, block.inputs))}):")
            self._nodes(block, indent + INDENT * 2)
            self._lines.append(f"{indent}{INDENT * 2}-> ({self._used(block.outputs)})")
