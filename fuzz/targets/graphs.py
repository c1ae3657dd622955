"""Derivatives of graphs."""

from __future__ import annotations

from functools import cache

from derivlint.graph.differentiation.entries import Entries
from derivlint.graph.differentiation.reverse import differentiate
from derivlint.graph.syntax.expression import print_expression, read_expression
from derivlint.graph.syntax.printer import print_graph
from derivlint.graph.syntax.reader import read_graph
from derivlint.graph.types import GraphError
from derivlint.model import build_model
from derivlint.source import SourceFile
from fuzz.generators import graphs
from fuzz.generators.command_lines import entries_of_graphs
from fuzz.target import Target, require
from fuzz.targets.checking import natives


@cache
def _entries() -> Entries:
    return Entries(build_model(SourceFile("derivatives.yaml", "".join(entries_of_graphs())), natives()))


def derive(data: bytes) -> object:
    """A graph is refused with a reason, or has a derivative that is printed as a graph, and read again."""
    text = data.decode("utf-8", "replace")
    entries = _entries()
    try:
        graph = read_graph(text) if text.lstrip().startswith("graph(") else read_expression(text, entries.operators)
        derived = differentiate(graph, entries, [value.name for value in graph.inputs][:1]).joined()
    except GraphError as error:
        require(bool(str(error).strip()), "a refusal without a reason")
        return str(error)
    printed = print_graph(derived)
    require(print_graph(read_graph(printed)) == printed, "a graph that prints as another one", printed)
    try:
        return print_expression(derived)
    except GraphError as error:
        # an expression has no control flow
        return str(error)


TARGETS = (Target("graph", 500, graphs.graph_bytes, derive),)
