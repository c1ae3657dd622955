"""``derivlint derive``."""

from __future__ import annotations

from typing import Any

import click

from derivlint.api.inputs import MAX_ORDER
from derivlint.cli.shared.help import GroupedCommand
from derivlint.cli.shared.inputs import FallbackPolicy
from derivlint.cli.shared.loading import load_model, warn_of_book
from derivlint.cli.shared.options import rule_names, source_options
from derivlint.cli.shared.terminal import write
from derivlint.project.errors import InputError


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

    Each line of the result names its entries and their lines. Operators without an entry have their derivatives in the
    operator book.
    """
    from derivlint.api.derivation import Differentiator

    if check and mode != "reverse":
        raise InputError("--check needs --mode reverse")
    model = load_model(paths, stdin_filename, no_config, FallbackPolicy.BOOK, **setting_options).model
    differentiator = Differentiator(model)
    graph = differentiator.read(expression)
    derived = differentiator.derivative(graph, wrt, order, mode, same_shape=same_shape)
    warn_of_book(model, differentiator.entries.from_book)
    printers = {"graph": derived.torchscript, "dot": derived.dot, "svg": derived.svg, "text": derived.expression}
    write(printers[output_format](), utf8=True)
    if check:
        write(differentiator.compared(graph, wrt, order) + "\n")
