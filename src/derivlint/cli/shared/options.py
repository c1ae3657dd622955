"""Options shared by commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import click

from derivlint.cli import completion
from derivlint.lint import Confidence, Severity
from derivlint.project.globs import PathGlob
from derivlint.source.reading import accept_special

SEVERITIES = click.Choice([severity.value for severity in reversed(Severity)])
CONFIDENCES = click.Choice([confidence.value for confidence in reversed(Confidence)])


class InputPath(click.Path):
    """A path to read; below ``/dev`` or ``/proc`` it may be a pipe or a device."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Validate the path, and allow it to be read."""
        path: Any = super().convert(value, param, ctx)
        accept_special(path)
        return path


EXISTING = InputPath(exists=True, dir_okay=False, path_type=Path)

Command = TypeVar("Command", bound=Callable[..., Any])
Callback = Callable[[click.Context, click.Parameter, Any], Any]


def rule_names(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Split rule names at commas."""
    return tuple(name.strip() for item in value for name in item.split(",") if name.strip())


def inputs(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Allow file arguments, and the FILE of ``@FILE``, to be pipes or devices below ``/dev`` or ``/proc``."""
    from derivlint.project.files import LIST_MARK

    for name in value:
        accept_special(name.removeprefix(LIST_MARK))
    return value


def globs(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[PathGlob, ...]:
    """Convert path patterns relative to the working folder."""
    return tuple(PathGlob(pattern, Path.cwd()) for pattern in value)


def one_of(values: type[Enum]) -> Callback:
    """Return the callback that converts a value to the member of an enumeration."""
    return lambda context, parameter, value: None if value is None else values(value)


#: The option ``--color``, for ``wants_color``.
color_option = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Color the output.",
)


def ops_option(help: str) -> Callable[[Command], Command]:
    """Return the option that selects operators."""
    return click.option(
        "--ops",
        multiple=True,
        callback=rule_names,
        metavar="NAMES",
        shell_complete=completion.operators,
        help=help,
    )


def source_options(function: Command) -> Command:
    """Add the options of commands that read derivatives files."""
    options = [
        click.argument("paths", nargs=-1, metavar="[PATHS]...", callback=inputs),
        operator_options,
        click.option("--stdin-filename", metavar="NAME", help="Report standard input (-) under this name."),
    ]
    return with_options(options, function)


def operator_options(function: Command) -> Command:
    """Add the options for operators and configurations."""
    options = [
        click.option(
            "--native-functions",
            multiple=True,
            type=EXISTING,
            help="Declare operators with this native_functions.yaml; repeatable.",
        ),
        click.option(
            "--pytorch-operators/--no-pytorch-operators",
            default=None,
            help="Combine the declared operators with PyTorch's. [default: yes]",
        ),
        click.option("--tags", type=EXISTING, help="Read this tags.yaml. [default: beside native_functions.yaml]"),
        click.option(
            "--torch",
            metavar="VERSION|installed",
            shell_complete=completion.versions,
            help="Use the operators of release 2.1 to 2.15 or of the installed torch.",
        ),
        click.option(
            "--headers",
            multiple=True,
            type=EXISTING,
            help="Read declarations of called functions from a C++ header; repeatable.",
        ),
        click.option(
            "--helper-bodies",
            type=EXISTING,
            help="Read definitions of called functions from a C++ source.",
        ),
        click.option(
            "--config",
            multiple=True,
            callback=inputs,
            metavar="PATH|KEY=VALUE",
            help="Read this configuration, or set one key (TOML value); repeatable.",
        ),
        click.option(
            "--isolated",
            "--no-config",
            "no_config",
            is_flag=True,
            help="Ignore every pyproject.toml and derivlint.toml.",
        ),
    ]
    return with_options(options, function)


def emission_options(function: Command) -> Command:
    """Add the options of commands that generate code: selected operators, allowed errors, dry runs."""
    options = [
        ops_option("Emit only these operators. [default: *, all]"),
        click.option(
            "--ignore",
            multiple=True,
            callback=rule_names,
            metavar="NAMES",
            shell_complete=completion.rules,
            help="Disregard errors of these rules.",
        ),
        click.option("--allow-errors", is_flag=True, help="Emit despite errors."),
        click.option("--check", is_flag=True, help="Write nothing; exit with 1 if anything is stale."),
        color_option,
    ]
    return with_options(options, function)


def settings_options(function: Command) -> Command:
    """Add the options that override the configuration: selected rules, severities, confidences."""
    names: dict[str, Any] = {
        "multiple": True,
        "callback": rule_names,
        "metavar": "NAMES",
        "shell_complete": completion.rules,
    }
    options = [
        click.option("--select", **names, help="Run only these rules: names, patterns (missing-*), groups, or ALL."),
        click.option("--ignore", **names, help="Do not run these rules."),
        click.option("--extend-select", **names, help="Run these rules as well."),
        click.option("--preview", is_flag=True, default=None, help="Run preview rules as well."),
        click.option(
            "--min-severity",
            type=SEVERITIES,
            callback=one_of(Severity),
            help="Hide findings less severe than error, warning or info. [default: info]",
            metavar="LEVEL",
        ),
        click.option(
            "--min-confidence",
            type=CONFIDENCES,
            callback=one_of(Confidence),
            help="Hide findings below high, medium or low. [default: high]",
            metavar="LEVEL",
        ),
        click.option(
            "--fail-level",
            type=SEVERITIES,
            callback=one_of(Severity),
            help="Exit with 1 at or above error, warning or info. [default: warning]",
            metavar="LEVEL",
        ),
        click.option(
            "--exclude",
            multiple=True,
            callback=globs,
            metavar="PATTERN",
            help="Skip matching files found in folders or by patterns; repeatable.",
        ),
        click.option("--force-exclude", is_flag=True, default=None, help="Skip excluded files even if they are named."),
    ]
    return with_options(options, function)


def show_options(function: Command) -> Command:
    """Add the options that show the settings or files instead of checking."""
    options = [
        click.option(
            "--show-settings", is_flag=True, help="Print files, inputs and settings with their sources, and exit."
        ),
        click.option("--show-files", is_flag=True, help="Print the files to check, and exit."),
    ]
    return with_options(options, function)


def with_options(options: Sequence[Callable[[Command], Command]], function: Command) -> Command:
    """Add options to a command, which its help lists in this order."""
    for option in reversed(options):
        function = option(function)
    return function
