"""``derivlint emit``: the C++ that a derivatives file becomes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from derivlint.cli.emission.beside import headers_beside, own_release
from derivlint.cli.emission.emit_python import python
from derivlint.cli.shared.exits import CLEAN, FINDINGS, warn
from derivlint.cli.shared.help import EmitCommand
from derivlint.cli.shared.loading import (
    known_operators,
    load_model,
    print_findings,
    refuse_errors,
    require_all,
    require_destination,
    warn_of_once_differentiable,
    with_all_declared,
)
from derivlint.cli.shared.options import EXISTING, emission_options, source_options
from derivlint.cli.shared.terminal import show_progress, write
from derivlint.lint.wording import counted, did_you_mean
from derivlint.project.errors import InputError
from derivlint.project.untrusted import VARIABLE, is_requested
from derivlint.source import visible

if TYPE_CHECKING:
    from derivlint.emit.emission import Authors, Emission, Helpers
    from derivlint.model import Model
    from derivlint.schema import NativeFunction

IN_TREE_NAMESPACE = "torch::autograd::generated"
DEFAULT_NAMESPACE = "derivlint_generated"
_IN_TREE = 'a build of PyTorch has operators of the namespace "aten" only'
#: The header with PyTorch's helpers, of any release or fork.
FUNCTIONS_MANUAL = "FunctionsManual.h"
#: So many operators that are refused are named.
MAX_NAMED = 10
_NAMESPACE = re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*")


@click.group(short_help="Generate autograd code from a derivatives file.")
def emit() -> None:
    """Generate autograd code from a derivatives file, as C++ or Python."""


emit.add_command(python)


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
@click.option("--namespace", metavar="NAME", help=f"Put the nodes into this namespace. [default: {DEFAULT_NAMESPACE}]")
@click.option("--shards", type=click.IntRange(min=1), help="Divide nodes and kernels into this many files each.")
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
    compile_check: bool,
    compiler: str | None,
    color: str,
    no_config: bool,
    stdin_filename: str | None,
    **setting_options: Any,
) -> None:
    """Generate autograd nodes and kernels in C++.

    Nothing is written if the file, or with --ops an entry of these operators, has errors; they are printed. Files that
    derivlint did not write, or that were changed since, are never overwritten or removed.

    derivlint.runtime.load(DIR) or CMake builds the folder of mode extension. With --key, kernels use the key's
    formulas, else those for all keys, and create PyTorch's own nodes where the formulas are equal.

    NAMES are base names (add), functions (add_) or overloads (add.Tensor).

    Exit status: 1 errors, or an operator of --ops cannot be emitted; 2 a file is in the way.
    """
    from derivlint.emit.emission import EmissionMode, emission
    from derivlint.emit.files import FilesError, changes, write_files
    from derivlint.emit.own_operators import undifferentiable_reason, with_called
    from derivlint.emit.release import UnsupportedRelease, version_warning
    from derivlint.emit.selection import outside_of_aten, unreadable_formulas, unsavable_arguments
    from derivlint.runtime.shipped import shipped_nodes

    exit_with = click.get_current_context().exit
    require_destination(out, ops, {"--check": check, "--compile-check": compile_check})
    in_tree = EmissionMode(mode) is EmissionMode.IN_TREE
    if compile_check and is_requested():
        raise InputError(f"--compile-check compiles formulas, which {VARIABLE} forbids")
    name = _namespace(namespace, in_tree)
    _refuse_in_tree({"--key": key is not None, "--sources": bool(sources)}, in_tree)
    loaded = load_model(paths, stdin_filename, no_config, ignore=ignore, **setting_options)
    if not in_tree and (release := own_release(loaded)):
        # with "installed", PyTorch's own file would be meant where none is named
        paths, setting_options = paths or (loaded.source.path,), setting_options | release
        loaded = load_model(paths, stdin_filename, no_config, ignore=ignore, **setting_options)
    if not (in_tree or helpers or loaded.settings.headers or is_requested()) and (
        more_headers := headers_beside(loaded)
    ):
        loaded = load_model(
            paths, stdin_filename, no_config, ignore=ignore, **{**setting_options, "headers": more_headers}
        )
    model = loaded.model
    operators = known_operators(model, ops)
    operators = operators if in_tree else with_called(model, operators)
    foreign = outside_of_aten(model, operators)
    _refuse_foreign(foreign, in_tree)
    if key is not None:
        _refuse_key(key, model)
    if not allow_errors:
        # an extension is compiled with these headers; what stands in no other is declared nowhere
        is_all = not in_tree and helpers is None and not model.is_of_another_release
        refuse_errors(with_all_declared(loaded) if is_all else loaded, operators, color)
    try:
        own = _helpers(helpers, in_tree)
        left_out = {} if in_tree or own is not None else _left_out(model)
        if not in_tree:
            # a build of PyTorch needs all kernels, and its own generator copies what it cannot read
            left_out |= unsavable_arguments(model) | unreadable_formulas(model)
            left_out |= {
                str(function.name): why
                for function in foreign
                if (why := undifferentiable_reason(function)) is not None
            }
        shipped = shipped_nodes(model) if key is not None else frozenset()
        authors = None if in_tree else _authors(loaded.settings.headers, sources, out or Path())
        emitted = emission(
            model,
            operators,
            name,
            mode=EmissionMode(mode),
            shards=shards,
            helpers=own,
            left_out=left_out,
            python_bindings=not no_python_bindings,
            dispatch_key=key,
            shipped=shipped,
            authors=authors,
        )
        require_all(model, operators, emitted.operators, emitted.left_out)
        if out is None:
            print_files(emitted.files)
            _warn_of_skipped(emitted)
            exit_with(FINDINGS if emitted.left_out else CLEAN)
            return
        if check:
            stale = changes(out, emitted.files)
            for file in stale.stale:
                warn(f"{out / file} is stale")
            for reason in stale.refused:
                warn(f"it would not be written over: {reason}")
            exit_with(FINDINGS if stale or stale.refused else CLEAN)
        done = write_files(out, emitted.files)
    except FilesError as error:
        raise InputError(*error.messages) from error
    except UnsupportedRelease as error:
        raise InputError(str(error)) from error
    if doubt := version_warning(model.natives.version):
        warn(doubt)
    for reason in done.retained.values():
        warn(f"not removed although it is no longer emitted: {reason}")
    _report(emitted, len(done.written), out)
    warn_of_once_differentiable(loaded, emitted.operators)
    if compile_check:
        _compile_check(model, out, compiler, color)
    exit_with(FINDINGS if operators is not None and emitted.left_out else CLEAN)


def _refuse_foreign(foreign: Iterable[NativeFunction], in_tree: bool) -> None:
    """Refuse operators whose kernels C++ is not written for.

    Raises:
        InputError: there are some among the selected operators.
    """
    from derivlint.emit.own_operators import refusal

    refused = [(function, _IN_TREE if in_tree else refusal(function)) for function in foreign]
    without_code = [(function, reason) for function, reason in refused if reason is not None]
    if not without_code:
        return
    named = [f'"{function.namespace}::{function.name}"' for function, _ in without_code[:MAX_NAMED]]
    more = f" and {len(without_code) - MAX_NAMED:,} more" if len(without_code) > MAX_NAMED else ""
    raise InputError(f"no C++ is emitted for {', '.join(named)}{more}: {without_code[0][1]}; leave them out with --ops")


def _namespace(option: str | None, in_tree: bool) -> str:
    name = option or (IN_TREE_NAMESPACE if in_tree else DEFAULT_NAMESPACE)
    if _NAMESPACE.fullmatch(name) is None or not name.isascii():
        raise InputError(f'"{name}" is not a name of a namespace')
    if not in_tree and name.partition("::")[0] in ("torch", "at", "c10", "std"):
        raise InputError(f'an extension cannot be in "{name}", where PyTorch has its own classes')
    return name


def _refuse_in_tree(options: Mapping[str, bool], in_tree: bool) -> None:
    for option, is_given in options.items():
        if is_given and in_tree:
            raise InputError(f"{option} is for extensions; a build of PyTorch has its own")


def _refuse_key(key: str, model: Model) -> None:
    """Refuse a dispatch key that PyTorch has no autograd kernels for.

    Raises:
        InputError: it is none.
    """
    from derivlint.emit.kernels.subject import AUTOGRAD

    keys = (AUTOGRAD, *model.natives.autograd_keys)
    if key not in keys:
        of_backend = f"{AUTOGRAD}{key}"
        question = f'did you mean "{of_backend}"?' if of_backend in keys else did_you_mean(key, keys)
        raise InputError(f'"{key}" is not an autograd key' + (f"; {question}" if question else ""))


def _authors(headers: Iterable[Path], sources: Iterable[Path], out: Path) -> Authors | None:
    """The author's files, by their paths from the output folder, or None."""
    from derivlint.emit.emission import Authors

    def place(path: Path) -> str:
        try:
            return Path(os.path.relpath(path.resolve(), out.resolve())).as_posix()
        except ValueError:
            # it is on another drive
            return path.resolve().as_posix()

    # a FunctionsManual.h is included anyway: PyTorch's, or with --helpers the author's
    own = (path for path in headers if path.name != FUNCTIONS_MANUAL)
    authors = Authors(tuple(map(place, own)), tuple(map(place, sources)))
    return authors if authors.headers or authors.sources else None


