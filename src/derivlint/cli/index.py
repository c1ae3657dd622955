"""``derivlint index``: the bundled index of operators."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from derivlint.cli.exits import InputError
from derivlint.cli.inputs import INSTALLED, Operators, load_operators, operators_for, problem_text
from derivlint.cli.options import EXISTING
from derivlint.cli.settings import Settings
from derivlint.cli.terminal import write
from derivlint.lint.wording import counted, did_you_mean
from derivlint.source import SourceError, SourceFile


@click.group(short_help="Build and show the index of operators.")
def index() -> None:
    """Build and show the index of operators, which stands in for native_functions.yaml where there is no PyTorch."""


@index.command(short_help="Write an index.")
@click.option("--native-functions", multiple=True, type=EXISTING, help="A native_functions.yaml; repeatable.")
@click.option("--tags", type=EXISTING, help="The tags.yaml beside it.")
@click.option("--headers", type=EXISTING, help="FunctionsManual.h, whose function names go into the index.")
@click.option("--torch", type=click.Choice([INSTALLED]), help="Take the files of the installed torch.")
@click.option("--version", "version", help="The PyTorch version that it describes.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Where to write it.")
def build(
    native_functions: tuple[Path, ...],
    tags: Path | None,
    headers: Path | None,
    torch: str | None,
    version: str | None,
    out: Path,
) -> None:
    """Write an index from an installed torch or from files: facts only, always the same bytes for the same input."""
    from derivlint.schema import build_index, declared_functions, installed_torch

    if torch == INSTALLED:
        found = installed_torch()
        if found is None:
            raise InputError("no torch is installed in this Python")
        native_functions, tags = (found.native_functions,), found.tags
        headers = headers or found.functions_manual
        version = version or found.release
    if not native_functions:
        raise InputError("name a --native-functions file, or use --torch installed")
    if not version:
        raise InputError("say with --version which PyTorch the index describes")
    natives = load_operators(Operators("index build", native_functions, tags)).natives
    if natives.problems:
        raise InputError(problem_text(natives.problems[0]))
    try:
        helpers = declared_functions(SourceFile.read(headers).text) if headers is not None else ()
    except SourceError as error:
        raise InputError(str(error)) from error
    write_atomically(out, build_index(natives, version, helpers))
    write(f"wrote {out}: {counted(len(natives.written), 'operator')} of PyTorch {version}\n")


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file as a whole or not at all.

    Raises:
        InputError: it cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            os.chmod(name, 0o644)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
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
