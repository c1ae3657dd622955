"""Printing graphs as C++: an expression for a formula, or statements for the body of a kernel."""

from __future__ import annotations

import json
from collections.abc import Mapping

from derivlint.formula.edits import ATOM, COMPARISON, PRODUCT, SUM, UNARY, Text, enclosed
from derivlint.graph.builder import ARITHMETIC, COMPARISONS, default_of, item_of
from derivlint.graph.differentiation.entries import operator_name
from derivlint.graph.differentiation.reverse import SUM_TO_SIZE
from derivlint.graph.ir import ADD, CONSTANT, LIST, LIST_UNPACK, TUPLE_UNPACK, ZERO, Graph, GraphNode, GraphValue
from derivlint.graph.operators import GraphOperators
from derivlint.graph.types import GraphError
from derivlint.schema import Argument, NativeFunction

#: The binary operators of C++, with their precedence.
_BINARY = {name: (sign, SUM if sign in "+-" else PRODUCT) for sign, name in ARITHMETIC.items()}
# of integers only
_BINARY["floordiv"] = ("/", PRODUCT)
_BINARY.update((name, (sign, COMPARISON)) for sign, name in COMPARISONS.items())
ONE = ("1", ATOM)
#: The maximum length of a formula: longer ones are unreadable.
MAX_LENGTH = 2000


