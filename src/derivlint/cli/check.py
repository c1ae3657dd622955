"""``derivlint check``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from derivlint.cli.options import CONFIDENCES, SEVERITIES, rule_names, source_options
from derivlint.cli.terminal import show_progress, terminal_width, wants_color, write, write_lines
from derivlint.formats import Report
from derivlint.lint import Confidence, Severity
from derivlint.project.files import derivatives_files, folder_of
from derivlint.project.operators import operators_for
from derivlint.project.settings import Settings, SettingsOfFiles

#: From this many files on, a terminal shows how far the run is.
MANY_FILES = 5


@click.command(short_help="Check derivatives files.")
@source_options
@click.option("--select", multiple=True, callback=rule_names, metavar="NAMES", help="Run only these rules.")
@click.option("--ignore", multiple=True, callback=rule_names, metavar="NAMES", help="Do not run these rules.")
@click.option("--extend-select", multiple=True, callback=rule_names, metavar="NAMES", help="Run these rules besides.")
@click.option("--preview", is_flag=True, default=None, help="Run rules in preview as well.")
@click.option("--min-severity", type=SEVERITIES, help="Show findings from this severity on. [default: info]")
@click.option("--min-confidence", type=CONFIDENCES, help="Show findings from this confidence on. [default: high]")
@click.option("--fail-level", type=SEVERITIES, help="Exit with 1 from this severity on. [default: warning]")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--quiet", "-q", is_flag=True, help="In text, leave out the summary: print findings only.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 also when there are findings.")
@click.option(
    "--compiler",
    metavar="NAME",
    help="Compile all formulas as well, with this C++ compiler and the headers of the installed torch; takes seconds.",
)
@click.option("--no-cache", is_flag=True, help="Read headers anew, and keep nothing.")
@click.option("--show-settings", is_flag=True, help="Print what would be checked, with what, and why; check nothing.")
def check(
    paths: tuple[str, ...],
    output_format: str,
    color: str,
    quiet: bool,
    exit_zero: bool,
    compiler: str | None,
    no_cache: bool,
    show_settings: bool,
    no_config: bool,
    stdin_filename: str | None,
    **given: Any,
) -> None:
    """Check derivatives files.

    PATHS are files, folders (searched for derivatives*.yaml), patterns, or - for standard input. Without PATHS, what
    the configuration names is checked, else the nearest derivatives file, or with --torch installed the file that
    ships inside the installed torch.

    With --compiler, what the compiler refuses and derivlint does not is reported as compiler-error: the final word,
    where there is a compiler.

    The exit status is 0 where nothing is at the fail level or above, 1 where something is, 2 for wrong usage or a file
    that cannot be read, and 3 for an error in derivlint itself.
    """
    from derivlint.cli.run import Run
    from derivlint.rules import load_rules

    _convert(given, "min_severity", Severity)
    _convert(given, "min_confidence", Confidence)
    _convert(given, "fail_level", Severity)
    lookup = SettingsOfFiles(no_config, **given)
    files = derivatives_files(paths, lookup.of_folder(Path.cwd()))
    folders = {path: folder_of(path, stdin_filename) for path in files}
    # every configuration is read before the first check, so that a mistake in one is told at once
    settings = {path: lookup.of_folder(folder) for path, folder in folders.items()}
    rules = {path: settings[path].selected(load_rules()) for path in files}
    if show_settings:
        names = {path: [rule.name for rule in rules[path]] for path in files}
        write("".join(f"{line}\n" for line in _settings_lines(settings, folders, names)))
        return
    run = Run(stdin_filename, use_cache=not no_cache, compiler=compiler)
    for path in with_progress(files):
        run.check(path, folders[path], settings[path], rules[path])
    report = run.report()
    if output_format == "json":
        from derivlint.formats.json_format import render_json

        write(render_json(report), utf8=True)
    else:
        _print_text(report, wants_color(color), summary=not quiet)
    click.get_current_context().exit(run.status(exit_zero))


def _convert(given: dict[str, Any], name: str, kind: Any) -> None:
    if given[name] is not None:
        given[name] = kind(given[name])


def _print_text(report: Report, color: bool, summary: bool) -> None:
    from derivlint.formats.text import render_text

    # where no file could be read, "no findings" would be a lie
    write_lines(render_text(report, terminal_width(), summary and bool(report.sources)), color)


def with_progress(files: list[str]) -> Iterator[str]:
    """The files; on a terminal, where there are many of them, with a line that says how far the run is."""
    shown = len(files) >= MANY_FILES
    for number, path in enumerate(files, 1):
        if shown:
            show_progress(f"checking {number} of {len(files)}: {path}")
        yield path
    if shown:
        show_progress("")


def _settings_lines(
    settings: dict[str, Settings], folders: dict[str, Path], rules: dict[str, list[str]]
) -> Iterator[str]:
    """The settings of each file, with what they are taken from."""
    for path, of_file in settings.items():
        operators = operators_for(folders[path], of_file)
        yield f"file: {path}"
        yield f"  configuration: {of_file.origin or 'none'}"
        yield f"  operators: {operators.describe()}"
        yield f"  tags: {operators.tags or ('of the index' if operators.bundled else 'none')}"
        yield f"  C++ functions: {operators.functions_manual or ('of the index' if operators.bundled else 'unknown')}"
        yield f"  headers: {', '.join(map(str, operators.headers)) or 'none'}"
        yield f"  min-severity: {of_file.min_severity.value}"
        yield f"  min-confidence: {of_file.min_confidence.value}"
        yield f"  fail-level: {of_file.fail_level.value}"
        yield f"  preview: {'on' if of_file.preview else 'off'}"
        yield f"  rules: {len(rules[path])}"
        yield from (f"    {name}" for name in rules[path])