def _helpers(path: Path | None, in_tree: bool) -> Helpers | None:
    from derivlint.emit.emission import Helpers

    if path is None:
        return None
    if in_tree:
        raise InputError("--helpers is for extensions; a build of PyTorch has its own")
    return Helpers.read(path)


def _left_out(model: Model) -> dict[str, str]:
    """The operators whose formulas call functions that cannot be called from outside of PyTorch's library.

    Without an installed PyTorch that is unknown; then the build reports missing functions.
    """
    from derivlint.compiler.gxx import torch_includes
    from derivlint.emit.helpers.stubs import declared_helpers, helpers_of, hidden_helpers

    includes = torch_includes()
    if not includes:
        return {}
    library = includes[0].parent / "lib" / "libtorch_cpu.so"
    hidden = hidden_helpers(declared_helpers(model), library if sys.platform == "linux" else None)
    if not hidden:
        return {}
    reasons: dict[str, str] = {}
    by_operator = helpers_of(model, model.entries)
    for entry in model.entries:
        needed = sorted(by_operator.get(entry.operator or "", frozenset()) & hidden)
        if needed:
            for match in model.functions_of(entry):
                reasons[str(match.function.name)] = f"PyTorch's library offers no {', '.join(needed)}"
    return reasons


def print_files(files: Mapping[str, str]) -> None:
    """Print what would be written, each file below its name."""
    write("\n".join(f"==> {visible(name)} <==\n{text}" for name, text in files.items()))


