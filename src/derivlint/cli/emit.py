"""``derivlint emit``: C++ or Python generated from a derivatives file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from derivlint.cli.shared.help import EmitCommand
from derivlint.cli.shared.loading import (
    load_model,
    print_findings,
    refuse_errors,
    require_destination,
    warn_of_files,
    warn_of_once_differentiable,
)
from derivlint.cli.shared.options import EXISTING, emission_options, source_options
from derivlint.cli.shared.terminal import CLEAN, FINDINGS, show_progress, warn, write
from derivlint.lint.wording import counted
from derivlint.project.errors import InputError, user_errors
from derivlint.project.loading import require_names
from derivlint.project.untrusted import VARIABLE, is_requested
from derivlint.source import visible

if TYPE_CHECKING:
    from derivlint.emit.emission import Emission
    from derivlint.emit.python.module import PythonModule
    from derivlint.model import Model


@click.group(short_help="Generate autograd code from a derivatives file.")
def emit() -> None:
    """Generate autograd code from a derivatives file, as C++ or Python."""


@emit.command(cls=EmitCommand, short_help="Generate autograd nodes and kernels in C++.")
@source_options
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write to this folder. Without it, print the operators of --ops.",
)
@click.option(
    "--mode",
    type=click.Choice(["extension", "in-tree"]),
    default="extension",
    show_default=True,
    help="Emit a library for an installed PyTorch (extension) or files of its build.",
)
@click.option("--namespace", metavar="NAME", help="Put the nodes into this namespace. [default: derivlint_generated]")
@click.option("--shards", type=click.IntRange(min=1), help="Put nodes and kernels into at most this many files each.")
@click.option(
    "--no-python-bindings", is_flag=True, help="Omit Python attributes of nodes, such as grad_fn._saved_self."
)
@click.option(
    "--helpers",
    type=EXISTING,
    help="Compile this FunctionsManual.cpp for functions that PyTorch does not export.",
)
@click.option(
    "--key",
    metavar="KEY",
    help="Emit only kernels of this autograd key, such as AutogradPrivateUse1.",
)
@click.option(
    "--sources",
    multiple=True,
    type=EXISTING,
    help="Build this C++ source into the extension; repeatable.",
)
@click.option(
    "--line-directives",
    is_flag=True,
    help="Mark formulas by #line directives, for compilers and debuggers.",
)
@click.option("--strict", is_flag=True, help="With --mode in-tree, write nothing if an entry has errors.")
@click.option("--compile-check", is_flag=True, help="Compile the files and report errors at the formulas.")
@click.option("--compiler", metavar="NAME", help="Use this C++ compiler. [default: $CXX, else g++]")
@emission_options
def cpp(
    paths: tuple[str, ...],
    out: Path | None,
    ops: tuple[str, ...],
    mode: str,
    namespace: str | None,
    shards: int | None,
    no_python_bindings: bool,
    helpers: Path | None,
    key: str | None,
    sources: tuple[Path, ...],
    ignore: tuple[str, ...],
    allow_errors: bool,
    check: bool,
    line_directives: bool,
    strict: bool,
    compile_check: bool,
    compiler: str | None,
    color: str,
    no_config: bool,
    stdin_filename: str | None,
    **setting_options: Any,
) -> None:
    """Generate autograd nodes and kernels in C++.

    Nothing is written if the file, or with --ops an entry of these operators, has errors; they are printed. A build of
    PyTorch needs all operators: with --mode in-tree, errors of entries are printed only, unless --strict is given.
    Files that derivlint did not write, or that were changed since, are never overwritten or removed.

    derivlint.runtime.load(DIR) or CMake builds the folder of mode extension. With --key, kernels use the key's
    formulas, else those for all keys, and create PyTorch's own nodes where the formulas are equal.

    NAMES are base names (add), functions (add_) or overloads (add.Tensor).

    Exit status: 1 errors, or an operator of --ops cannot be emitted; 2 a file is in the way.
    """
    from derivlint.api.emission import (
        CppOptions,
        compiled_view,
        cpp_code,
        cpp_operators,
        emission_errors,
        with_surroundings,
    )
    from derivlint.emit.files import changes, write_files
    from derivlint.emit.release import version_warning

    exit_with = click.get_current_context().exit
    require_destination(out, ops, {"--check": check, "--compile-check": compile_check})
    if compile_check and is_requested():
        raise InputError(f"--compile-check compiles formulas, which {VARIABLE} forbids")
    if compile_check and line_directives:
        raise InputError("--compile-check needs the map of the code, which --line-directives leaves out")
    options = CppOptions(
        mode == "in-tree",
        namespace,
        shards,
        not no_python_bindings,
        helpers,
        key,
        sources,
        out or Path(),
        line_directives,
    )
    options.namespace_of_nodes()
    loaded = load_model(paths, stdin_filename, no_config, ignore=ignore, **setting_options)
    loaded, headers = with_surroundings(loaded, options)
    warn_of_files(headers)
    model = loaded.model
    operators = cpp_operators(model, require_names(model, ops), options)
    if not allow_errors:
        refuse_errors(compiled_view(loaded, options), operators, color, tolerant=options.in_tree and not strict)
    emitted = cpp_code(loaded, operators, options)
    if out is None:
        write("\n".join(f"==> {visible(name)} <==\n{text}" for name, text in emitted.files.items()))
        _warn_of_omitted(emitted.left_out)
        exit_with(FINDINGS if emitted.left_out else CLEAN)
        return
    with emission_errors():
        if check:
            stale = changes(out, emitted.files)
            for file in stale.stale:
                warn(f"{out / file} is stale")
            for reason in stale.refused:
                warn(f"cannot overwrite: {reason}")
            exit_with(FINDINGS if stale or stale.refused else CLEAN)
        done = write_files(out, emitted.files)
    if doubt := version_warning(model.natives.version):
        warn(doubt)
    for reason in done.retained.values():
        warn(f"stale file not removed: {reason}")
    _report(emitted, len(done.written), out)
    warn_of_once_differentiable(loaded, emitted.operators)
    if compile_check:
        _compile_check(model, out, compiler, color)
    exit_with(FINDINGS if operators is not None and emitted.left_out else CLEAN)


def _warn_of_omitted(reasons: Mapping[str, str]) -> None:
    for name, reason in reasons.items():
        warn(f"{name} is omitted: {reason}")


def _report(emitted: Emission, written: int, out: Path) -> None:
    _warn_of_omitted(emitted.left_out)
    left_out = f", {len(emitted.left_out):,} omitted" if emitted.left_out else ""
    write(
        f"{counted(len(emitted.operators), 'operator')} and {counted(emitted.nodes, 'node')}{left_out}: "
        f'{written} of {counted(len(emitted.files), "file")} written to "{visible(str(out))}"\n'
    )


def _compile_check(model: Model, out: Path, compiler: str | None, color: str) -> None:
    """Report compiler errors: those in formulas with their locations in the YAML, others verbatim."""
    from derivlint.cli.compiled import messages_of
    from derivlint.runtime import BuildError
    from derivlint.runtime.syntax import syntax_errors

    try:
        with user_errors(BuildError):
            refused = syntax_errors(out.resolve(), compiler=compiler, progress=show_progress)
    finally:
        show_progress("")
    messages = messages_of(model, [item.output for item in refused])
    print_findings(model, messages.diagnostics, color)
    for line in messages.unplaced:
        warn(line)
    if refused and not messages.diagnostics and not messages.unplaced:
        warn(f"the compiler rejects {refused[0].source}: {refused[0].output.strip()[:200]}")
    if refused:
        click.get_current_context().exit(FINDINGS)


# ---- Python


@emit.command(cls=EmitCommand, short_help="Generate a Python module with autograd Functions.")
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
    _warn_of_omitted(module.left_out)
    for name, reason in module.without_fake.items():
        warn(f"no fake kernel for {name}: the sizes of its outputs are unknown: {reason}")
