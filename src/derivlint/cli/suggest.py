"""``derivlint suggest``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from derivlint.cli.shared.exits import CLEAN, FINDINGS, warn
from derivlint.cli.shared.help import GroupedCommand
from derivlint.cli.shared.loading import load_models
from derivlint.cli.shared.options import color_option, inputs, operator_options
from derivlint.cli.shared.terminal import wants_color, write_exactly, write_json, write_lines
from derivlint.lint.wording import counted, did_you_mean
from derivlint.project.errors import InputError
from derivlint.project.files import STDIN

if TYPE_CHECKING:
    from derivlint.model import Entry
    from derivlint.project.loading import Loaded
    from derivlint.repair.candidates import Target
    from derivlint.repair.judge import Judge
    from derivlint.repair.suggest import Suggestion

#: What can be missing; values of :class:`derivlint.analysis.differentiability.coverage.Aspect`.
MISSING = ("backward", "forward", "double-backward")
#: How the arguments end or begin that are files, whether they exist or not.
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
    diff: bool,
    writes: bool,
    output_format: str,
    color: str,
    **setting_options: Any,
) -> None:
    """Suggest right formulas for wrong ones: at most three, the best one first, each checked in its place.

    OP is an operator (add.Tensor) or a base name (add), KEY an argument or an output. Without OP, formulas are
    suggested for all wrong ones of the files. A suggestion is a small edit of the formula that "derivlint check" has no
    finding about; what could not be checked of it is named. Nothing is written without --write.

    With --missing, formulas are derived: from what operators are linear in, from their other formulas and from their
    reference definitions. For an entry that none can be written for, the reason is given.

    Exit status: 0 every formula is right or has a suggestion; 1 some have none.
    """
    from derivlint.formats.suggestions import FileSuggestions, render_suggestions_json, suggestion_lines

    if diff and writes:
        raise click.UsageError("--diff and --write exclude each other")
    names = [name for name in targets if not _is_path(name)]
    paths = tuple(name for name in targets if _is_path(name))
    if writes and STDIN in paths:
        raise click.UsageError("--write cannot write to standard input; use --diff")
    reports = []
    for loaded in load_models(paths, stdin_filename, no_config, **setting_options):
        suggestions = tuple(_suggestions(loaded.require_operators(), names, missing))
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
    what = "missing" if missing else "wrong"
    warn(
        f"{counted(solved, 'suggestion')} for {counted(len(every), f'{what} formula')}"
        if every
        else f"no {what} formula"
    )
    click.get_current_context().exit(CLEAN if solved == len(every) else FINDINGS)


def _is_path(name: str) -> bool:
    return (
        name in (STDIN, os.curdir)
        or name.endswith(_SUFFIXES)
        or any(mark in name for mark in "/*@\\")
        or Path(name).exists()
    )


def _suggestions(loaded: Loaded, names: Sequence[str], missing: str | None) -> Iterator[Suggestion]:
    from derivlint.repair import suggest as repair
    from derivlint.repair.judge import Judge
    from derivlint.rules import load_rules

    settings = loaded.settings
    judge = Judge(loaded.source, loaded.model, settings.selected(load_rules()), settings.shows)
    if missing is not None:
        yield from _missing(judge, names, missing)
        return
    for target in _targets(judge, names):
        yield repair.suggest(judge, target)


def _missing(judge: Judge, names: Sequence[str], missing: str) -> Iterator[Suggestion]:
    """The missing formulas of the entries that the arguments name, or of all."""
    from derivlint.analysis.differentiability.coverage import Aspect
    from derivlint.repair.missing import write_missing

    operators = None
    if names:
        operators = {entry.operator or "" for name in names for entry in _entries(judge, name.partition(":")[0])}
    yield from write_missing(judge, Aspect(missing), operators)


def _entries(judge: Judge, operator: str) -> list[Entry]:
    """The entries of an operator.

    Raises:
        InputError: there are none.
    """
    entries = [entry for entry in judge.model.entries if operator in _names(entry)]
    if not entries:
        question = did_you_mean(operator, {name for entry in judge.model.entries for name in _names(entry)})
        raise InputError(f'no entry for "{operator}"' + (f"; {question}" if question else ""))
    return entries


def _targets(judge: Judge, names: Sequence[str]) -> Iterator[Target]:
    """The wrong formulas that the arguments name, or all.

    Raises:
        InputError: there is no such entry or key.
    """
    from derivlint.repair.suggest import targets_in

    if not names:
        yield from targets_in(judge, judge.wrong_entries())
        return
    for name in names:
        operator, _, key = name.partition(":")
        entries = _entries(judge, operator)
        keys = [
            item
            for entry in entries
            for formula in entry.formulas
            for item in (formula.key_text, *_parts(formula.key_text))
        ]
        if key and key not in keys:
            question = did_you_mean(key, keys)
            raise InputError(f'"{operator}" has no formula for "{key}"' + (f"; {question}" if question else ""))
        yield from (item for item in targets_in(judge, entries) if not key or key in (item.key, *_parts(item.key)))


def _names(entry: Entry) -> tuple[str, ...]:
    operator = entry.operator or ""
    return (operator, operator.partition(".")[0])


def _parts(key: str) -> list[str]:
    return [name.strip() for name in key.split(",")]


def _apply(loaded: Loaded, suggestions: Sequence[Suggestion], writes: bool) -> None:
    """Write the best suggestions into a file, or print the difference.

    Raises:
        InputError: the file cannot be written, or changed meanwhile.
    """
    from derivlint.cli.checking.fixing import unified_diff, write_fixed
    from derivlint.repair.candidates import edited

    edits = {edit for item in suggestions for accepted in item.candidates[:1] for edit in accepted.edits}
    text = edited(loaded.source.text, edits)
    if not writes:
        write_exactly("".join(unified_diff(loaded.source.path, loaded.source.text, text)))
    elif text != loaded.source.text:
        write_fixed(loaded.source.path, loaded.source, text)
