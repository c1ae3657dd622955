"""Graphs of C++ expressions, ``x * at::sigmoid(x)``."""

from __future__ import annotations

from collections.abc import Mapping

from derivlint.formula import Call, Formula, free_names
from derivlint.graph.builder import Builder, Item
from derivlint.graph.ir import Graph
from derivlint.graph.lowering import Lowering
from derivlint.graph.operators import GraphOperators
from derivlint.graph.types import GraphType

#: Names in expressions that are values.
WORDS = frozenset({"true", "false", "nullptr"})


def variables_of(formula: Formula) -> tuple[str, ...]:
    """The variables of an expression, in the order in which they occur; functions that it calls are not among them."""
    callees = {id(node.callee) for node in formula.nodes if isinstance(node, Call)}
    names = (name for name in free_names(formula) if id(name) not in callees)
    return tuple(dict.fromkeys(name.simple for name in names if name.simple is not None and name.simple not in WORDS))


def formula_graph(formula: Formula, operators: GraphOperators, inputs: Mapping[str, GraphType]) -> Graph:
    """The graph of an expression.

    Args:
        formula: the expression.
        operators: the operators that it may call.
        inputs: its variables with their types, in the order that the inputs of the graph have.

    Raises:
        GraphError: it calls something that does not exist or is not known.
    """
    graph = Graph()
    builder = Builder(operators, graph)
    names: dict[str, Item] = {name: graph.add_input(type_, name) for name, type_ in inputs.items()}
    graph.outputs.append(builder.value(Lowering(builder).evaluate(formula, names)))
    return graph
