"""``derivlint check``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from derivlint.cli.checking.options import (
    FixOptions,
    SuppressionOptions,
    fix_options,
    suppression_options,
    watch_option,
)
from derivlint.cli.shared.inputs import FallbackPolicy, resolve_inputs, settings_lines
from derivlint.cli.shared.options import settings_options, show_options, source_options
from derivlint.cli.shared.output import CheckCommand, OutputOptions, output_options
from derivlint.cli.shared.terminal import show_progress, warn, write_names
from derivlint.project.errors import InputError
from derivlint.project.files import LIST_MARK
from derivlint.project.settings import SettingsOfFiles
from derivlint.project.untrusted import OPTION, VARIABLE, require_inside

#: The minimum number of files for a progress line.
MIN_FILES_FOR_PROGRESS = 5


@click.command(cls=CheckCommand, short_help="Check derivatives files.")
@source_options
@settings_options
@output_options
@watch_option
@click.option("--exit-zero", is_flag=True, help="Exit with 0 despite findings.")
@click.option(
    "--compiler",
    metavar="NAME",
    help="Also compile all formulas with this compiler and torch's headers.",
)
@fix_options
@suppression_options
@click.option("--no-cache", is_flag=True, help="Do not read or write the cache.")
@click.option(
    "--untrusted",
    is_flag=True,
    help=f"Do not trust the repository's files (also: {VARIABLE}=1).",
)
@show_options
def check(
    paths: tuple[str, ...],
    output: OutputOptions,
    exit_zero: bool,
    compiler: str | None,
    no_cache: bool,
    untrusted: bool,
    show_settings: bool,
    show_files: bool,
    config: tuple[str, ...],
    no_config: bool,
    stdin_filename: str | None,
    fixes: FixOptions | None,
    suppressions: SuppressionOptions,
    **setting_options: Any,
) -> None:
    """Check derivatives files.

    PATHS are files, folders, patterns, - (standard input), or @FILE, which lists paths. Default: the configured files,
    else the nearest derivatives file.

    Exit status: 0 clean, 1 findings, 2 wrong usage or unreadable file, 3 internal error.
    """
    from derivlint.cli.checking.run import Run
    from derivlint.cli.checking.suppressing import SuppressionRunner
    from derivlint.cli.checking.watch import is_watched, remember

    lookup = SettingsOfFiles(no_config, config, untrusted=untrusted, **setting_options)
    if lookup.untrusted:
        require_harmless(click.get_current_context(), output, fixes, suppressions)
    keeps = setting_options["baseline"] is not None or suppressions != SuppressionOptions(
        no_ignores=suppressions.no_ignores
    )
    needs_own = fixes is not None or keeps or is_watched()
    inputs = resolve_inputs(
        lookup, paths, stdin_filename, FallbackPolicy.NEVER if needs_own else FallbackPolicy.OUTSIDE_OF_PROJECTS
    )
    files, folders, settings = inputs.files, inputs.folders, inputs.settings
    remember(files, folders, settings)
    if show_files:
        write_names(files)
        return
    if show_settings:
        from derivlint.rules import load_rules

        names = {path: [rule.name for rule in settings[path].selected(load_rules())] for path in files}
        write_names(settings_lines(inputs, names))
        return
    fixing = None
    if fixes is not None:
        from derivlint.cli.checking.fixing import FixRunner

        fixing = FixRunner(fixes)
    suppressing = SuppressionRunner(suppressions, fixes=fixing is not None)
    run = Run(
        stdin_filename,
        use_cache=not no_cache,
        compiler=compiler,
        fixing=fixing,
        suppressing=suppressing,
        log=output.log if output.verbose else None,
    )
    for path in with_progress(files):
        run.check(path, folders[path], settings[path])
    report = run.report()
    if fixing is not None:
        report = fixing.conclude(report, run.status, exit_zero)
        exit_zero = exit_zero or fixing.only
    status = suppressing.conclude(run.status(exit_zero), exit_zero)
    output.show(report, quiet=fixing is not None and fixing.only)
    if fixing is not None and not output.quiet:
        warn(fixing.summary)
    click.get_current_context().exit(output.status(status))


def require_harmless(
    context: click.Context, output: OutputOptions, fixes: FixOptions | None, suppressions: SuppressionOptions
) -> None:
    """Reject options that would compile or write files of an untrusted repository.

    Raises:
        InputError: there is such an option, or a path leads out of the repository.
    """
    parameters = context.params
    is_set = {
        "--compiler": parameters["compiler"] is not None,
        "--fix, --fix-only and --diff": fixes is not None,
        "--add-ignores": suppressions.add_ignores is not None,
        "--update-baseline": suppressions.update_baseline,
        "--prune-baseline": suppressions.prune_baseline,
    }
    refused = [option for option, value in is_set.items() if value]
    if refused:
        raise InputError(f"{OPTION} does not allow {' and '.join(refused)}")
    lists = [Path(path[1:]) for path in parameters["paths"] if path.startswith(LIST_MARK)]
    named = [Path(item) for item in parameters["config"] if "=" not in item]
    require_inside((output.file, parameters["baseline"], *lists, *named))


def with_progress(files: list[str]) -> Iterator[str]:
    """Iterate over the files, with a progress line on a terminal if there are many."""
    shown = len(files) >= MIN_FILES_FOR_PROGRESS
    for number, path in enumerate(files, 1):
        if shown:
            show_progress(f"checking {number} of {len(files)}: {path}")
        yield path
    if shown:
        show_progress("")
