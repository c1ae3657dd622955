"""``derivlint new``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from derivlint.cli import completion
from derivlint.cli.shared.help import GroupedCommand
from derivlint.cli.shared.inputs import FallbackPolicy
from derivlint.cli.shared.loading import load_model, warn_of_book
from derivlint.cli.shared.options import rule_names, source_options
from derivlint.cli.shared.terminal import CLEAN, FINDINGS, warn, write
from derivlint.lint.wording import counted, quoted_list
from derivlint.project.errors import InputError
from derivlint.project.operators import load_operators, operators_for
from derivlint.project.settings import Settings, SettingsOfFiles
from derivlint.source import visible, write_file

if TYPE_CHECKING:
    from derivlint.authoring.files import NewOperator
    from derivlint.schema import NativeFunctions


@click.command(cls=GroupedCommand, short_help="Write the files of a new operator.")
@click.argument("operator", metavar="OP", shell_complete=completion.operators)
@source_options
@click.option("--schema", default="", help="Declare the operator with this schema; OP is its name.")
@click.option(
    "--forward",
    default="",
    metavar="EXPR",
    help='Derive the formulas from this definition, such as "x * sigmoid(x)".',
)
@click.option("--inline", is_flag=True, help="Write derived gradients into the entry, not as operators.")
@click.option("--complex", "is_complex", is_flag=True, help="Derive gradients that hold for complex numbers.")
@click.option("--same-shape", is_flag=True, help="Assume operands of one shape: nothing is broadcast.")
@click.option(
    "--non-differentiable",
    multiple=True,
    callback=rule_names,
    metavar="NAMES",
    help="Exclude arguments or outputs from differentiation (index and mask always).",
)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Write the files to this folder.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("--verify", is_flag=True, help="Compare derived gradients with the installed PyTorch's.")
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
    """Write the files of a new operator: entry, declarations, skeletons and a test.

    OP is a schema, the name of an existing operator, or a name with --schema or --forward. The variables of --forward
    are tensors.

    From a schema, the entry calls one function per gradient and tangent; FunctionsManual.h declares it and
    FunctionsManual.cpp gets a skeleton. From --forward, formulas are derived from the entries of the operators in EXPR,
    or the operator book if the file has none, and simplified; each gradient becomes an operator with gradients of its
    own, or with --inline part of the entry.

    The files are checked before they are written; without --out they are printed.

    Exit status: 1 the check has findings.
    """
    from derivlint.authoring.files import DERIVATIVES, OperatorRequest, findings, new_operator, numbers
    from derivlint.rules import load_rules

    if (inline or is_complex or same_shape or verify) and not forward:
        raise InputError("--inline, --complex, --same-shape and --verify need --forward")
    request = OperatorRequest(operator, schema, forward, inline, is_complex, same_shape, non_differentiable)
    # only derivatives of an expression are composed from the entries of a file
    model = (
        load_model(paths, stdin_filename, no_config, FallbackPolicy.BOOK, **setting_options).model
        if forward or paths
        else None
    )
    natives = model.natives if model is not None else _operators(SettingsOfFiles(no_config, **setting_options))
    made = new_operator(request, natives, model)
    if model is not None:
        warn_of_book(model, made.from_book)
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
    """Return the operators that apply to a derivatives file in the working folder."""
    folder = Path.cwd()
    return load_operators(operators_for(folder, lookup.of_folder(folder))).natives


def _write(out: Path, made: NewOperator, force: bool) -> None:
    """Write the files, all or none of them.

    Raises:
        InputError: files of these names exist, or cannot be written.
    """
    present = [name for name in made.files if os.path.lexists(out / name)]
    if present and not force:
        raise InputError(f'"{out}" already has {quoted_list(present)}; --force overwrites them')
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in made.files.items():
            write_file(out / name, text.encode())
    except OSError as error:
        raise InputError(f'cannot write to "{out}": {error.strerror or error}') from error
    write(f'{counted(len(made.files), "file")} written to "{visible(str(out))}"; check them there: derivlint check\n')
