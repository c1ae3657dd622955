"""``derivlint new``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from derivlint.cli import completing
from derivlint.cli.shared.exits import CLEAN, FINDINGS, warn
from derivlint.cli.shared.help import GroupedCommand
from derivlint.cli.shared.loading import load_model
from derivlint.cli.shared.options import rule_names, source_options
from derivlint.cli.shared.terminal import write
from derivlint.lint.wording import counted, quoted_list
from derivlint.project.errors import InputError
from derivlint.project.operators import load_operators, operators_for
from derivlint.project.settings import Settings, SettingsOfFiles
from derivlint.source import visible, write_file

if TYPE_CHECKING:
    from derivlint.authoring.files import NewOperator
    from derivlint.schema import NativeFunctions


@click.command(cls=GroupedCommand, short_help="Write what a new operator needs.")
@click.argument("operator", metavar="OP", shell_complete=completing.operators)
@source_options
@click.option("--schema", default="", help="The schema, where OP is only a name.")
@click.option(
    "--forward",
    default="",
    metavar="EXPR",
    help='What the operator computes, such as "x * sigmoid(x)": its derivatives are derived.',
)
@click.option("--inline", is_flag=True, help="Write derived gradients into the entry, without an operator for each.")
@click.option("--complex", "is_complex", is_flag=True, help="Derive gradients that hold for complex numbers.")
@click.option("--same-shape", is_flag=True, help="Take all operands to have one shape: nothing is broadcast.")
@click.option(
    "--non-differentiable",
    multiple=True,
    callback=rule_names,
    metavar="NAMES",
    help="Tensors among arguments and outputs that have no gradient; those called index or mask have none anyway.",
)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="The folder to write to.")
@click.option("--force", is_flag=True, help="Write over files that are there.")
@click.option("--verify", is_flag=True, help="Compare derived gradients with PyTorch's own, which has to be installed.")
def new(
    operator: str,
    paths: tuple[str, ...],
    no_config: bool,
    stdin_filename: str | None,
    schema: str,
    forward: str,
    inline: bool,
    is_complex: bool,
    same_shape: bool,
    non_differentiable: tuple[str, ...],
    out: Path | None,
    force: bool,
    verify: bool,
    **setting_options: Any,
) -> None:
    """Write what a new operator needs: its entry, its stanza, declarations, skeletons and a test with OpInfo.

    OP is a schema, a name with --schema, or a name with --forward, whose variables are tensors then. The name of an
    operator that PyTorch has stands for its schema.

    Of a schema alone, the entry calls a function for each gradient and each tangent, which FunctionsManual.h declares
    and FunctionsManual.cpp is to define. With --forward, the formulas are derived from those of the operators that EXPR
    calls (in PATHS, or as every command finds them) and simplified: gradients as operators of their own, which have
    gradients in turn, or written into the entry with --inline.

    Everything is checked before it is written. Without --out it is printed; files that are there are written over only
    with --force. The exit status is 1 where the check finds something.
    """
    from derivlint.authoring.files import DERIVATIVES, Wanted, findings, new_operator, numbers
    from derivlint.rules import load_rules

    if (inline or is_complex or same_shape or verify) and not forward:
        raise InputError("--inline, --complex, --same-shape and --verify are for what --forward derives")
    request = Wanted(operator, schema, forward, inline, is_complex, same_shape, non_differentiable)
    # only the derivatives of an expression are made of those in a file
    model = load_model(paths, stdin_filename, no_config, **setting_options).model if forward or paths else None
    natives = model.natives if model is not None else _operators(SettingsOfFiles(no_config, **setting_options))
    made = new_operator(request, natives, model)
    settings = Settings()
    problems = findings(made, natives, settings, settings.selected(load_rules()))
    for item in problems:
        warn(f"{DERIVATIVES}: {item.severity.value}: {item.message} [{item.rule}]")
    if verify and model is not None:
        warn(numbers(request, model))
    if out is None:
        write("\n".join(f"==> {visible(name)} <==\n{text}" for name, text in made.files.items()), utf8=True)
    else:
        _write(out, made, force)
    click.get_current_context().exit(FINDINGS if problems else CLEAN)


def _operators(lookup: SettingsOfFiles) -> NativeFunctions:
    """The operators that a derivatives file in the working folder would be read against."""
    folder = Path.cwd()
    return load_operators(operators_for(folder, lookup.of_folder(folder))).natives


def _write(out: Path, made: NewOperator, force: bool) -> None:
    """Write the files, all or none of them.

    Raises:
        InputError: there are files of these names, or they cannot be written.
    """
    present = [name for name in made.files if os.path.lexists(out / name)]
    if present and not force:
        raise InputError(f'"{out}" has {quoted_list(present)} already; --force writes over them')
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in made.files.items():
            write_file(out / name, text.encode())
    except OSError as error:
        raise InputError(f'cannot write to "{out}": {error.strerror or error}') from error
    write(f'{counted(len(made.files), "file")} written to "{visible(str(out))}"; check them there: derivlint check\n')
