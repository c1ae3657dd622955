"""Models of the files that the arguments name, for commands that print or generate something."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from derivlint.cli.shared.inputs import FallbackPolicy, ResolvedInputs, resolve_inputs
from derivlint.cli.shared.terminal import FINDINGS, terminal_width, wants_color, warn, write_lines
from derivlint.lint.wording import counted, quoted_list
from derivlint.project.errors import InputError
from derivlint.project.files import read_source
from derivlint.project.loading import Loaded, load_source
from derivlint.project.operators import load_operators
from derivlint.project.settings import SettingsOfFiles

if TYPE_CHECKING:
    from derivlint.lint import Diagnostic
    from derivlint.model import Model

#: The rule about gradients that cannot be differentiated again.
NOT_TWICE = "not-twice-differentiable"
#: The maximum number of printed warnings; more are only counted.
MAX_WARNINGS = 10


def load_models(
    paths: tuple[str, ...], stdin_filename: str | None, no_config: bool, **setting_options: Any
) -> Iterator[Loaded]:
    """Load the derivatives files that the arguments name, except excluded ones.

    Raises:
        InputError: no file is named or found, or a file or its operators cannot be read.
    """
    return _loaded(resolve_inputs(SettingsOfFiles(no_config, **setting_options), paths, stdin_filename), stdin_filename)


def load_model(
    paths: tuple[str, ...],
    stdin_filename: str | None,
    no_config: bool,
    fallback: FallbackPolicy = FallbackPolicy.WHEREVER_NONE_IS_FOUND,
    **setting_options: Any,
) -> Loaded:
    """Load the one derivatives file that the arguments name.

    Raises:
        InputError: several files or none are named, or the file or its operators cannot be read.
    """
    inputs = resolve_inputs(SettingsOfFiles(no_config, **setting_options), paths, stdin_filename, fallback)
    if len(inputs.files) != 1:
        raise InputError(f"expected one derivatives file, found {len(inputs.files)}; name one")
    return next(_loaded(inputs, stdin_filename)).require_operators()


def _loaded(inputs: ResolvedInputs, stdin_filename: str | None) -> Iterator[Loaded]:
    load = cache(load_operators)
    for path in inputs.files:
        source = read_source(path, stdin_filename)
        yield load_source(source, inputs.folders[path], inputs.settings[path], load)


def require_destination(out: Path | None, ops: tuple[str, ...], needing: Mapping[str, bool]) -> None:
    """Reject output of a whole file to the terminal, and options that need ``--out`` without it.

    Args:
        out: the output path.
        ops: the requested operators.
        needing: the options that need it, with whether they are set.

    Raises:
        InputError: the output path is missing.
    """
    if out is not None:
        return
    for option, is_given in needing.items():
        if is_given:
            raise InputError(f"{option} needs --out")
    if not ops:
        raise InputError("name a destination with --out, or operators to print with --ops")


def refuse_errors(
    loaded: Loaded, operators: tuple[str, ...] | None, color: str, *, whole: bool = True, tolerant: bool = False
) -> Mapping[str, str]:
    """Print the errors, and end the command if they prevent code generation.

    Args:
        loaded: the file.
        operators: the requested operators, or None for all.
        color: the condition for colored output: ``auto``, ``always`` or ``never``.
        whole: whether an error in any entry prevents all code; else entries of PyTorch's operators with errors are
            omitted.
        tolerant: whether errors of entries are only printed.

    Returns:
        the omitted operators by full name, with the reason.
    """
    from derivlint.api.emission import errors_of

    errors = errors_of(loaded, operators, whole=whole, tolerant=tolerant)
    if errors.findings:
        print_findings(loaded.model, list(errors.findings), color)
    if errors.left_out is None:
        number = counted(len(errors.findings), "error")
        warn(f"nothing is written: {number}; fix them, or use --ignore RULE or --allow-errors")
        click.get_current_context().exit(FINDINGS)
    return errors.left_out


def warn_of_book(model: Model, operators: Collection[str]) -> None:
    """Warn of operators whose derivatives come from the operator book because the file has no entry."""
    from derivlint.operators.book import BOOK_OF_DERIVATIVES

    if operators and model.source.path != str(BOOK_OF_DERIVATIVES):
        names = quoted_list(list(operators))
        warn(f"{model.source.path} has no entry for {names}: using the derivatives of the operator book")


def warn_of_files(files: Sequence[Path]) -> None:
    """Report the files next to a derivatives file that its code is generated with."""
    if files:
        warn(f"reading called functions from {quoted_list([os.path.relpath(path) for path in files])}")


def warn_of_once_differentiable(loaded: Loaded, emitted: Collection[str]) -> None:
    """Warn of emitted operators whose gradients are not differentiable, with the reasons.

    Args:
        loaded: the file.
        emitted: the emitted operators, by full name.
    """
    from derivlint.lint import Confidence
    from derivlint.project.check import check_source
    from derivlint.rules import load_rules

    rules = tuple(rule for rule in loaded.settings.selected(load_rules()) if rule.name == NOT_TWICE)
    settings = replace(loaded.settings, min_confidence=min(Confidence.MEDIUM, loaded.settings.min_confidence))
    checked = check_source(loaded.source, loaded.operators.natives, settings, rules, models=(loaded.model,))
    warnings = [item for item in checked.shown if item.rule == NOT_TWICE and item.entry in emitted]
    if len(warnings) > MAX_WARNINGS:
        command = f"derivlint check --select {NOT_TWICE} --min-confidence medium"
        warn(f'{len(warnings)} gradients cannot be differentiated again; list them with "{command}"')
        return
    for item in warnings:
        line = loaded.source.position(item.span.start).line
        warn(f"{loaded.source.path}:{line}: {item.message} ({item.entry}: {item.key}) [{item.rule}]")


def print_findings(model: Model, diagnostics: list[Diagnostic], color: str) -> None:
    """Print diagnostics of a file as ``derivlint check`` does."""
    from derivlint.formats import Report
    from derivlint.formats.text import render_text

    natives = model.natives
    headers = {problem.source.path: problem.source for problem in natives.header_problems}
    if natives.bodies is not None:
        headers[natives.bodies.source.path] = natives.bodies.source
    sources = {model.source.path: model.source}
    report = Report(tuple(sorted(diagnostics)), sources, model.n_entries, model.n_formulas, related_sources=headers)
    write_lines(render_text(report, terminal_width(), False), wants_color(color))
