"""``derivlint derive``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from derivlint.cli.shared.help import GroupedCommand
from derivlint.cli.shared.loading import load_model
from derivlint.cli.shared.options import rule_names, source_options
from derivlint.cli.shared.terminal import write
from derivlint.lint.wording import did_you_mean, quoted_list
from derivlint.project.errors import InputError

if TYPE_CHECKING:
    from derivlint.graph.differentiation.entries import Entries
    from derivlint.graph.ir import Graph
    from derivlint.model import Model

#: Higher derivatives grow without bounds.
MAX_ORDER = 6


@click.command(cls=GroupedCommand, short_help="Print the derivative of an expression.")
@click.argument("expression", metavar="EXPR")
@source_options
@click.option(
    "--wrt",
    required=True,
    multiple=True,
    callback=rule_names,
    metavar="NAMES",
    help="Differentiate with respect to these variables.",
)
@click.option(
    "--order", type=click.IntRange(1, MAX_ORDER), default=1, show_default=True, help="Differentiate this many times."
)
@click.option(
    "--mode",
    type=click.Choice(["reverse", "forward"]),
    default="reverse",
    show_default=True,
    help="Use backward formulas (reverse) or forward formulas (forward).",
)
@click.option("--same-shape", is_flag=True, help="Assume operands of one shape: gradients need no summing.")
@click.option("--check", is_flag=True, help="Compare values with the installed PyTorch's derivatives.")
@click.option(
    "--output-format",
    type=click.Choice(["text", "graph", "dot", "svg"]),
    default="text",
    show_default=True,
    help="Write an expression, TorchScript, Graphviz or a picture.",
)
def derive(
    expression: str,
    paths: tuple[str, ...],
    no_config: bool,
    stdin_filename: str | None,
    wrt: tuple[str, ...],
    order: int,
    mode: str,
    same_shape: bool,
    check: bool,
    output_format: str,
    **setting_options: Any,
) -> None:
    """Print the derivative of an expression, composed of the entries' formulas.

    EXPR calls operators, "sigmoid(mul(a, b))", optionally after definitions, "h = mul(a, b); sum(h, [0], True)". C++ as
    in formulas works as well: "a * b.sigmoid()". A text that begins with "graph(" is read as a TorchScript graph.

    Each line of the result names its entries and their lines.
    """
    from derivlint.graph.differentiation.entries import Entries
    from derivlint.graph.types import GraphError

    if check and mode != "reverse":
        raise InputError("--check compares gradients, so that it is for --mode reverse")
    model = load_model(paths, stdin_filename, no_config, **setting_options).model
    entries = Entries(model)
    try:
        graph = _read(expression, entries)
        if not graph.outputs:
            raise InputError("the graph returns nothing that could be differentiated")
        inputs = [value.name for value in graph.inputs]
        for name in wrt:
            if name not in inputs:
                raise InputError(f'the expression has no variable "{name}"; it has {", ".join(inputs) or "none"}')
        derived = _derived(graph, entries, wrt, order, mode, same_shape)
        write(_text(derived, output_format), utf8=True)
        if check:
            from derivlint.graph.checking import compare

            write(compare(graph, entries, wrt, order) + "\n")
    except GraphError as error:
        raise InputError(*_messages(error, model)) from error


def _messages(error: Exception, model: Model) -> tuple[str, ...]:
    from derivlint.graph.types import UndifferentiableError, UnknownOperatorError

    if isinstance(error, UndifferentiableError):
        return error.reasons
    if isinstance(error, UnknownOperatorError):
        question = did_you_mean(error.name, model.natives.operator_names())
        return (f'no operator "{error.name}"' + (f"; {question}" if question else ""),)
    return (str(error),)


def _read(text: str, entries: Entries) -> Graph:
    from derivlint.formula import parse_formula
    from derivlint.graph.lowering import formula_graph, variables_of
    from derivlint.graph.syntax.expression import read_expression
    from derivlint.graph.syntax.reader import read_graph
    from derivlint.graph.types import TENSOR, GraphSyntaxError, UnknownOperatorError

    if text.lstrip().startswith("graph("):
        return read_graph(text)
    try:
        return read_expression(text, entries.operators)
    except (GraphSyntaxError, UnknownOperatorError) as error:
        formula = parse_formula(text)
        # "a.mul(b)" and "at::mul(a, b)" read like calls of operators of those names
        is_name = isinstance(error, UnknownOperatorError) and error.name.isidentifier()
        if formula.problems or is_name:
            raise
        return formula_graph(formula, entries.operators, dict.fromkeys(variables_of(formula), TENSOR))


def _derived(graph: Graph, entries: Entries, wrt: tuple[str, ...], order: int, mode: str, same_shape: bool) -> Graph:
    from derivlint.graph.differentiation.forward import jvp
    from derivlint.graph.differentiation.reverse import differentiate
    from derivlint.graph.passes import drop_sum_to_size, optimize

    for number in range(order):
        if mode == "forward":
            graph = jvp(graph, entries, wrt, suffix="t" * (number + 1))
        else:
            graph = differentiate(graph, entries, wrt).joined()
        if not graph.outputs:
            raise InputError(f"the result does not depend on {quoted_list(wrt)} in a way that has a derivative")
        if same_shape:
            drop_sum_to_size(graph)
            optimize(graph)
    return graph


def _text(graph: Graph, output_format: str) -> str:
    from derivlint.graph.syntax.drawing import dot, svg
    from derivlint.graph.syntax.expression import print_expression
    from derivlint.graph.syntax.printer import print_graph

    if output_format == "graph":
        return print_graph(graph, origins=True)
    if output_format == "dot":
        return dot(graph)
    if output_format == "svg":
        return svg(graph)
    return print_expression(graph, origins=True)
