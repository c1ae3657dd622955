"""``derivlint suggest``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from derivlint.cli.shared.help import GroupedCommand
from derivlint.cli.shared.loading import load_models
from derivlint.cli.shared.options import color_option, inputs, operator_options
from derivlint.cli.shared.terminal import (
    CLEAN,
    FINDINGS,
    INTERNAL,
    REPORT_HINT,
    Progress,
    debugging,
    wants_color,
    warn,
    write_exactly,
    write_json,
    write_lines,
)
from derivlint.lint.wording import counted
from derivlint.project.errors import user_errors
from derivlint.project.files import STDIN
from derivlint.project.operators import INSTALLED

if TYPE_CHECKING:
    from derivlint.project.loading import Loaded
    from derivlint.repair.suggest import Suggestion

#: What can be missing; values of :class:`derivlint.analysis.differentiability.coverage.Aspect`.
MISSING = ("backward", "forward", "double-backward")
#: Suffixes and prefixes of arguments that are files, existing or not.
_SUFFIXES = (".yaml", ".yml")


@click.command(cls=GroupedCommand, short_help="Suggest right formulas for wrong ones.")
@click.argument("targets", nargs=-1, metavar="[OP[:KEY]]... [PATHS]...", callback=inputs)
@operator_options
@click.option("--stdin-filename", metavar="NAME", help="Report standard input (-) under this name.")
@click.option(
    "--missing",
    type=click.Choice(MISSING),
    help="Suggest formulas that are missing, not those that are wrong.",
)
@click.option("--verify", "runs", is_flag=True, help="Run the suggestions in the installed PyTorch as well.")
@click.option("--compiler", metavar="NAME", help="Use this C++ compiler. [default: $CXX, else clang++, else g++]")
@click.option("--diff", is_flag=True, help="Print the best suggestions as a patch.")
@click.option("--write", "writes", is_flag=True, help="Write the best suggestions into the files.")
@click.option(
    "--output-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Write text or JSON.",
)
@color_option
def suggest(
    targets: tuple[str, ...],
    no_config: bool,
    stdin_filename: str | None,
    missing: str | None,
    runs: bool,
    compiler: str | None,
    diff: bool,
    writes: bool,
    output_format: str,
    color: str,
    **setting_options: Any,
) -> None:
    """Suggest right formulas for wrong ones: at most three, the best one first, each checked in its place.

    OP is an operator (add.Tensor) or a base name (add), KEY an argument or an output. Without OP, formulas are
    suggested for all wrong ones of the files. A suggestion is a small edit of the formula that "derivlint check" has no
    finding about; unchecked properties are named. Nothing is written without --write.

    With --verify, a suggestion is also compared with finite differences of the operator, as by "derivlint verify
    --quick"; one that they refute is dropped.

    With --missing, formulas are derived from the linearity of operators, from their other formulas and from their
    reference definitions. If none can be derived, the reason is printed.

    Exit status: 0 every formula is right or has a suggestion; 1 some have none; 3 an internal error ended the search
    for some.
    """
    from derivlint.api.suggesting import suggestions_in
    from derivlint.formats.suggestions import FileSuggestions, render_suggestions_json, suggestion_lines

    if diff and writes:
        raise click.UsageError("--diff and --write exclude each other")
    names = [name for name in targets if not _is_path(name)]
    paths = tuple(name for name in targets if _is_path(name))
    if writes and STDIN in paths:
        raise click.UsageError("--write cannot write to standard input; use --diff")
    if runs:
        from derivlint.cli.verification.verify import require_torch

        require_torch()
        setting_options["torch"] = setting_options.get("torch") or INSTALLED
    elif compiler is not None:
        raise click.UsageError("--compiler needs --verify")
    reports = []
    for loaded in load_models(paths, stdin_filename, no_config, **setting_options):
        suggestions = tuple(suggestions_in(loaded.require_operators(), names, missing))
        if runs:
            with Progress() as progress:
                suggestions = _run(loaded, suggestions, compiler, progress)
        reports.append(FileSuggestions(loaded.source, suggestions))
        if diff or writes:
            _apply(loaded, suggestions, writes)
    if output_format == "json" and not diff:
        write_json(render_suggestions_json(reports))
    elif not diff:
        for report in reports:
            write_lines(suggestion_lines(report), wants_color(color))
    every = [item for report in reports for item in report.suggestions]
    solved = sum(bool(item.candidates) for item in every)
    fault = "missing" if missing else "wrong"
    warn(
        f"{counted(solved, 'suggestion')} for {counted(len(every), f'{fault} formula')}"
        if every
        else f"no {fault} formula"
    )
    errors = [item.error for item in every if item.error is not None]
    if errors:
        if debugging():
            raise errors[0]
        warn(REPORT_HINT)
    click.get_current_context().exit(INTERNAL if errors else CLEAN if solved == len(every) else FINDINGS)


def _is_path(name: str) -> bool:
    return (
        name in (STDIN, os.curdir)
        or name.endswith(_SUFFIXES)
        or any(mark in name for mark in "/*@\\")
        or Path(name).exists()
    )


def _run(
    loaded: Loaded, suggestions: tuple[Suggestion, ...], compiler: str | None, progress: Progress
) -> tuple[Suggestion, ...]:
    """Return the suggestions that runs in the installed PyTorch do not refute.

    Raises:
        InputError: a requirement of the run is missing.
    """
    from derivlint.compiler.children import processors
    from derivlint.verify.runner import QUICK, RunOptions
    from derivlint.verify.suggestions import run_suggestions
    from derivlint.verify.unchecked import VerifyError

    options = RunOptions(QUICK, jobs=processors(), compiler=compiler)
    with user_errors(VerifyError):
        return tuple(run_suggestions(loaded.model, suggestions, options, progress))


def _apply(loaded: Loaded, suggestions: Sequence[Suggestion], writes: bool) -> None:
    """Write the best suggestions into a file, or print a diff.

    Raises:
        InputError: the file cannot be written, or was changed meanwhile.
    """
    from derivlint.cli.checking.fixing import unified_diff, write_fixed
    from derivlint.lint.edits import edited

    edits = {edit for item in suggestions for accepted in item.candidates[:1] for edit in accepted.edits}
    text = edited(loaded.source.text, edits)
    if not writes:
        write_exactly("".join(unified_diff(loaded.source.path, loaded.source.text, text)))
    elif text != loaded.source.text:
        write_fixed(loaded.source.path, loaded.source, text)