def _warn_of_skipped(emitted: Emission) -> None:
    for name, reason in emitted.left_out.items():
        warn(f"{name} is left out: {reason}")


def _report(emitted: Emission, written: int, out: Path) -> None:
    _warn_of_skipped(emitted)
    left_out = f", {len(emitted.left_out):,} left out" if emitted.left_out else ""
    write(
        f"{counted(len(emitted.operators), 'operator')} and {counted(emitted.nodes, 'node')}{left_out}: "
        f'{written} of {counted(len(emitted.files), "file")} written to "{visible(str(out))}"\n'
    )


def _compile_check(model: Model, out: Path, compiler: str | None, color: str) -> None:
    """Report what the compiler refuses: in formulas at their places, elsewhere as it is."""
    from derivlint.cli.compiled import messages_of
    from derivlint.runtime.build import BuildError, syntax_errors

    try:
        refused = syntax_errors(out.resolve(), compiler=compiler, progress=show_progress)
    except BuildError as error:
        raise InputError(str(error)) from error
    finally:
        show_progress("")
    messages = messages_of(model, [item.output for item in refused])
    print_findings(model, messages.diagnostics, color)
    for line in messages.unplaced:
        warn(line)
    if refused and not messages.diagnostics and not messages.unplaced:
        warn(f"the compiler refuses {refused[0].source}: {refused[0].output.strip()[:200]}")
    if refused:
        click.get_current_context().exit(FINDINGS)
