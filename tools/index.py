"""``python -m tools.index``: builds the bundled tables of PyTorch's releases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from derivlint.cli.checking.run import require_toolchain
from derivlint.cli.shared.options import EXISTING
from derivlint.cli.shared.terminal import show_progress, warn, write
from derivlint.lint.wording import counted
from derivlint.operators.sources import SourceProblem
from derivlint.project.errors import InputError
from derivlint.project.headers import declarations_in, merged
from derivlint.project.operators import INSTALLED, Operators, load_operators, problem_text
from derivlint.source import SourceError, SourceFile, read_input, visible
from tools.bundling import BundleError
from tools.running import ToolGroup, write_atomically

if TYPE_CHECKING:
    from derivlint.operators.extraction import Extraction
    from derivlint.operators.sources import TorchSource
    from derivlint.schema import NativeFunctions


@click.group("index", cls=ToolGroup)
def index_tables() -> None:
    """Build the bundled tables of PyTorch's releases: operators, headers, types and names."""


@index_tables.command(short_help="Write an index.")
@click.option(
    "--native-functions",
    multiple=True,
    type=EXISTING,
    help="Read operators from this native_functions.yaml; repeatable.",
)
@click.option("--tags", type=EXISTING, help="Read this tags.yaml.")
@click.option(
    "--headers", multiple=True, type=EXISTING, help="Include the declarations of this C++ header; repeatable."
)
@click.option("--derivatives", type=EXISTING, help="Include the entries of this derivatives.yaml, for overrides.")
@click.option(
    "--torch",
    metavar="installed|PATH",
    help="Read an installed torch, a wheel (packed or unpacked) or a checkout.",
)
@click.option("--version", "version", help="Record this PyTorch version.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Write the result there.")
def build(
    native_functions: tuple[Path, ...],
    tags: Path | None,
    headers: tuple[Path, ...],
    derivatives: Path | None,
    torch: str | None,
    version: str | None,
    out: Path,
) -> None:
    """Build an index of operators, reproducible to the byte, from a PyTorch or from files.

    The lists in PyTorch's generators are extracted as text; none of its code is run. A list that cannot be read is
    reported on standard error and omitted.
    """
    from derivlint.operators.extraction import Extraction, extract

    source = torch_source(torch) if torch is not None else None
    extraction = Extraction({}, ())
    declared, entries = [], None
    try:
        functions = [SourceFile.read(path) for path in native_functions]
        known_tags = SourceFile.read(tags) if tags is not None else None
        declared = [SourceFile.read(path) for path in headers]
        entries = SourceFile.read(derivatives) if derivatives is not None else None
        if source is not None:
            functions = functions or [source.native_functions]
            known_tags = known_tags or source.tags
            manual = source.functions_manual
            declared = declared or ([manual] if manual is not None else [])
            entries = entries or source.derivatives
            version = version or source.version
            extraction = extract(source.generators)
    except (SourceError, SourceProblem) as error:
        raise InputError(str(error)) from error
    if not functions:
        raise InputError("name a --native-functions file, or use --torch installed")
    if not version:
        raise InputError("name the PyTorch version of the index with --version")
    data, natives = described(functions, known_tags, declared, entries, version, extraction)
    write_atomically(out, data)
    lists = f" and {counted(len(extraction.lists), 'list')} of its generators" if extraction.lists else ""
    write(f"wrote {visible(str(out))}: {counted(len(natives.written), 'operator')}{lists} of PyTorch {version}\n")


def described(
    functions: Sequence[SourceFile],
    tags: SourceFile | None,
    headers: Sequence[SourceFile],
    derivatives: SourceFile | None,
    version: str,
    extraction: Extraction,
) -> tuple[bytes, NativeFunctions]:
    """Return the index of the operators in files, and the operators; warn of unreadable lists of generators.

    Raises:
        InputError: the files have problems, or no native functions.
    """
    from derivlint.schema import build_index, read_native_functions

    natives = read_native_functions(functions, tags=tags)
    if natives.problems:
        raise InputError(problem_text(natives.problems[0]))
    if not natives.written:
        raise InputError(f'no native functions in "{functions[0].path}"')
    for problem in extraction.problems:
        warn(str(problem))
    natives = natives.with_derivatives(_names_with_formulas(derivatives) if derivatives is not None else None)
    natives = natives.with_generator_lists(extraction.lists or None)
    return build_index(natives, version, merged(list(map(declarations_in, headers)))), natives


