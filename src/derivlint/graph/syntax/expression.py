"""Parse and print graphs as expressions, with the grammar in ``grammar/graph_expression.lark``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from derivlint.graph.builder import Builder, Item
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
    is_constant,
)
from derivlint.graph.numbers import NUMBERS, number_type, read_integer
from derivlint.graph.operators import GraphOperators
from derivlint.graph.passes import eliminate_dead_code, inline_linear_blocks, simplify
from derivlint.graph.syntax.reader import children, parse, text_of, unquoted
from derivlint.graph.types import INT, TENSOR, GraphError, GraphType, list_of

if TYPE_CHECKING:
    from lark import Token, Tree

WORDS: dict[str, Item] = {"True": True, "False": False, "None": None}
#: Nodes other than operators, by their names in expressions.
SPECIAL = {
    "AutogradAdd": ADD,
    "AutogradZero": ZERO,
    "dtype": "prim::dtype",
    "size": "aten::size",
    "dim": "aten::dim",
    "numel": "aten::numel",
    "_grad_sum_to_size": "aten::_grad_sum_to_size",
}
_RESULTS = {ADD: TENSOR, ZERO: TENSOR, "prim::dtype": INT, "aten::dim": INT, "aten::numel": INT}
#: The function that unpacks a list: ``a, b = ListUnpack(unbind(x, 0))``.
UNPACK = "ListUnpack"
#: The maximum nesting of printed expressions; deeper ones are split into statements.
MAX_PRINTED = 30


def read_expression(
    text: str,
    operators: GraphOperators,
    *,
    inputs: list[str] | None = None,
    types: Mapping[str, GraphType] | None = None,
) -> Graph:
    """Parse an expression; its undefined names are the inputs of the graph, in order of occurrence.

    Args:
        text: the expression, optionally after definitions: ``h = mul(a, b); sigmoid(h)``.
        operators: the operators that it may call.
        inputs: the inputs, to fix their order or to include unused ones.
        types: the types of inputs other than plain tensors.

    Raises:
        GraphSyntaxError: the text is not an expression.
        GraphError: it calls a missing function or passes wrong arguments.
    """
    return _ExpressionReader(operators, types or {}, inputs or []).program(parse("graph_expression", text, "program"))


class _ExpressionReader:
    def __init__(self, operators: GraphOperators, types: Mapping[str, GraphType], inputs: list[str]) -> None:
        self._graph = Graph()
        self._builder = Builder(operators, self._graph)
        self._types = types
        self._names: dict[str, Item] = {}
        for name in inputs:
            self._input(name)

    def _input(self, name: str) -> GraphValue:
        value = self._graph.add_input(self._types.get(name, TENSOR), name)
        self._names[name] = value
        return value

    def program(self, tree: Tree[Token]) -> Graph:
        *definitions, last = children(tree)
        for statement in definitions:
            parts = children(statement)
            if len(parts) != 2:
                raise GraphError('only the last statement gives a result; others define a name, "h = mul(a, b)"')
            self._define(*parts)
        results = children(last)
        if len(results) != 1:
            raise GraphError("the last statement must be an expression")
        for expression in children(results[0]):
            item = self._expression(expression)
            for part in item if isinstance(item, list) and expression.data == "call" else [item]:
                self._graph.outputs.append(self._builder.value(part))
        return self._graph

    def _define(self, targets: Tree[Token], values: Tree[Token]) -> None:
        names = []
        for target in children(targets):
            if target.data != "name":
                raise GraphError('only names come before "="')
            name = text_of(target)
            if name in WORDS or name in self._names:
                raise GraphError(f'"{name}" is defined already')
            names.append(name)
        expressions = children(values)
        if len(expressions) == 1 and expressions[0].data == "call" and text_of(expressions[0]) == UNPACK:
            items = self._unpacked(expressions[0], len(names))
        else:
            items = [self._expression(value) for value in expressions]
        first = items[0]
        results = first if len(items) == 1 and len(names) > 1 and isinstance(first, list) else items
        if len(results) != len(names):
            raise GraphError(f"cannot unpack {len(results)} values into {len(names)} names")
        for name, item in zip(names, results, strict=True):
            if isinstance(item, GraphValue) and not item.name and item.node is not None:
                item.name = name
            self._names[name] = item

    def _unpacked(self, tree: Tree[Token], count: int) -> list[Item]:
        operands = [self._builder.value(self._expression(item)) for item in children(tree)]
        if len(operands) != 1 or not operands[0].type.is_list:
            raise GraphError(f'"{UNPACK}" takes a list')
        return list(self._builder.node(LIST_UNPACK, operands, [operands[0].type.elements[0]] * count).outputs)

    def _expression(self, tree: Tree[Token]) -> Item:
        kind = tree.data
        if kind == "call":
            return self._call(tree)
        if kind in ("list", "tuple"):
            return [self._expression(item) for item in children(tree)]
        text = text_of(tree)
        if kind in ("number", "negative"):
            sign = -1 if kind == "negative" else 1
            if text != "inf" and not text[0].isdigit() and text[0] != ".":
                raise GraphError(f'"-{text}" is not a number')
            return sign * (read_integer(text) if text.isdecimal() else float(text))
        if kind == "string":
            return unquoted(text)
        if text in WORDS:
            return WORDS[text]
        if text in self._names:
            return self._names[text]
        if text in ("inf", "nan"):
            return float(text)
        return self._input(text)

    def _call(self, tree: Tree[Token]) -> Item:
        name = text_of(tree).removeprefix("aten::").removeprefix("prim::")
        operands: list[Item] = []
        keywords: dict[str, Item] = {}
        for argument in children(tree):
            if argument.data == "keyword":
                key = text_of(argument)
                if key in keywords:
                    raise GraphError(f'"{key}" is passed twice')
                keywords[key] = self._expression(children(argument)[0])
            elif keywords:
                raise GraphError(f'an argument of "{name}" comes after keywords')
            else:
                operands.append(self._expression(argument))
        values = [self._builder.value(item) for item in operands]
        if name in SPECIAL and not keywords:
            kind = SPECIAL[name]
            type_ = _RESULTS.get(kind)
            if type_ is None:
                whole = kind == "aten::size" and len(values) == 1
                type_ = list_of(INT) if whole else INT if kind == "aten::size" else TENSOR
            return self._builder.node(kind, values, [type_]).output
        if name in NUMBERS and not keywords and not any(value.type.is_tensor for value in values):
            return self._builder.node(
                f"aten::{name}", values, [number_type(name, [value.type for value in values])]
            ).output
        return self._builder.call(name, values, keywords)


def print_expression(graph: Graph, *, origins: bool = False) -> str:
    """Print a graph as an expression; values that are used more than once are named.

    Args:
        graph: the graph; linear blocks are inlined.
        origins: whether to print the formulas of operators below each line.

    Raises:
        GraphError: it has control flow, which expressions lack.
    """
    flat, _ = copy_graph(graph)
    inline_linear_blocks(flat)
    simplify(flat)
    eliminate_dead_code(flat)
    lines: list[str] = []
    for text, nodes in _ExpressionPrinter(flat).statements():
        lines.append(text)
        if origins:
            notes: dict[str, list[str]] = {}
            for node in nodes:
                if node.origin is not None and node.origin.path:
                    called = notes.setdefault(f"{node.origin}: {' '.join(node.origin.formula.split())}", [])
                    name = node.kind.rpartition("::")[2]
                    if node.kind != LIST and name not in called:
                        called.append(name)
            lines += [f"    # {', '.join(called)} <- {note}" for note, called in notes.items()]
    return "\n".join(lines) + "\n"


class _ExpressionPrinter:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._uses: dict[GraphValue, int] = {}
        self._texts: dict[GraphValue, str] = {}
        self._nodes: dict[GraphValue, list[GraphNode]] = {}
        self._levels: dict[GraphValue, int] = {}
        self._taken: set[str] = set()
        self._counter = 0

    def statements(self) -> list[tuple[str, list[GraphNode]]]:
        graph = self._graph
        for node in graph.walk():
            for value in node.inputs:
                self._uses[value] = self._uses.get(value, 0) + 1
        for value in graph.outputs:
            self._uses[value] = self._uses.get(value, 0) + 1
        self._taken = {value.name for value in graph.inputs} | WORDS.keys()
        for value in graph.inputs:
            self._texts[value] = _identifier(value.name) or self._name("x")
            self._nodes[value] = []
        statements: list[tuple[str, list[GraphNode]]] = []
        for node in graph.nodes:
            statements += self._node(node)
        nodes = [node for value in graph.outputs for node in self._nodes[value]]
        statements.append((", ".join(self._texts[value] for value in graph.outputs), nodes))
        return statements

    def _name(self, stem: str) -> str:
        while True:
            name = f"{stem}{self._counter}"
            self._counter += 1
            if name not in self._taken:
                self._taken.add(name)
                return name

    def _node(self, node: GraphNode) -> list[tuple[str, list[GraphNode]]]:
        if node.blocks:
            raise GraphError(f'"{node.kind}" cannot be written as an expression')
        if node.kind == CONSTANT:
            self._texts[node.output] = _literal(node.attributes.get("value"))
            self._nodes[node.output] = []
            return []
        text = self._text(node)
        if node.kind == LIST and is_constant(node.output):
            self._texts[node.output], self._nodes[node.output] = text, []
            return []
        nodes = [source for value in node.inputs for source in self._nodes[value]] + [node]
        several = len(node.outputs) != 1
        level = max((self._levels.get(value, 0) for value in node.inputs), default=0) + 1
        shared = several or self._uses.get(node.output, 0) != 1 or level >= MAX_PRINTED
        if not shared:
            self._texts[node.output], self._nodes[node.output] = text, nodes
            self._levels[node.output] = level
            return []
        names = [self._fresh(value) for value in node.outputs]
        for value, name in zip(node.outputs, names, strict=True):
            self._texts[value], self._nodes[value] = name, []
        return [(f"{', '.join(names)} = {text};", nodes)]

    def _fresh(self, value: GraphValue) -> str:
        name = _identifier(value.name)
        if name and name not in self._taken:
            self._taken.add(name)
            return name
        return self._name("t")

    def _text(self, node: GraphNode) -> str:
        inputs = [self._texts[value] for value in node.inputs]
        if node.kind in (LIST, TUPLE):
            return f"[{', '.join(inputs)}]" if node.kind == LIST else f"({', '.join(inputs)})"
        if node.kind == TUPLE_UNPACK:
            raise GraphError(f'"{node.kind}" cannot be written as an expression')
        name = node.kind.rpartition("::")[2]
        if node.function is None:
            return f"{name}({', '.join(inputs)})"
        arguments = node.function.schema.arguments
        positional = len(arguments.flat_positional)
        parts = inputs[:positional]
        parts += [
            f"{argument.name}={text}"
            for argument, text in zip(arguments.flat_kwarg_only, inputs[positional:], strict=False)
        ]
        return f"{name}({', '.join(parts)})"


def _identifier(name: str) -> str:
    """Make an identifier of a name in a graph."""
    cleaned = re.sub(r"\W", "_", name)
    return "" if not cleaned or cleaned[0].isdigit() else cleaned


def _literal(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(_literal, value))}]"
    return str(value)
