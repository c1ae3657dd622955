"""``derivlint review``."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from derivlint.cli.shared.help import GroupedCommand
from derivlint.cli.shared.inputs import FallbackPolicy, ResolvedInputs, resolve_inputs
from derivlint.cli.shared.options import color_option, inputs, operator_options, settings_options
from derivlint.cli.shared.terminal import CLEAN, FINDINGS, wants_color, write, write_json, write_lines
from derivlint.project.errors import InputError, NothingFoundError
from derivlint.project.files import read_source
from derivlint.project.operators import LoadedOperators, Operators, load_operators, operators_for, resolve_release
from derivlint.project.settings import SettingsOfFiles
from derivlint.source import SourceFile, read_input

if TYPE_CHECKING:
    from derivlint.project.git import Revision
    from derivlint.review import Version

#: The text of a file that did not exist: no entries.
NOTHING = "[]\n"


@click.command(cls=GroupedCommand, short_help="Review a change to a derivatives file.")
@click.argument("versions", nargs=-1, metavar="[REV] [FILE] | BEFORE AFTER", callback=inputs)
@operator_options
@settings_options
@click.option(
    "--output-format",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="Write text, Markdown or JSON.",
)
@click.option("--no-code", is_flag=True, help="Omit the diff of the generated C++.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 despite new findings.")
@color_option
def review(
    versions: tuple[str, ...],
    no_config: bool,
    config: tuple[str, ...],
    output_format: str,
    no_code: bool,
    exit_zero: bool,
    color: str,
    **setting_options: Any,
) -> None:
    """Review a change to a derivatives file on one page.

    For each new, removed or changed entry: formulas before and after, saved variables, derivatives gained and lost, and
    the in-place, out and foreach functions it applies to. Then new and resolved findings and a diff of the generated
    C++. Changes of layout are not reported.

    REV is a git revision (default: HEAD; main... is the merge base) and FILE the derivatives file (default: that of
    derivlint check). BEFORE and AFTER are two files, each read with the operators of its own release.

    Exit status: 1 if a new finding is at the fail level or above, else 0.
    """
    from derivlint.review import review as compare
    from derivlint.review.page import review_json, review_lines, review_markdown
    from derivlint.rules import load_rules

    lookup = SettingsOfFiles(no_config, config, **setting_options)
    with TemporaryDirectory() as scratch:
        before, after = _versions(versions, lookup, Path(scratch))
        comparison = compare(before, after, after.settings.selected(load_rules()), with_code=not no_code)
    if output_format == "json":
        write_json(review_json(comparison))
    elif output_format == "markdown":
        write(review_markdown(comparison), utf8=True)
    else:
        write_lines(review_lines(comparison), wants_color(color))
    click.get_current_context().exit(FINDINGS if comparison.fails and not exit_zero else CLEAN)


def _versions(arguments: tuple[str, ...], lookup: SettingsOfFiles, scratch: Path) -> tuple[Version, Version]:
    """Return the two versions that the arguments name.

    Raises:
        InputError: the arguments are neither a revision nor two files, or a version cannot be read.
    """
    if len(arguments) == 2 and all(map(os.path.exists, arguments)):
        inputs = resolve_inputs(lookup, arguments, None, FallbackPolicy.NEVER)
        if len(inputs.files) != 2:
            raise InputError("BEFORE and AFTER are the same file")
        load = cache(load_operators)
        versions = []
        for path in inputs.files:
            source = read_source(path, None)
            settings = inputs.settings[path]
            operators = load(resolve_release(operators_for(inputs.folders[path], settings), source, load))
            versions.append(_version(path, source, operators, inputs, path))
        return versions[0], versions[1]
    if len(arguments) > 2:
        raise InputError("name a revision, a revision and a file, or two files")
    revision = "HEAD"
    if arguments and not (len(arguments) == 1 and os.path.exists(arguments[0])):
        revision, *paths = arguments
    else:
        paths = list(arguments)
    try:
        inputs = resolve_inputs(lookup, paths, None, FallbackPolicy.NEVER)
    except NothingFoundError as error:
        reason = str(error).removeprefix("nothing to check: ").partition(";")[0]
        raise InputError(f"nothing to review: {reason}; name a file, or two: derivlint review BEFORE AFTER") from error
    if len(inputs.files) != 1:
        raise InputError(f"expected one derivatives file, found {len(inputs.files)}; name one")
    return _since(revision, inputs, scratch)


def _since(name: str, inputs: ResolvedInputs, scratch: Path) -> tuple[Version, Version]:
    """Return a file in a revision and its current state, each with its own native functions if those changed."""
    from derivlint.project.git import Revision

    (path,) = inputs.files
    settings = inputs.settings[path]
    revision = Revision(name, Path(path).resolve().parent)
    source = read_source(path, None)
    then = revision.text_of(Path(path))
    earlier = SourceFile.from_bytes(source.path, then if then is not None else NOTHING.encode())
    load = cache(load_operators)
    operators = operators_for(inputs.folders[path], settings)
    operators = resolve_release(operators, source, load)
    before = _earlier(operators, revision, scratch)
    return (
        _version(f"{path} at {name}", earlier, load(before), inputs, path),
        _version(path, source, load(operators), inputs, path),
    )


def _earlier(operators: Operators, revision: Revision, scratch: Path) -> Operators:
    """Return the operators with the files of native functions in the revision, if those changed."""
    files = []
    for number, path in enumerate(operators.native_functions):
        then = revision.text_of(path)
        if then is None or then == read_input(path):
            files.append(path)
            continue
        copy = scratch / f"{number}-{path.name}"
        copy.write_bytes(then)
        files.append(copy)
    return replace(operators, native_functions=tuple(files)) if files else operators


def _version(label: str, source: SourceFile, operators: LoadedOperators, inputs: ResolvedInputs, path: str) -> Version:
    from derivlint.review import Version

    return Version(label, source, operators, inputs.settings[path])