def torch_source(torch: str) -> TorchSource:
    """Return the PyTorch that ``--torch`` names: ``installed``, or a path.

    Raises:
        InputError: PyTorch is missing there.
    """
    from derivlint.operators.sources import TorchSource, installed_source

    try:
        return installed_source() if torch == INSTALLED else TorchSource(Path(torch))
    except SourceProblem as error:
        raise InputError(str(error)) from error


@index_tables.command(short_help="Write the bundled facts of several releases.")
@click.argument("indexes", nargs=-1, required=True, type=EXISTING)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Write the result there.")
def bundle(indexes: tuple[Path, ...], out: Path) -> None:
    """Bundle the INDEXES of several releases for shipping.

    The operators of all releases go into one file, the generators' lists and derivatives.yaml into records with the
    releases that share them. The index of the default release is rewritten without its lists.
    """
    from tools.bundling import bundled_files

    contents = [_index_content(path) for path in indexes]
    try:
        files = bundled_files(contents)
    except BundleError as error:
        raise InputError(str(error)) from error
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f'cannot write to "{out}": {error.strerror or error}') from error
    for name, data in files.items():
        write_atomically(out / name, data)
        write(f"wrote {visible(str(out / name))}: {len(data):,} bytes\n")


def _index_content(path: Path) -> dict[str, Any]:
    from derivlint.schema import IndexFormatError
    from derivlint.schema.index import index_content

    try:
        return index_content(read_input(path))
    except OSError as error:
        raise InputError(f'cannot read "{path}": {error.strerror or error}') from error
    except IndexFormatError as error:
        raise InputError(f'"{path}": {error}') from error


def _names_with_formulas(source: SourceFile) -> dict[str, list[str]]:
    """Return the arguments and outputs with a formula under any dispatch key, by operator, in file order."""
    from derivlint.model import read_file

    names_by_operator: dict[str, list[str]] = {}
    for entry in read_file(source):
        if entry.operator is not None:
            names = [name.text for body in entry.bodies for formula in body.formulas for name in formula.names]
            names_by_operator[entry.operator] = list(dict.fromkeys(names))
    return names_by_operator


@index_tables.command(short_help="Write the table of relations between C++ types.")
@click.option("--compiler", default="g++", show_default=True, help="Run this compiler.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Write the result there.")
def relations(compiler: str, out: Path) -> None:
    """Tabulate how PyTorch's C++ types convert and which operands operators accept, by compiling.

    Takes two minutes and the headers of an installed torch.
    """
    from derivlint.compiler.gxx import CompilerError
    from tools.type_relations import render_relations, tabulate_relations

    try:
        content = tabulate_relations(require_toolchain(compiler), progress=lambda *done: _show("type relations", *done))
    except CompilerError as error:
        raise InputError(str(error)) from error
    finally:
        show_progress("")
    write_atomically(out, render_relations(content))
    write(f"wrote {visible(str(out))}: relations of {counted(len(content['types']), 'type')}\n")


@index_tables.command(short_help="Write the names that exist in C++ namespaces.")
@click.option("--compiler", default="g++", show_default=True, help="Run this compiler.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Write the result there.")
def names(compiler: str, out: Path) -> None:
    """Tabulate the names in the namespaces of PyTorch and std by compiling, in two minutes."""
    from derivlint.compiler.gxx import CompilerError
    from tools.namespaces import render_names, tabulate_names

    try:
        content = tabulate_names(require_toolchain(compiler), progress=lambda *done: _show("namespaces", *done))
    except CompilerError as error:
        raise InputError(str(error)) from error
    finally:
        show_progress("")
    write_atomically(out, render_names(content))
    total = sum(len(listed.split()) for listed in content["names"].values())
    write(f"wrote {visible(str(out))}: {counted(total, 'name')} of {counted(len(content['names']), 'namespace')}\n")


@index_tables.command(short_help="Write the declarations of PyTorch's C++ classes.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Write the result there.")
def library(out: Path) -> None:
    """Extract declarations from the installed torch's headers and the stub files."""
    from derivlint.cpp.library import render_library
    from derivlint.schema import installed_torch
    from tools.library_sources import read_library

    torch = installed_torch()
    if torch is None or torch.functions_manual is None:
        raise InputError("no torch with headers is installed in this Python")
    natives = load_operators(Operators("index library", (torch.native_functions,), torch.tags)).natives
    try:
        declarations = read_library(torch.functions_manual.parents[3], natives)
    except OSError as error:
        raise InputError(f"cannot read a header: {error}") from error
    write_atomically(out, render_library(declarations))
    write(f"wrote {visible(str(out))}: {counted(len(declarations.classes), 'class', 'classes')}\n")


def _show(task: str, done: int, total: int) -> None:
    show_progress(f"{task}: {done} of {total}")


if __name__ == "__main__":
    index_tables()
