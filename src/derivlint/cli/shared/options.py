"""Options that commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import click

from derivlint.cli import completing
from derivlint.lint import Confidence, Severity
from derivlint.project.globs import PathGlob
from derivlint.source.reading import accept_special

SEVERITIES = click.Choice([severity.value for severity in reversed(Severity)])
CONFIDENCES = click.Choice([confidence.value for confidence in reversed(Confidence)])


class InputPath(click.Path):
    """A file to read; one below ``/dev`` or ``/proc`` may be a pipe or a device."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the path and let it be read."""
        path: Any = super().convert(value, param, ctx)
        accept_special(path)
        return path


EXISTING = InputPath(exists=True, dir_okay=False, path_type=Path)

Command = TypeVar("Command", bound=Callable[..., Any])
Callback = Callable[[click.Context, click.Parameter, Any], Any]


def rule_names(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Rule names, given one by one or separated by commas."""
    return tuple(name.strip() for item in value for name in item.split(",") if name.strip())


def inputs(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Files to read, ``@FILE`` among them; those below ``/dev`` or ``/proc`` may be pipes or devices."""
    from derivlint.project.arguments import LIST_MARK

    for name in value:
        accept_special(name.removeprefix(LIST_MARK))
    return value


def globs(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[PathGlob, ...]:
    """Patterns of paths, relative to the working folder."""
    return tuple(PathGlob(pattern, Path.cwd()) for pattern in value)


def one_of(values: type[Enum]) -> Callback:
    """The value of an enumeration by its name, or None."""
    return lambda context, parameter, value: None if value is None else values(value)


def source_options(function: Command) -> Command:
    """Add the options of commands that read derivatives files."""
    options = [
        click.argument("paths", nargs=-1, metavar="[PATHS]...", callback=inputs),
        operator_options,
        click.option("--stdin-filename", metavar="NAME", help="What messages call standard input (-)."),
    ]
    return _with(options, function)


def operator_options(function: Command) -> Command:
    """Add the options for operators and configurations."""
    options = [
        click.option(
            "--native-functions",
            multiple=True,
            type=EXISTING,
            help="A native_functions.yaml; repeat it for several, later ones win. Partial files extend PyTorch's "
            "operators; a complete one replaces them unless --torch is given. Default: that of the PyTorch checkout "
            "around the file, else the bundled operator index of the release whose schemas the file has, PyTorch 2.13 "
            "where several have them.",
        ),
        click.option(
            "--pytorch-operators/--no-pytorch-operators",
            default=None,
            help="Whether operators of --native-functions may add to PyTorch's. [default: yes]",
        ),
        click.option("--tags", type=EXISTING, help="A tags.yaml. Default: the one beside native_functions.yaml."),
        click.option(
            "--torch",
            metavar="VERSION|installed",
            shell_complete=completing.versions,
            help="Use the bundled operators of that PyTorch release, 2.1 to 2.15, or the files of the installed torch.",
        ),
        click.option(
            "--headers",
            multiple=True,
            type=EXISTING,
            help="A C++ header with functions that formulas call; repeatable. PyTorch's FunctionsManual.h is found "
            "beside native_functions.yaml, or is part of the bundled index.",
        ),
        click.option(
            "--helper-bodies",
            type=EXISTING,
            help="The C++ source with the bodies of the functions that formulas call. Default: the FunctionsManual.cpp "
            "beside FunctionsManual.h, where there is one.",
        ),
        click.option(
            "--config",
            multiple=True,
            callback=inputs,
            metavar="PATH|KEY=VALUE",
            help="Read this configuration instead of the nearest one, or set one key of it, with a value as in TOML: "
            "'min-severity=\"error\"', 'severity.undefined-name=\"off\"'; repeatable.",
        ),
        click.option(
            "--isolated", "--no-config", "no_config", is_flag=True, help="Read no pyproject.toml and no derivlint.toml."
        ),
    ]
    return _with(options, function)


def emission_options(function: Command) -> Command:
    """Add the options of commands that write code: selected operators, allowed errors, dry runs."""
    names: dict[str, Any] = {"multiple": True, "callback": rule_names, "metavar": "NAMES"}
    options = [
        click.option(
            "--ops", **names, shell_complete=completing.operators, help="Emit only these operators. [default: all]"
        ),
        click.option("--ignore", **names, shell_complete=completing.rules, help="Errors of these rules do not count."),
        click.option("--force", is_flag=True, help="Emit in spite of errors."),
        click.option("--check", is_flag=True, help="Write nothing; exit with 1 where something is stale."),
        click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True),
    ]
    return _with(options, function)


def settings_options(function: Command) -> Command:
    """Add the options that override the configuration: selected rules, severities, confidences."""
    names: dict[str, Any] = {
        "multiple": True,
        "callback": rule_names,
        "metavar": "NAMES",
        "shell_complete": completing.rules,
    }
    options = [
        click.option("--select", **names, help='Run only these rules: names, patterns ("missing-*"), groups, or ALL.'),
        click.option("--ignore", **names, help="Do not run these rules."),
        click.option("--extend-select", **names, help="Also run these rules, in addition to the selected ones."),
        click.option("--preview", is_flag=True, default=None, help="Run rules in preview as well."),
        click.option(
            "--min-severity",
            type=SEVERITIES,
            callback=one_of(Severity),
            help="Show findings from this severity on. [default: info]",
        ),
        click.option(
            "--min-confidence",
            type=CONFIDENCES,
            callback=one_of(Confidence),
            help="Show findings from this confidence on. [default: high]",
        ),
        click.option(
            "--fail-level",
            type=SEVERITIES,
            callback=one_of(Severity),
            help="Exit with 1 from this severity on. [default: warning]",
        ),
        click.option(
            "--exclude",
            multiple=True,
            callback=globs,
            metavar="PATTERN",
            help="Do not check files that match, when they are found in a folder or by a pattern; repeatable.",
        ),
        click.option(
            "--force-exclude", is_flag=True, default=None, help="Do not check excluded files even if they are named."
        ),
    ]
    return _with(options, function)


def show_options(function: Command) -> Command:
    """The options that show what would be checked, instead of checking it."""
    options = [
        click.option(
            "--show-settings", is_flag=True, help="Print what would be checked, with what, and why; check nothing."
        ),
        click.option("--show-files", is_flag=True, help="Print the files that would be checked; check nothing."),
    ]
    return _with(options, function)


def _with(options: Iterable[Callable[[Command], Command]], function: Command) -> Command:
    for option in reversed(list(options)):
        function = option(function)
    return function
