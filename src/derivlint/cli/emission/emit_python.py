"""``derivlint emit python``: a Python module with the Functions of a derivatives file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from derivlint.cli.shared.exits import CLEAN, FINDINGS, warn
from derivlint.cli.shared.help import EmitCommand
from derivlint.cli.shared.loading import (
    load_model,
    refuse_errors,
    require_destination,
    warn_of_files,
    warn_of_once_differentiable,
)
from derivlint.cli.shared.options import EXISTING, emission_options, source_options
from derivlint.cli.shared.terminal import write
from derivlint.lint.wording import counted
from derivlint.project.loading import require_names
from derivlint.source import visible

if TYPE_CHECKING:
    from derivlint.emit.python.module import PythonModule


@click.command(cls=EmitCommand, short_help="Generate a Python module with autograd Functions.")
@source_options
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file. Without it, print the operators of --ops.",
)
@click.option(
    "--register",
    is_flag=True,
    help="Define the file's own operators in torch.library, with gradients.",
)
@click.option(
    "--helpers",
    multiple=True,
    type=EXISTING,
    help="Import functions that formulas call from this Python file; repeatable.",
)
@emission_options
def python(
    paths: tuple[str, ...],
    out: Path | None,
    ops: tuple[str, ...],
    register: bool,
    helpers: tuple[Path, ...],
    ignore: tuple[str, ...],
    allow_errors: bool,
    check: bool,
    color: str,
    no_config: bool,
    stdin_filename: str | None,
    **setting_options: Any,
) -> None:
    """Generate a Python module: an autograd Function and a wrapper per entry.

    Nothing is written if an entry of --ops, or without --ops an operator of the file's own, has errors; PyTorch's
    operators with errors are omitted. Entries that Python or torch.library cannot express are omitted with the
    reason. A file that derivlint did not write, or that was changed since, is never overwritten.

    The module imports torch and derivlint.functional. NAMES are base names (add), functions (add_) or overloads
    (add.Tensor).

    Exit status: 1 errors, or an operator of --ops is omitted; 2 a file is in the way.
    """
    from derivlint.api.emission import emission_errors, own_modules, python_code
    from derivlint.emit.single import is_stale, refusal, stamped, write_single

    exit_with = click.get_current_context().exit
    require_destination(out, ops, {"--check": check})
    loaded = load_model(paths, stdin_filename, no_config, ignore=ignore, **setting_options)
    modules = own_modules(loaded) if register else ()
    operators = require_names(loaded.model, ops)
    refused = {} if allow_errors else refuse_errors(loaded, operators, color, whole=False)
    if modules and not helpers:
        warn_of_files(modules)
        helpers = modules
    module = python_code(loaded, operators, refused, register=register, helpers=helpers)
    emitted = [item.operator for item in module.functions]
    if out is None:
        write(module.text + "\n", utf8=True)
        _warn_of_missing(module)
        exit_with(FINDINGS if module.left_out else CLEAN)
        return
    data = stamped(module.text)
    with emission_errors():
        if check:
            stale = is_stale(out, data)
            if stale:
                warn(f"{out} is stale")
            if reason := refusal(out, data):
                warn(f"cannot overwrite: {reason}")
            exit_with(FINDINGS if stale else CLEAN)
        write_single(out, data)
    _warn_of_missing(module)
    left_out = f", {len(module.left_out):,} omitted" if module.left_out else ""
    write(f'{counted(len(module.functions), "operator")}{left_out}: written to "{visible(str(out))}"\n')
    warn_of_once_differentiable(loaded, emitted)
    exit_with(FINDINGS if refused or (operators is not None and module.left_out) else CLEAN)


def _warn_of_missing(module: PythonModule) -> None:
    for name, reason in module.left_out.items():
        warn(f"{name} is omitted: {reason}")
    for name, reason in module.without_fake.items():
        warn(f"no fake kernel for {name}: the sizes of its outputs are unknown: {reason}")
