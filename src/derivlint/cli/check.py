"""``derivlint check``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from derivlint.cli.exits import CLEAN, FINDINGS, INTERNAL, USAGE, InputError
from derivlint.cli.inputs import INSTALLED, STDIN, derivatives_files, load_operators, operators_for, read_source
from derivlint.cli.settings import Settings, find_settings
from derivlint.cli.terminal import terminal_width, wants_color, write_lines
from derivlint.formats import Filter, Report
from derivlint.lint import Confidence, Diagnostic, Severity, run_rules
from derivlint.source import SourceError, SourceFile

SEVERITIES = click.Choice([severity.value for severity in reversed(Severity)])
CONFIDENCES = click.Choice([confidence.value for confidence in reversed(Confidence)])
EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)


def _names(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Rule names, given one by one or separated by commas."""
    return tuple(name.strip() for item in value for name in item.split(",") if name.strip())


def source_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which operators to use, shared by commands that read derivatives files."""
    options = [
        click.argument("paths", nargs=-1, metavar="[PATHS]..."),
        click.option(
            "--native-functions",
            multiple=True,
            type=EXISTING,
            help="A native_functions.yaml; repeat it for several, later ones win. Default: that of the PyTorch "
            "checkout around the file, else the bundled operator index.",
        ),
        click.option("--tags", type=EXISTING, help="The tags.yaml beside it."),
        click.option(
            "--torch",
            metavar="VERSION|installed",
            help="Use the bundled index of that PyTorch version, or the files of the installed torch.",
        ),
        click.option("--no-config", is_flag=True, help="Read no pyproject.toml and no derivlint.toml."),
        click.option("--stdin-filename", metavar="NAME", help="What messages call standard input (-)."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def settings_for(no_config: bool, paths: tuple[str, ...], **given: Any) -> Settings:
    """The settings of the nearest configuration file with what the command line gives instead."""
    first = next((path for path in paths if path != STDIN), None)
    start = Path.cwd()
    if first is not None and Path(first).exists():
        start = Path(first) if Path(first).is_dir() else Path(first).parent
    settings = Settings() if no_config else find_settings(start)
    return settings.overridden(**given)


@click.command(short_help="Check derivatives files.")
@source_options
@click.option("--select", multiple=True, callback=_names, metavar="NAMES", help="Run only these rules.")
@click.option("--ignore", multiple=True, callback=_names, metavar="NAMES", help="Do not run these rules.")
@click.option("--extend-select", multiple=True, callback=_names, metavar="NAMES", help="Run these rules besides.")
@click.option("--preview", is_flag=True, default=None, help="Run rules in preview as well.")
@click.option("--min-severity", type=SEVERITIES, help="Show findings from this severity on. [default: info]")
@click.option("--min-confidence", type=CONFIDENCES, help="Show findings from this confidence on. [default: high]")
@click.option("--fail-level", type=SEVERITIES, help="Exit with 1 from this severity on. [default: warning]")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--quiet", "-q", is_flag=True, help="Print nothing where there is nothing to report.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 also when there are findings.")
@click.option("--no-cache", is_flag=True, help="Accepted for scripts; derivlint keeps no cache.")
@click.option("--show-settings", is_flag=True, help="Print what would be checked, with what, and why; check nothing.")
def check(
    paths: tuple[str, ...],
    native_functions: tuple[Path, ...],
    tags: Path | None,
    torch: str | None,
    no_config: bool,
    stdin_filename: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    extend_select: tuple[str, ...],
    preview: bool | None,
    min_severity: str | None,
    min_confidence: str | None,
    fail_level: str | None,
    output_format: str,
    color: str,
    quiet: bool,
    exit_zero: bool,
    no_cache: bool,
    show_settings: bool,
) -> None:
    """Check derivatives files.

    PATHS are files, folders (searched for derivatives*.yaml), patterns, or - for standard input. Without PATHS, what
    the configuration names is checked, else the nearest derivatives file, or with --torch installed the file that
    ships inside the installed torch.

    The exit status is 0 where nothing is at the fail level or above, 1 where something is, 2 for wrong usage or a file
    that cannot be read, and 3 for an error in derivlint itself.
    """
    from derivlint.rules import load_rules

    settings = settings_for(
        no_config,
        paths,
        native_functions=native_functions,
        tags=tags,
        torch=torch,
        select=select,
        ignore=ignore,
        extend_select=extend_select,
        preview=preview,
        min_severity=Severity(min_severity) if min_severity else None,
        min_confidence=Confidence(min_confidence) if min_confidence else None,
        fail_level=Severity(fail_level) if fail_level else None,
    )
    files = derivatives_files(paths, settings)
    rules = settings.selected(load_rules())
    if show_settings:
        _print_settings(settings, files, [rule.name for rule in rules])
        return
    run = _Run(settings, stdin_filename)
    for path in _with_progress(files):
        run.check(path, rules)
    report = run.report()
    if not (quiet and not report.diagnostics):
        _print(report, output_format, color)
    sys.stdout.flush()
    sys.exit(run.status(report, exit_zero))


def _with_progress(files: list[str]) -> list[str]:
    """The files; on a terminal, where there are many of them, with a line that says how far the run is."""
    if len(files) < 5 or not sys.stderr.isatty():
        return files

    def shown() -> Any:
        for number, path in enumerate(files, 1):
            click.echo(f"\r\x1b[Kchecking {number} of {len(files)}: {path}", err=True, nl=False)
            yield path
        click.echo("\r\x1b[K", err=True, nl=False)

    return shown()  # type: ignore[no-any-return]


class _Run:
    """The files checked so far."""

    def __init__(self, settings: Settings, stdin_filename: str | None) -> None:
        self.settings = settings
        self.stdin_filename = stdin_filename
        self.filter = Filter(settings.min_severity, settings.min_confidence)
        self.diagnostics: list[Diagnostic] = []
        self.sources: dict[str, SourceFile] = {}
        self.entries = self.formulas = self.crashes = self.unreadable = 0

    def check(self, path: str, rules: Any) -> None:
        """Check one file; one that cannot be read is told at once, and the others go on."""
        from derivlint.model import build_model

        try:
            source = read_source(path, self.stdin_filename)
        except SourceError as error:
            click.echo(f"derivlint: {error}", err=True)
            self.unreadable += 1
            return
        natives = load_operators(operators_for(path, self.settings))
        for problem in natives.problems:
            line, column = problem.source.position(problem.span.start)
            click.echo(f"derivlint: {problem.source.path}:{line}:{column}: {problem.message}", err=True)
        model = build_model(source, natives)
        result = run_rules(model, rules)
        self.sources[source.path] = source
        self.entries += model.n_entries
        self.formulas += model.n_formulas
        self.crashes += result.internal_errors
        self.diagnostics.extend(result.diagnostics)

    def report(self) -> Report:
        """What there is to say of all files."""
        shown = tuple(sorted(item for item in self.diagnostics if self.filter.shows(item)))
        return Report(
            diagnostics=shown,
            sources=self.sources,
            entries=self.entries,
            formulas=self.formulas,
            hidden=len(self.diagnostics) - len(shown),
        )

    def status(self, report: Report, exit_zero: bool) -> int:
        """The exit status."""
        if self.crashes:
            return INTERNAL
        if self.unreadable:
            return USAGE
        failing = any(item.severity >= self.settings.fail_level for item in report.diagnostics)
        return FINDINGS if failing and not exit_zero else CLEAN


def _print(report: Report, output_format: str, color: str) -> None:
    if output_format == "json":
        from derivlint.formats.json_format import render_json

        sys.stdout.write(render_json(report))
        return
    from derivlint.formats.text import render_text

    write_lines(render_text(report, terminal_width()), wants_color(color))


def _print_settings(settings: Settings, files: list[str], rules: list[str]) -> None:
    click.echo(f"configuration: {settings.origin or 'none'}")
    for path in files:
        click.echo(f"file: {path}")
        try:
            operators = operators_for(path, settings)
        except InputError as error:
            click.echo(f"  operators: {error.format_message()}")
            continue
        click.echo(f"  operators: {operators.describe()}")
        click.echo(f"  tags: {operators.tags or 'none'}")
    click.echo(f"torch: {settings.torch or 'not set'}" + (" (files of the package)" if settings.torch == INSTALLED else ""))
    click.echo(f"minimal severity: {settings.min_severity.value}")
    click.echo(f"minimal confidence: {settings.min_confidence.value}")
    click.echo(f"fail level: {settings.fail_level.value}")
    click.echo(f"preview: {'on' if settings.preview else 'off'}")
    click.echo(f"rules: {len(rules)}")
    for name in rules:
        click.echo(f"  {name}")
