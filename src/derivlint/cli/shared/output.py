"""The output of ``derivlint check``: its options, and writing the report."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import Struct
from msgspec.structs import replace

from derivlint.cli.shared.help import GroupedCommand
from derivlint.cli.shared.options import color_option, with_options
from derivlint.cli.shared.terminal import (
    CLEAN,
    terminal_width,
    text_of,
    wants_color,
    warn,
    write_json,
    write_lines,
    write_rendered,
)
from derivlint.formats import Report
from derivlint.formats.places import repository_root
from derivlint.formats.registry import FORMATS
from derivlint.project.errors import InputError, writing
from derivlint.source import write_file

#: The environment variable with the default format.
FORMAT_VARIABLE = "DERIVLINT_OUTPUT_FORMAT"
LINTRUNNER = "lintrunner"
#: The formats that can show counts.
WITH_STATISTICS = ("text", "concise", "json")

Command = TypeVar("Command", bound=Callable[..., Any])


class OutputOptions(Struct, frozen=True):
    """The options for output.

    Attributes:
        format: the name of the format.
        file: the file that the report is written to instead of standard output.
        color: ``auto``, ``always`` or ``never``.
        quiet: whether to omit the summary.
        verbose: whether to log the files read and the time taken.
        statistics: whether to show counts for each rule.
        show_fixes: whether to show the fix of each finding.
    """

    format: str
    file: Path | None
    color: str
    quiet: bool
    verbose: bool
    statistics: bool
    show_fixes: bool

    def show(self, report: Report, *, quiet: bool = False) -> None:
        """Write the report to its destination.

        Args:
            report: the report.
            quiet: whether to omit the summary in any case.

        Raises:
            InputError: the destination cannot be written to.
        """
        report = replace(
            report, root=repository_root(Path.cwd()), statistics=self.statistics, show_fixes=self.show_fixes
        )
        chosen = FORMATS[self.format]
        if not chosen.styled:
            text = chosen.render(report)
        else:
            # if no file could be read, "no findings" would be wrong
            summary = bool(report.sources) and not quiet and not self.quiet
            lines = chosen.lines(report, terminal_width() if self.file is None else None, summary)
            if self.file is None:
                write_lines(lines, wants_color(self.color))
                return
            text = text_of(lines, self.color == "always")
        if self.file is None:
            write_rendered(text, utf8=True)
        else:
            write_report(self.file, text)

    def log(self, message: str) -> None:
        """Log a step of the run, if it is verbose."""
        if self.verbose:
            warn(message)

    def status(self, status: int) -> int:
        """Return the exit status, always 0 for lintrunner, which treats others as a crash."""
        return CLEAN if self.format == LINTRUNNER else status


def output_options(function: Command) -> Command:
    """Add the options to a command, passed as one argument ``output``."""

    @wraps(function)
    def command(*args: Any, **values_of_options: Any) -> Any:
        names = {"format": "output_format", "file": "output_file"}
        values = {name: values_of_options.pop(names.get(name, name)) for name in OutputOptions.__struct_fields__}
        output = OutputOptions(**values)
        if output.statistics and output.format not in WITH_STATISTICS:
            raise InputError(f'--statistics is for the formats {", ".join(WITH_STATISTICS)}, not for "{output.format}"')
        if output.file is not None and not os.path.isdir(output.file.absolute().parent):
            raise InputError(f'cannot write "{output.file}": there is no folder "{output.file.parent}"')
        return function(*args, output=output, **values_of_options)

    options = [
        click.option(
            "--output-format",
            type=click.Choice(list(FORMATS)),
            default="text",
            show_default=True,
            envvar=FORMAT_VARIABLE,
            show_envvar=False,
            help=f"Write {', '.join(FORMATS)}.",
            metavar="FORMAT",
        ),
        click.option(
            "--output-file",
            "-o",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="PATH",
            help="Write the output to this file.",
        ),
        color_option,
        click.option("--quiet", "-q", is_flag=True, help="Print findings only, without the summary."),
        click.option(
            "--verbose",
            "-v",
            is_flag=True,
            help="Log inputs and timings to standard error.",
        ),
        click.option("--statistics", is_flag=True, help="Print the number of findings per rule."),
        click.option("--show-fixes", is_flag=True, help="In text, show what each fix changes."),
    ]
    wrapped: Any = command
    result: Command = with_options(options, wrapped)
    return result


class CheckCommand(GroupedCommand):
    """A command that reports its errors in the format of lintrunner, if requested."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; for lintrunner, user errors become messages in its format."""
        if ctx.params.get("output_format") != LINTRUNNER:
            return super().invoke(ctx)
        try:
            return super().invoke(ctx)
        except InputError as error:
            from derivlint.formats.machine.ci import problem_message
            from derivlint.formats.machine.json_format import json_line

            text = f"{json_line(problem_message(str(error)))}\n"
            file = ctx.params.get("output_file")
            if file is not None and os.path.isdir(file.absolute().parent):
                write_report(file, text)
            else:
                write_json(text)
            ctx.exit(CLEAN)


def write_report(path: Path, text: str) -> None:
    """Write a report into a file, atomically unless it is a pipe or a device.

    Raises:
        InputError: the destination cannot be written to.
    """
    data = text.encode("utf-8", "backslashreplace")
    with writing(path):
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            mode = stat.S_IFREG
        if stat.S_ISREG(mode):
            write_file(path, data)
        else:
            path.write_bytes(data)
