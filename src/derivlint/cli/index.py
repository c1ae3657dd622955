"""``derivlint index``: the bundled index of operators."""

from __future__ import annotations

from pathlib import Path

import click

from derivlint.cli.options import EXISTING
from derivlint.cli.run import toolchain_named
from derivlint.cli.terminal import show_progress, write
from derivlint.lint.wording import counted, did_you_mean
from derivlint.project.errors import InputError
from derivlint.project.files import read_source
from derivlint.project.headers import merged, read_headers
from derivlint.project.operators import INSTALLED, Operators, load_operators, operators_for, problem_text
from derivlint.project.settings import Settings
from derivlint.source import replace_file


@click.group(short_help="Build and show the index of operators.")
def index() -> None:
    """Build and show the index of operators, which stands in for native_functions.yaml where there is no PyTorch."""


@index.command(short_help="Write an index.")
@click.option("--native-functions", multiple=True, type=EXISTING, help="A native_functions.yaml; repeatable.")
@click.option("--tags", type=EXISTING, help="The tags.yaml beside it.")
@click.option("--headers", multiple=True, type=EXISTING, help="A C++ header whose declarations go into it; repeatable.")
@click.option("--derivatives", type=EXISTING, help="The derivatives.yaml that other files may override.")
@click.option("--torch", type=click.Choice([INSTALLED]), help="Take the files of the installed torch.")
@click.option("--version", "version", help="The PyTorch version that it describes.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Where to write it.")
def build(
    native_functions: tuple[Path, ...],
    tags: Path | None,
    headers: tuple[Path, ...],
    derivatives: Path | None,
    torch: str | None,
    version: str | None,
    out: Path,
) -> None:
    """Write an index from an installed torch or from files: facts only, always the same bytes for the same input."""
    from derivlint.schema import build_index, installed_torch

    if torch == INSTALLED:
        found = installed_torch()
        if found is None:
            raise InputError("no torch is installed in this Python")
        native_functions, tags = (found.native_functions,), found.tags
        headers = headers or ((found.functions_manual,) if found.functions_manual is not None else ())
        derivatives = derivatives or found.derivatives
        version = version or found.release
    if not native_functions:
        raise InputError("name a --native-functions file, or use --torch installed")
    if not version:
        raise InputError("say with --version which PyTorch the index describes")
    natives = load_operators(Operators("index build", native_functions, tags)).natives
    if natives.problems:
        raise InputError(problem_text(natives.problems[0]))
    declarations = merged(read_headers(headers, use_cache=False))
    if derivatives is not None:
        natives = natives.with_derivatives(_names_with_formulas(derivatives))
    write_atomically(out, build_index(natives, version, declarations))
    write(f"wrote {out}: {counted(len(natives.written), 'operator')} of PyTorch {version}\n")


def _names_with_formulas(path: Path) -> dict[str, list[str]]:
    """For each operator of a derivatives file the names that have a formula under some dispatch key, in file order."""
    from derivlint.model import read_file

    found: dict[str, list[str]] = {}
    for entry in read_file(read_source(str(path), None)):
        if entry.operator is not None:
            names = [name.text for body in entry.bodies for line in body.lines for name in line.names]
            found[entry.operator] = list(dict.fromkeys(names))
    return found


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file as a whole or not at all.

    Raises:
        InputError: it cannot be written.
    """
    try:
        replace_file(path, data)
    except OSError as error:
        raise InputError(f'cannot write "{path}": {error.strerror or error}') from error


@index.command(short_help="Print what is known of an operator.")
@click.argument("operator")
@click.option("--native-functions", multiple=True, type=EXISTING, help="Ask these files instead of the bundled index.")
@click.option("--tags", type=EXISTING, help="The tags.yaml beside them.")
@click.option("--torch", metavar="VERSION|installed", help="A version of the bundled index, or the installed torch.")
def show(operator: str, native_functions: tuple[Path, ...], tags: Path | None, torch: str | None) -> None:
    """Print what is known of OPERATOR, such as add or add.Tensor: its overloads, variants, kernels and relations."""
    from derivlint.formats.operator_text import operator_lines
    from derivlint.schema import describe_operator

    settings = Settings(native_functions=native_functions, tags=tags, torch=torch)
    natives = load_operators(operators_for(Path.cwd(), settings)).natives
    facts = describe_operator(natives, operator)
    if facts is None:
        question = did_you_mean(operator.partition(".")[0], natives.operator_names())
        raise InputError(f'no operator "{operator}"' + (f"; {question}" if question else ""))
    write("".join(f"{line}\n" for line in operator_lines(facts)))


@index.command(short_help="Write the table of relations between C++ types.")
@click.option("--compiler", default="g++", show_default=True, help="The compiler to ask.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Where to write it.")
def relations(compiler: str, out: Path) -> None:
    """Ask a compiler how the C++ types of PyTorch convert and what operators do with them; takes two minutes.

    It needs the headers of an installed torch. derivlint ships the table of the releases that it knows.
    """
    from derivlint.compiler.gxx import CompilerError
    from derivlint.compiler.relations import ask_relations, render_relations

    try:
        content = ask_relations(toolchain_named(compiler), progress=lambda *done: _tell("type relations", *done))
    except CompilerError as error:
        raise InputError(str(error)) from error
    finally:
        show_progress("")
    write_atomically(out, render_relations(content))
    write(f"wrote {out}: relations of {counted(len(content['types']), 'type')}\n")


@index.command(short_help="Write the names that exist in C++ namespaces.")
@click.option("--compiler", default="g++", show_default=True, help="The compiler to ask.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Where to write it.")
def names(compiler: str, out: Path) -> None:
    """Ask a compiler which names the namespaces of PyTorch and of the standard library have; takes two minutes."""
    from derivlint.compiler.gxx import CompilerError
    from derivlint.compiler.names import ask_names, render_names

    try:
        content = ask_names(toolchain_named(compiler), progress=lambda *done: _tell("namespaces", *done))
    except CompilerError as error:
        raise InputError(str(error)) from error
    finally:
        show_progress("")
    write_atomically(out, render_names(content))
    total = sum(len(found.split()) for found in content["names"].values())
    write(f"wrote {out}: {counted(total, 'name')} of {counted(len(content['names']), 'namespace')}\n")


@index.command(short_help="Write the declarations of PyTorch's C++ classes.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Where to write it.")
def library(out: Path) -> None:
    """Read the headers of the installed torch and derivlint's stub files for what formulas use beside operators."""
    from derivlint.cpp.library_sources import read_library
    from derivlint.cpp.stubs import render_library
    from derivlint.schema import installed_torch

    found = installed_torch()
    if found is None or found.functions_manual is None:
        raise InputError("no torch with headers is installed in this Python")
    natives = load_operators(Operators("index library", (found.native_functions,), found.tags)).natives
    try:
        declarations = read_library(found.functions_manual.parents[3], natives)
    except OSError as error:
        raise InputError(f"cannot read a header: {error}") from error
    write_atomically(out, render_library(declarations))
    write(f"wrote {out}: {counted(len(declarations.classes), 'class', 'classes')}\n")


def _tell(what: str, done: int, total: int) -> None:
    show_progress(f"{what}: {done} of {total}")
