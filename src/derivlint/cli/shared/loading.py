"""The models of the files that a command names, for commands that print or write something of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct
from msgspec.structs import replace

from derivlint.cli.shared.exits import FINDINGS, warn
from derivlint.cli.shared.inputs import ResolvedInputs, resolve_inputs
from derivlint.lint.wording import counted, did_you_mean
from derivlint.project.errors import InputError
from derivlint.project.files import read_source
from derivlint.project.operators import LoadedOperators, load_operators, operators_for, problem_text, resolve_release
from derivlint.project.settings import Settings, SettingsOfFiles
from derivlint.schema.native_function import DEFAULT_NAMESPACE
from derivlint.source import SourceError, SourceFile

if TYPE_CHECKING:
    from derivlint.lint import Diagnostic
    from derivlint.model import Model

#: The rule about gradients that cannot be differentiated again.
ONCE = "not-twice-differentiable"
#: More warnings are only counted.
MOST_WARNINGS = 10


class Loaded(Struct, frozen=True):
    """A file with its model.

    Attributes:
        source: the file.
        model: its model.
        operators: the operators that it is read against.
        settings: what is configured for it.
    """

    source: SourceFile
    model: Model
    operators: LoadedOperators
    settings: Settings


def load_models(
    paths: tuple[str, ...], stdin_filename: str | None, no_config: bool, **setting_options: Any
) -> Iterator[Loaded]:
    """The models of the derivatives files that the arguments name, without those that are excluded.

    Raises:
        InputError: there is none, or one or its operators cannot be read.
    """
    return _loaded(resolve_inputs(SettingsOfFiles(no_config, **setting_options), paths, stdin_filename), stdin_filename)


def load_model(paths: tuple[str, ...], stdin_filename: str | None, no_config: bool, **setting_options: Any) -> Loaded:
    """The model of the one derivatives file that the arguments name.

    Raises:
        InputError: there are several or none, or it or its operators cannot be read.
    """
    inputs = resolve_inputs(SettingsOfFiles(no_config, **setting_options), paths, stdin_filename)
    if len(inputs.files) != 1:
        raise InputError(f"one derivatives file is wanted, and there are {len(inputs.files)}")
    loaded = next(_loaded(inputs, stdin_filename))
    problems = loaded.operators.natives.problems
    if problems:
        raise InputError(problem_text(problems[0]))
    return loaded


def _loaded(inputs: ResolvedInputs, stdin_filename: str | None) -> Iterator[Loaded]:
    from derivlint.project.check import model_of

    load = cache(load_operators)
    for path in inputs.files:
        try:
            source = read_source(path, stdin_filename)
        except SourceError as error:
            raise InputError(str(error)) from error
        settings = inputs.settings[path]
        operators = load(resolve_release(operators_for(inputs.folders[path], settings), source, load))
        yield Loaded(source, model_of(source, operators.natives, settings), operators, settings)


def with_all_declared(loaded: Loaded) -> Loaded:
    """The same file, whose formulas can call nothing but what is declared, as where they are compiled."""
    from derivlint.project.check import model_of

    natives = loaded.operators.natives.all_declared()
    model = model_of(loaded.source, natives, loaded.settings)
    return replace(loaded, model=model, operators=replace(loaded.operators, natives=natives))


def known_operators(model: Model, names: tuple[str, ...]) -> tuple[str, ...] | None:
    """The names of operators, None for all of them; "all" is an operator.

    Raises:
        InputError: there is no operator of a name.
    """
    if not names:
        return None
    for name in names:
        functions = model.natives.operator(name) if "." in name else model.natives.named(name)
        if not functions and not model.natives.with_base(name):
            question = did_you_mean(name, model.natives.operator_names())
            raise InputError(f'no operator "{name}"' + (f"; {question}" if question else ""))
    return names


def require_all(
    model: Model, operators: tuple[str, ...] | None, emitted: Collection[str], left_out: Mapping[str, str]
) -> None:
    """Refuse to write nothing, or silently less than was requested.

    Args:
        model: the model.
        operators: the requested names, or None for all.
        emitted: the functions that become code.
        left_out: those that do not, with the reason.

    Raises:
        InputError: no requested operator remains, or a name means no operator that has code.
    """
    from derivlint.emit.selection import unmatched_names

    if operators is None:
        return
    missing = unmatched_names(model, operators, {*emitted, *left_out})
    if missing:
        raise InputError(*(f'"{name}" gets no code: no entry applies to it' for name in missing))
    if not emitted:
        raise InputError(*(f"{name} cannot be emitted: {reason}" for name, reason in left_out.items()))


def require_destination(out: Path | None, ops: tuple[str, ...], needing: Mapping[str, bool]) -> None:
    """Refuse to print the code of a whole file, and options that are about files where none is written.

    Args:
        out: where code is written.
        ops: the requested operators.
        needing: the options that need a place, with whether they are given.

    Raises:
        InputError: a place is missing.
    """
    if out is not None:
        return
    for option, is_given in needing.items():
        if is_given:
            raise InputError(f"{option} needs --out")
    if not ops:
        raise InputError("say with --out where to write the code, or with --ops the operators whose code is printed")


def refuse_errors(
    loaded: Loaded, operators: tuple[str, ...] | None, color: str, *, whole: bool = True
) -> dict[str, str]:
    """Print the errors, and end the command where no code is written of such a file.

    Args:
        loaded: the file.
        operators: the requested operators, or None for all.
        color: when the output is colored.
        whole: whether code is written of all entries or of none; else only the entries of PyTorch's operators that have
            errors are left out of a whole file.

    Returns:
        the operators that are left out, by full name, with the reason.
    """
    errors = _errors(loaded, operators)
    if not errors:
        return {}
    print_findings(loaded.model, errors, color)
    lines = {item.entry: loaded.source.position(item.span.start).line for item in reversed(errors)}
    reasons = {
        str(match.function.name): f"its entry has an error in line {lines[entry.operator]}"
        for entry in loaded.model.entries
        if entry.operator in lines
        for match in loaded.model.functions_of(entry)
        if match.function.namespace == DEFAULT_NAMESPACE
    }
    is_refused = (
        whole
        or operators is not None
        or len(lines) == len({model_entry.operator for model_entry in loaded.model.entries})
    )
    if is_refused or None in lines or not lines.keys() <= reasons.keys():
        warn(f"nothing is written: {counted(len(errors), 'error')}; fix them, or use --ignore RULE or --allow-errors")
        click.get_current_context().exit(FINDINGS)
    return reasons


def _errors(loaded: Loaded, operators: tuple[str, ...] | None) -> list[Diagnostic]:
    """The errors of ``derivlint check``, of the file as a whole or of the entries of some operators.

    What comments silence does not count, as in a check.
    """
    from derivlint.emit.selection import entries_of
    from derivlint.lint import Severity
    from derivlint.project.check import check_source
    from derivlint.rules import load_rules

    rules = loaded.settings.selected(load_rules())
    # other versions that the file serves do not become code
    checked = check_source(loaded.source, loaded.operators.natives, loaded.settings, rules, models=(loaded.model,))
    errors = [item for item in checked.shown if item.severity is Severity.ERROR]
    if operators is None:
        return errors
    concerned = {None, *(entry.operator for entry in entries_of(loaded.model, operators))}
    return [item for item in errors if item.entry in concerned]


def warn_of_once_differentiable(loaded: Loaded, emitted: Collection[str]) -> None:
    """Name the emitted operators whose gradients cannot be differentiated again, with the reasons.

    Args:
        loaded: the file.
        emitted: the operators that became code, by full name.
    """
    from derivlint.lint import Confidence
    from derivlint.project.check import check_source
    from derivlint.rules import load_rules

    rules = tuple(rule for rule in loaded.settings.selected(load_rules()) if rule.name == ONCE)
    settings = replace(loaded.settings, min_confidence=min(Confidence.MEDIUM, loaded.settings.min_confidence))
    checked = check_source(loaded.source, loaded.operators.natives, settings, rules, models=(loaded.model,))
    warnings = [item for item in checked.shown if item.rule == ONCE and item.entry in emitted]
    if len(warnings) > MOST_WARNINGS:
        command = f"derivlint check --select {ONCE} --min-confidence medium"
        warn(f'{len(warnings)} gradients cannot be differentiated again: "{command}" names them')
        return
    for item in warnings:
        line = loaded.source.position(item.span.start).line
        warn(f"{loaded.source.path}:{line}: {item.message} ({item.entry}: {item.key}) [{item.rule}]")


def print_findings(model: Model, diagnostics: list[Diagnostic], color: str) -> None:
    """Print diagnostics of a file as ``derivlint check`` does."""
    from derivlint.cli.shared.terminal import terminal_width, wants_color, write_lines
    from derivlint.formats import Report
    from derivlint.formats.text import render_text

    natives = model.natives
    headers = {problem.source.path: problem.source for problem in natives.header_problems}
    if natives.bodies is not None:
        headers[natives.bodies.source.path] = natives.bodies.source
    sources = {model.source.path: model.source}
    report = Report(tuple(sorted(diagnostics)), sources, model.n_entries, model.n_formulas, related_sources=headers)
    write_lines(render_text(report, terminal_width(), False), wants_color(color))