class Printer:
    """Prints the values of a graph as C++ expressions."""

    def __init__(self, graph: Graph, operators: GraphOperators, names: Mapping[str, str]) -> None:
        """Prepare a graph for printing.

        Args:
            graph: the graph.
            operators: the operators that it calls.
            names: other names for its inputs.
        """
        self._operators = operators
        self._texts: dict[GraphValue, Text] = {
            value: (names.get(value.name, value.name), ATOM) for value in graph.inputs
        }
        #: sizes, and numbers and lists computed from them
        self._symbolic: set[GraphValue] = set()
        self._uses: dict[GraphValue, int] = {}
        for value in [value for node in graph.walk() for value in node.inputs] + graph.outputs:
            self._uses[value] = self._uses.get(value, 0) + 1
        self._graph = graph

    def expressions(self) -> list[str]:
        """Return each output as one expression.

        Raises:
            GraphError: an output cannot be expressed in C++, or is too long.
        """
        for node in self._graph.nodes:
            self._node(node)
        return [self._bounded(self._texts[value][0]) for value in self._graph.outputs]

    def body(self) -> list[str]:
        """Return the statements of a function that returns the only output; values used twice are variables.

        Raises:
            GraphError: the graph cannot be expressed in C++.
        """
        lines: list[str] = []
        taken = {text for text, _ in self._texts.values()}
        for node in self._graph.nodes:
            self._node(node)
            for output in node.outputs:
                if node.kind in (CONSTANT, LIST) or self._uses.get(output, 0) < 2:
                    continue
                name = next(name for number in range(len(taken) + 1) if (name := f"t{number}") not in taken)
                taken.add(name)
                lines.append(f"const auto {name} = {self._texts[output][0]};")
                self._texts[output] = name, ATOM
        (output,) = self._graph.outputs
        return [*lines, f"return {self._texts[output][0]};"]

    def _bounded(self, text: str) -> str:
        if len(text) > MAX_LENGTH:
            raise GraphError(f"a derived formula has {len(text):,} characters")
        return text

    def _node(self, node: GraphNode) -> None:
        if node.blocks:
            raise GraphError(f'"{node.kind}" cannot be written as a C++ expression')
        if node.kind in (LIST_UNPACK, TUPLE_UNPACK):
            held = enclosed(self._texts[node.inputs[0]], ATOM)
            for place, output in enumerate(node.outputs):
                self._texts[output] = (f"{held}[{place}]" if node.kind == LIST_UNPACK else _item(held, place)), ATOM
            return
        if len(node.outputs) != 1:
            text, _ = self._call(node, operator_name(node))
            self._texts.update((output, (_item(text, place), ATOM)) for place, output in enumerate(node.outputs))
            return
        self._texts[node.output] = self._text(node)
        asks = operator_name(node) in ("size", "numel")
        if asks or (not node.output.type.is_tensor and self._symbolic.intersection(node.inputs)):
            self._symbolic.add(node.output)

    def _text(self, node: GraphNode) -> Text:
        if node.kind == CONSTANT:
            return _constant(node.attributes.get("value"))
        if node.kind == LIST:
            return "{" + ", ".join(self._texts[value][0] for value in node.inputs) + "}", ATOM
        operands = [self._texts[value] for value in node.inputs]
        if node.kind == ADD:
            return self._binary("+", SUM, *operands)
        name = operator_name(node)
        if node.kind == ZERO:
            raise GraphError("a gradient is zero")
        if name == "size":
            method = "sym_sizes()" if len(operands) == 1 else f"sym_size({operands[1][0]})"
            return f"{enclosed(operands[0], ATOM)}.{method}", ATOM
        if name == "numel" and len(operands) == 1:
            return f"{enclosed(operands[0], ATOM)}.sym_numel()", ATOM
        if node.kind == SUM_TO_SIZE:
            return f"at::sum_to({operands[0][0]}, {operands[1][0]})", ATOM
        if node.kind == "prim::dtype":
            return f"{enclosed(operands[0], ATOM)}.scalar_type()", ATOM
        return self._call(node, name)

    def _call(self, node: GraphNode, name: str) -> Text:
        bound = self._operators.bind(
            str(node.function.name) if node.function is not None else name, [value.type for value in node.inputs]
        )
        if bound is None and name == "neg" and len(node.inputs) == 1:
            return f"-{enclosed(self._texts[node.inputs[0]], UNARY)}", UNARY
        if bound is None and name in _BINARY and len(node.inputs) == 2:
            # numbers, which have no operator
            return self._binary(*_BINARY[name], *(self._texts[value] for value in node.inputs))
        if bound is None:
            raise GraphError(f'"{name}" cannot be written as a C++ expression')
        function = bound.function
        base = function.name.base
        passed = [*zip(function.schema.arguments.flat_non_out, node.inputs, strict=False)]
        while passed and _is_default(*passed[-1]):
            passed.pop()
        operands = [self._texts[value] for _, value in passed]
        rest = function.schema.arguments.flat_non_out[len(passed) :]
        last = passed[-1][1].node if passed else None
        if rest and last is not None and last.kind == CONSTANT and last.attributes.get("value") is None:
            # an absent value alone could be ambiguous between overloads
            operands.append(_constant(default_of(rest[0])))
        if base == "neg" and len(operands) == 1:
            text, precedence = operands[0]
            return (
                (text[1:], UNARY)
                if precedence == UNARY and text[0] == "-"
                else (f"-{enclosed(operands[0], UNARY)}", UNARY)
            )
        if base == "pow" and operands[1:] == [ONE]:
            return operands[0]
        if base == "mul" and ONE in operands:
            return operands[operands[0] == ONE]
        if base == "rsub" and len(operands) == 2:
            return self._binary("-", SUM, operands[1], operands[0])
        if len(operands) == 2 and base in _BINARY:
            return self._binary(*_BINARY[base], *operands)
        texts = [text for text, _ in operands]
        if self._symbolic.intersection(node.inputs) and _has_symint(function):
            base += "_symint"
        if "method" in function.variants and passed and passed[0][0].name == "self":
            return f"{enclosed(operands[0], ATOM)}.{base}({', '.join(texts[1:])})", ATOM
        # torchgen rewrites "zeros_like(self)" to a member of the saved value, which cannot be qualified
        namespace = "" if base == "zeros_like" and passed[0][1] in self._graph.inputs else "at::"
        return f"{namespace}{base}({', '.join(texts)})", ATOM

    @staticmethod
    def _binary(sign: str, precedence: int, left: Text, right: Text) -> Text:
        # a right operand of the same precedence needs parentheses
        text, own = right
        if sign == "+" and left == right:
            return f"2 * {enclosed(left, PRODUCT)}", PRODUCT
        if sign == "+" and own == precedence == SUM:
            return f"{left[0]} + {text}", precedence
        if sign == "+" and text.startswith("-"):
            return f"{enclosed(left, precedence)} - {text[1:]}", precedence
        return f"{enclosed(left, precedence)} {sign} {enclosed(right, precedence + 1)}", precedence


def _item(text: str, place: int) -> str:
    """Return one of several results of a call."""
    return f"std::get<{place}>({text})"


def _constant(value: object) -> Text:
    if isinstance(value, bool):
        return str(value).lower(), ATOM
    if value is None:
        return "std::nullopt", ATOM
    if isinstance(value, str):
        return json.dumps(value), ATOM
    if isinstance(value, tuple):
        return "{" + ", ".join(_constant(item)[0] for item in value) + "}", ATOM
    text = repr(value)
    if isinstance(value, float):
        text = text.replace("inf", "INFINITY").replace("nan", "NAN")
    return text, UNARY if text.startswith("-") else ATOM


def _is_default(argument: Argument, value: GraphValue) -> bool:
    if argument.default is None or (value.node is not None and value.node.kind not in (CONSTANT, LIST)):
        return False
    item = item_of(value)
    return not isinstance(item, GraphValue) and item == default_of(argument)


def _has_symint(function: NativeFunction) -> bool:
    return any("SymInt" in str(argument.type) for argument in function.schema.arguments.flat_non_out)
