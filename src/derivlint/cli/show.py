"""``derivlint show``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from derivlint.cli import completion
from derivlint.cli.shared.help import GroupedCommand
from derivlint.cli.shared.loading import load_model
from derivlint.cli.shared.options import source_options
from derivlint.cli.shared.terminal import warn, write
from derivlint.project.errors import InputError, user_errors
from derivlint.project.loading import require_names

if TYPE_CHECKING:
    from derivlint.model import Model


@click.command(cls=GroupedCommand, short_help="Print the C++ generated for an operator.")
@click.argument("operator", metavar="OP", shell_complete=completion.operators)
@source_options
def show(
    operator: str, paths: tuple[str, ...], no_config: bool, stdin_filename: str | None, **setting_options: Any
) -> None:
    """Print the C++ generated for an operator: autograd nodes and kernels.

    OP is a base name (add), a function (add_) or an overload (add.Tensor).
    """
    from derivlint.emit.release import UnsupportedRelease

    model = load_model(paths, stdin_filename, no_config, **setting_options).model
    with user_errors(UnsupportedRelease):
        pieces = list(listing(model, operator))
    if not pieces:
        raise InputError(f'no code for "{operator}": no entry applies to this operator')
    write("\n\n".join(pieces) + "\n")


def listing(model: Model, operator: str) -> Iterator[str]:
    """Return the C++ for one operator: the class and functions of each node, then each kernel.

    Functions whose formulas cannot be parsed are omitted, and named on standard error.

    Raises:
        InputError: the operator does not exist, or none of its formulas can be parsed.
    """
    from derivlint.emit.kernels import kernels
    from derivlint.emit.nodes import node_classes
    from derivlint.emit.selection import unreadable_formulas

    candidates = kernels(model, require_names(model, (operator,)), only_with_entry=True)
    reasons = unreadable_formulas(model)
    chosen = [kernel for kernel in candidates if str(kernel.function.name) not in reasons]
    left_out = dict.fromkeys(str(kernel.function.name) for kernel in candidates if kernel not in chosen)
    if left_out and not chosen:
        raise InputError(*(f"{name} cannot be shown: {reasons[name]}" for name in left_out))
    for name in left_out:
        warn(f"{name} is omitted: {reasons[name]}")
    nodes = {kernel.node for kernel in chosen if kernel.node is not None}
    for node in node_classes(model, nodes):
        yield node.listing
    for kernel in chosen:
        yield kernel.listing
