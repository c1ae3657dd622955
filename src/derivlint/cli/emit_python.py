"""``derivlint emit python``: a Python module with the Functions of a derivatives file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from derivlint.cli.exits import CLEAN, FINDINGS, tell
from derivlint.cli.loading import known_operators, load_model, refuse_errors
from derivlint.cli.options import emission_options, source_options
from derivlint.cli.terminal import write
from derivlint.lint.wording import counted
from derivlint.project.errors import InputError
from derivlint.source import replace_file


@click.command(short_help="Write a Python module with a torch.autograd.Function for every entry.")
@source_options
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file to write.")
@click.option(
    "--register",
    is_flag=True,
    help="Define the operators that are not PyTorch's in torch.library, and register the gradients of their entries.",
)
@emission_options
def python(
    paths: tuple[str, ...],
    out: Path,
    ops: tuple[str, ...],
    register: bool,
    ignore: tuple[str, ...],
    force: bool,
    check: bool,
    color: str,
    no_config: bool,
    stdin_filename: str | None,
    **given: Any,
) -> None:
    """Write a Python module: a Function for every entry, and a function with the signature of the operator.

    Errors in the file, or with --ops in the entries of those operators, are printed; then nothing is written, and the
    exit status is 1. Entries that cannot be said in Python are named with the reason.

    The module needs torch and derivlint.functional. NAMES of operators are base names (add), names of functions (add_)
    or names with an overload (add.Tensor).
    """
    from derivlint.emit.python.module import python_module

    exit_with = click.get_current_context().exit
    loaded = load_model(paths, stdin_filename, no_config, ignore=ignore, **given)
    operators = known_operators(loaded.model, ops)
    if not force:
        refuse_errors(loaded, operators, color)
    module = python_module(loaded.model, operators, register=register)
    data = module.text.encode()
    try:
        is_stale = not out.exists() or out.read_bytes() != data
        if check:
            if is_stale:
                tell(f"{out} is stale")
            exit_with(FINDINGS if is_stale else CLEAN)
        if is_stale:
            out.parent.mkdir(parents=True, exist_ok=True)
            replace_file(out, data)
    except OSError as error:
        raise InputError(f'cannot write "{out}": {error.strerror or error}') from error
    for name, reason in module.left_out.items():
        tell(f"{name} is left out: {reason}")
    left_out = f", {len(module.left_out):,} left out" if module.left_out else ""
    write(f'{counted(len(module.functions), "operator")}{left_out}: written to "{out}"\n')
