"""``derivlint coverage``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from derivlint.cli.shared.help import GroupedCommand
from derivlint.cli.shared.loading import load_models
from derivlint.cli.shared.options import color_option, ops_option, source_options
from derivlint.cli.shared.terminal import wants_color, write, write_json, write_lines, write_names
from derivlint.lint.wording import unknown_name
from derivlint.project.errors import InputError

if TYPE_CHECKING:
    from derivlint.analysis.differentiability.coverage import Coverage
    from derivlint.formats.coverage import CoverageReport, JudgedReport
    from derivlint.formats.text import Line
    from derivlint.model import Model
    from derivlint.schema import NativeFunction
    from derivlint.source import SourceFile

Report = TypeVar("Report", bound="CoverageReport | JudgedReport")

#: The values of ``--missing``: :class:`derivlint.analysis.differentiability.coverage.Aspect`.
ASPECTS = ("backward", "forward", "double-backward", "forward-over-reverse", "complex")


@click.command(cls=GroupedCommand, short_help="Report which operators have which formulas.")
@source_options
@click.option(
    "--missing",
    multiple=True,
    type=click.Choice(ASPECTS),
    help="Show only operators that lack this at least in part; repeatable.",
)
@click.option("--judged", is_flag=True, help="Report instead what the checks can compare in each entry.")
@ops_option("Show only these operators.")
@click.option(
    "--output-format",
    type=click.Choice(["table", "json", "markdown"]),
    default="table",
    show_default=True,
    help="Write a table, JSON or Markdown.",
)
@color_option
def coverage(
    paths: tuple[str, ...],
    no_config: bool,
    stdin_filename: str | None,
    missing: tuple[str, ...],
    judged: bool,
    ops: tuple[str, ...],
    output_format: str,
    color: str,
    **setting_options: Any,
) -> None:
    """Report which operators have backward, forward and second-order formulas.

    Columns: backward, forward, double-backward, forward-over-reverse (a gradient differentiated along a tangent) and
    complex (on PyTorch's list of operators with complex gradients). For PyTorch's own file, operators that need a
    derivative and have none are listed as well.

    With --judged: for how many formulas the value is compared with the operator, and linearity, conjugation and sizes
    are known. Formulas that are not compared have no findings of that kind.

    NAMES are base names (add), functions (add_) or overloads (add.Tensor).
    """
    if judged:
        if missing:
            raise click.UsageError("--missing and --judged exclude each other")
        files = load_models(paths, stdin_filename, no_config, **setting_options)
        _show_judged([(loaded.source, loaded.model) for loaded in files], ops, output_format, color)
        return
    from derivlint.formats.coverage import CoverageReport, coverage_lines, coverage_markdown, render_coverage_json

    reports = [
        CoverageReport(loaded.source, tuple(_rows(loaded.model, ops, missing)))
        for loaded in load_models(paths, stdin_filename, no_config, **setting_options)
    ]
    _show(reports, output_format, color, render_coverage_json, coverage_markdown, coverage_lines)


def _show(
    reports: Sequence[Report],
    output_format: str,
    color: str,
    to_json: Callable[[Sequence[Report]], str],
    to_markdown: Callable[[Report], str],
    to_lines: Callable[[Report], Iterable[Line]],
) -> None:
    """Print a report for each file."""
    if output_format == "json":
        write_json(to_json(reports))
        return
    if output_format == "markdown":
        write("\n".join(map(to_markdown, reports)), utf8=True)
        return
    colored = wants_color(color)
    for number, report in enumerate(reports):
        if len(reports) > 1:
            write_names([*([""] if number else []), report.source.path])
        write_lines(to_lines(report), colored)


def _show_judged(
    models: Iterable[tuple[SourceFile, Model]], ops: tuple[str, ...], output_format: str, color: str
) -> None:
    from derivlint.analysis.judged import judged_entries
    from derivlint.formats.coverage import JudgedReport, judged_lines, judged_markdown, render_judged_json

    reports = []
    for source, model in models:
        operators = {str(function.name) for name in ops for function in _functions(model, name)}
        rows = (row for row in judged_entries(model) if not ops or row.entry.operator in operators)
        reports.append(JudgedReport(source, tuple(rows)))
    _show(reports, output_format, color, render_judged_json, judged_markdown, judged_lines)


def _rows(model: Model, ops: tuple[str, ...], missing: tuple[str, ...]) -> list[Coverage]:
    from derivlint.analysis.differentiability.coverage import Aspect, coverage_of

    covered = coverage_of(model)
    if ops:
        functions = {str(function.schema): function for name in ops for function in _functions(model, name)}
        rows = [row for function in functions.values() for row in covered.of(function)]
    else:
        rows = list(covered.rows())
    aspects = [Aspect(name) for name in missing]
    return [row for row in rows if not aspects or any(row.lacks(aspect) for aspect in aspects)]


def _named(model: Model, name: str) -> list[NativeFunction]:
    """Return the operators of a name; for a base name, the overloads that are not out variants."""
    if "." in name:
        exact = model.natives.operator(name)
        return [exact] if exact is not None else []
    return [function for function in model.natives.named(name) if not function.schema.is_out]


def _functions(model: Model, name: str) -> Iterable[NativeFunction]:
    """Return the functions of a name.

    Raises:
        InputError: no function has the name.
    """
    named = _named(model, name)
    if not named:
        raise InputError(unknown_name(f'no operator "{name}"', name, model.natives.operator_names()))
    return named
