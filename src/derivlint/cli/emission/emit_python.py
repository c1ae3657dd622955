"""``derivlint emit python``: a Python module with the Functions of a derivatives file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from derivlint.cli.emission.beside import modules_beside, own_release
from derivlint.cli.shared.exits import CLEAN, FINDINGS, warn
from derivlint.cli.shared.help import EmitCommand
from derivlint.cli.shared.loading import (
    known_operators,
    load_model,
    refuse_errors,
    require_all,
    require_destination,
    warn_of_once_differentiable,
)
from derivlint.cli.shared.options import EXISTING, emission_options, source_options
from derivlint.cli.shared.terminal import write
from derivlint.lint.wording import counted
from derivlint.project.errors import InputError
from derivlint.project.untrusted import is_requested
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
    from derivlint.emit.files import FilesError
    from derivlint.emit.python.calls import helper_modules
    from derivlint.emit.python.module import python_module
    from derivlint.emit.single import is_stale, refusal, stamped, write_single

    exit_with = click.get_current_context().exit
    require_destination(out, ops, {"--check": check})
    loaded = load_model(paths, stdin_filename, no_config, ignore=ignore, **setting_options)
    if register and (release := own_release(loaded)):
        # with "installed", PyTorch's own file would be meant where none is named
        named = paths or (loaded.source.path,)
        loaded = load_model(named, stdin_filename, no_config, ignore=ignore, **{**setting_options, **release})
    operators = known_operators(loaded.model, ops)
    refused = {} if allow_errors else refuse_errors(loaded, operators, color, whole=False)
    if register and not helpers and not is_requested():
        helpers = modules_beside(loaded, helper_modules())
    module = python_module(
        loaded.model, operators, register=register, own_helpers=_own_helpers(helpers), refused=refused
    )
    emitted = [item.operator for item in module.functions]
    require_all(loaded.model, operators, emitted, module.left_out)
    if out is None:
        write(module.text + "\n", utf8=True)
        _warn_of_missing(module)
        exit_with(FINDINGS if module.left_out else CLEAN)
        return
    data = stamped(module.text)
    try:
        if check:
            stale = is_stale(out, data)
            if stale:
                warn(f"{out} is stale")
            if reason := refusal(out, data):
                warn(f"it would not be written over: {reason}")
            exit_with(FINDINGS if stale else CLEAN)
        write_single(out, data)
    except FilesError as error:
        raise InputError(*error.messages) from error
    _warn_of_missing(module)
    left_out = f", {len(module.left_out):,} left out" if module.left_out else ""
    write(f'{counted(len(module.functions), "operator")}{left_out}: written to "{visible(str(out))}"\n')
    warn_of_once_differentiable(loaded, emitted)
    exit_with(FINDINGS if refused or (operators is not None and module.left_out) else CLEAN)


def _own_helpers(files: tuple[Path, ...]) -> dict[str, str]:
    """The functions of the author's modules, with the names of these.

    Raises:
        InputError: a file is not a Python module that can be imported.
    """
    from derivlint.emit.python.calls import functions_in
    from derivlint.source import SourceError, SourceFile

    helpers: dict[str, str] = {}
    for file in files:
        if file.suffix != ".py" or not file.stem.isidentifier():
            raise InputError(f'"{file}" cannot be imported: expected a name such as "my_helpers.py"')
        try:
            names = functions_in(SourceFile.read(file).text)
        except SourceError as error:
            raise InputError(str(error)) from error
        except (SyntaxError, ValueError, RecursionError) as error:
            raise InputError(f'"{file}" is not Python: {error}') from error
        helpers |= dict.fromkeys(names, file.stem)
    return helpers


def _warn_of_missing(module: PythonModule) -> None:
    for name, reason in module.left_out.items():
        warn(f"{name} is left out: {reason}")
    for name, reason in module.without_fake.items():
        warn(f"{name} gets no fake kernel, since the formulas do not give the sizes of its outputs: {reason}")
