"""Parse TorchScript's textual form of graphs, with the grammar in ``grammar/graph.lark``."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from derivlint.formula.nodes import MAX_DEPTH
from derivlint.formula.vocabulary import words
from derivlint.grammar import grammar_text
from derivlint.graph.ir import Constant, Graph, GraphBlock, GraphNode, GraphValue
from derivlint.graph.numbers import read_integer
from derivlint.graph.types import TENSOR, GraphError, GraphSyntaxError, GraphType, list_of, tuple_of

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

#: The names used here for TorchScript's types, if different.
SYNONYMS = {"Scalar": "number", "None": "NoneType"}
#: The maximum nesting of blocks, so that code may recurse over them.
MAX_BLOCKS = 50
_BRACKETS = re.compile(r"[()\[\]{}]")
SCALARS = words("Half Float Double BFloat16 ComplexHalf ComplexFloat ComplexDouble Byte Char Short Int Long Bool")


def read_graph(text: str) -> Graph:
    """Parse a graph.

    Raises:
        GraphSyntaxError: the text is not a graph.
        GraphError: a value is used but not defined, or defined twice.
    """
    return _GraphReader().graph(parse("graph", text))


@lru_cache(maxsize=2)
def parser(grammar: str, start: str) -> Lark:
    """Return the Lark parser of a grammar."""
    from lark import Lark

    return Lark(grammar_text(grammar), parser="lalr", start=start, maybe_placeholders=False)


def parse(grammar: str, text: str, start: str = "graph") -> Tree[Token]:
    """Parse a text with a grammar.

    Raises:
        GraphSyntaxError: the text does not match the grammar.
        GraphError: it is nested too deeply for recursion over its tree.
    """
    nested = 0
    for bracket in _BRACKETS.findall(text):
        nested += 1 if bracket in "([{" else -1
        if nested > MAX_DEPTH:
            raise GraphError(f"the text is nested more than {MAX_DEPTH} levels deep")
    from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

    try:
        return parser(grammar, start).parse(text)
    except UnexpectedCharacters as error:
        raise GraphSyntaxError(f'unexpected "{text[error.pos_in_stream or 0]}"', error.line, error.column) from error
    except UnexpectedToken as error:
        if error.token.type == "$END":
            raise _too_early(text) from error
        raise GraphSyntaxError(f'unexpected "{error.token}"', error.line, error.column) from error
    except (UnexpectedEOF, UnexpectedInput) as error:
        raise _too_early(text) from error


def _too_early(text: str) -> GraphSyntaxError:
    return GraphSyntaxError("the text ends too early", text.count("\n") + 1, len(text) - text.rfind("\n"))


def children(tree: Tree[Token]) -> list[Tree[Token]]:
    """The subtrees of a tree."""
    return [child for child in tree.children if not isinstance(child, str)]


def text_of(tree: Tree[Token], place: int = 0) -> str:
    """The text of a token."""
    return str(cast("Any", tree.children)[place])


class _GraphReader:
    def __init__(self) -> None:
        self._values: dict[str, GraphValue] = {}
        self._depth = 0

    def graph(self, tree: Tree[Token]) -> Graph:
        graph = Graph()
        self._fill(graph, [child for child in children(tree) if child.data != "attached"])
        return graph

    def _fill(self, block: GraphBlock, parts: list[Tree[Token]]) -> None:
        parameters, *nodes, outputs = parts
        for declared in children(parameters):
            name, type_ = self._declared(declared)
            self._define(name, block.add_input(type_, name))
        block.nodes.extend(self._node(node) for node in nodes)
        block.outputs = self._uses(outputs)

    def _node(self, tree: Tree[Token]) -> GraphNode:
        node = GraphNode("")
        declarations = []
        for child in tree.children:
            if isinstance(child, str):
                node.kind = str(child)
                node.line = child.line
            elif child.data == "declared":
                declarations.append(self._declared(child))
            elif child.data == "attributes":
                for attribute in children(child):
                    node.attributes[text_of(attribute)] = self._constant(children(attribute)[0])
            elif child.data == "uses":
                node.inputs = self._uses(child)
            else:
                self._depth += 1
                if self._depth > MAX_BLOCKS:
                    raise GraphError(f"more than {MAX_BLOCKS} blocks inside of each other")
                block = GraphBlock()
                self._fill(block, children(child))
                node.blocks.append(block)
                self._depth -= 1
        for name, type_ in declarations:
            self._define(name, node.add_output(type_, name))
        if node.kind == "prim::Constant":
            # booleans are written as 0 and 1
            value = node.attributes.get("value")
            declared = node.outputs[0].type.name if node.outputs else ""
            if declared == "bool" and isinstance(value, int):
                node.attributes["value"] = bool(value)
            elif declared in ("float", "Float", "Double") and isinstance(value, int):
                node.attributes["value"] = float(value)
        return node

    def _define(self, name: str, value: GraphValue) -> None:
        if name in self._values:
            raise GraphError(f'"%{name}" is defined twice')
        self._values[name] = value
        if name.isdigit():
            # a number is not a name: values are renumbered on printing
            value.name = ""

    def _uses(self, tree: Tree[Token]) -> list[GraphValue]:
        values = []
        for token in tree.children:
            name = str(token)[1:]
            value = self._values.get(name)
            if value is None:
                raise GraphError(f'"%{name}" is used but not defined')
            values.append(value)
        return values

    def _declared(self, tree: Tree[Token]) -> tuple[str, GraphType]:
        types = children(tree)
        return text_of(tree)[1:], read_type(types[0]) if types else TENSOR

    def _constant(self, tree: Tree[Token]) -> Constant:
        kind = tree.data
        if kind == "constants":
            return cast("Constant", tuple(self._constant(item) for item in children(tree)))
        if kind == "wrapped":
            return self._constant(children(tree)[0])
        text = text_of(tree)
        if kind == "integer":
            return read_integer(text)
        if kind == "floating":
            return float(text)
        return unquoted(text)


def unquoted(text: str) -> str:
    """Return the value of a string literal.

    Raises:
        GraphError: it has an invalid escape.
    """
    try:
        return str(json.loads(text, strict=False))
    except ValueError as error:
        raise GraphError(f"{text} is not a string") from error


def read_type(tree: Tree[Token]) -> GraphType:
    """Convert a syntax tree to a type."""
    kind = tree.data
    inner = children(tree)
    if kind == "tuple":
        return tuple_of(*map(read_type, inner))
    if kind in ("list", "optional"):
        return GraphType(str(kind), (read_type(inner[0]),))
    name = text_of(tree)
    if name not in SCALARS and name != "Tensor":
        if name == "List" and len(inner) == 1:
            return list_of(read_type(inner[0]))
        return GraphType(SYNONYMS.get(name, name), tuple(read_type(item) for item in inner if item.data in _TYPES))
    return _tensor(None if name == "Tensor" else name, inner, kind == "detailed")


_TYPES = frozenset({"named", "detailed", "tuple", "list", "optional"})


def _tensor(scalar: str | None, details: list[Tree[Token]], detailed: bool) -> GraphType:
    sizes: list[int | None] = []
    strides = requires_grad = device = None
    for detail in details:
        kind = detail.data
        if kind == "size":
            sizes.append(read_integer(text_of(detail)))
        elif kind == "any_size":
            sizes.append(None)
        elif kind == "strides":
            strides = tuple(read_integer(str(token)) for token in detail.children)
        elif kind == "requires_grad":
            requires_grad = text_of(detail) != "0"
        elif kind == "device":
            device = text_of(detail)
    said_no_sizes = not sizes and (requires_grad is not None or device is not None) and strides is None
    shape = tuple(sizes) if detailed and not said_no_sizes else None
    return GraphType("Tensor", (), scalar, shape, requires_grad, strides, device)
