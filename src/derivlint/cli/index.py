"""``derivlint index``: the bundled index of operators."""

from __future__ import annotations

from pathlib import Path

import click

from derivlint.cli.shared.options import EXISTING
from derivlint.cli.shared.terminal import write_names
from derivlint.lint.wording import unknown_name
from derivlint.project.errors import InputError
from derivlint.project.operators import load_operators, operators_for
from derivlint.project.settings import Settings


@click.group(short_help="Show an operator's schema and facts.")
def index() -> None:
    """Look up operators in the bundled index, which replaces native_functions.yaml."""


@index.command(short_help="Print an operator's schema and facts.")
@click.argument("operator")
@click.option(
    "--native-functions",
    multiple=True,
    type=EXISTING,
    help="Read operators from this native_functions.yaml; repeatable.",
)
@click.option("--tags", type=EXISTING, help="Read this tags.yaml.")
@click.option("--torch", metavar="VERSION|installed", help="Use release 2.1 to 2.15 or the installed torch.")
def show(operator: str, native_functions: tuple[Path, ...], tags: Path | None, torch: str | None) -> None:
    """Print the overloads, variants, kernels and relations of OPERATOR, such as add or add.Tensor."""
    from derivlint.formats.rule_page import operator_lines
    from derivlint.schema import describe_operator

    settings = Settings(native_functions=native_functions, tags=tags, torch=torch)
    natives = load_operators(operators_for(Path.cwd(), settings)).natives
    facts = describe_operator(natives, operator)
    if facts is None:
        base = operator.partition(".")[0]
        raise InputError(unknown_name(f'no operator "{operator}"', base, natives.operator_names()))
    write_names(operator_lines(facts))
