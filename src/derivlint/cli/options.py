"""Options that commands share, and what they say of the files to read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from derivlint.lint import Confidence, Severity

SEVERITIES = click.Choice([severity.value for severity in reversed(Severity)])
CONFIDENCES = click.Choice([confidence.value for confidence in reversed(Confidence)])
EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)

Command = TypeVar("Command", bound=Callable[..., Any])


def rule_names(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Rule names, given one by one or separated by commas."""
    return tuple(name.strip() for item in value for name in item.split(",") if name.strip())


def source_options(function: Command) -> Command:
    """The options that say what to read, shared by commands that read derivatives files."""
    options = [
        click.argument("paths", nargs=-1, metavar="[PATHS]..."),
        click.option(
            "--native-functions",
            multiple=True,
            type=EXISTING,
            help="A native_functions.yaml; repeat it for several, later ones win. With --torch they add to its "
            "operators. Default: that of the PyTorch checkout around the file, else the bundled operator index.",
        ),
        click.option("--tags", type=EXISTING, help="A tags.yaml. Default: the one beside native_functions.yaml."),
        click.option(
            "--torch",
            metavar="VERSION|installed",
            help="Use the bundled index of that PyTorch version, or the files of the installed torch.",
        ),
        click.option(
            "--headers",
            multiple=True,
            type=EXISTING,
            help="A C++ header with functions that formulas call; repeatable. PyTorch's FunctionsManual.h is found "
            "beside native_functions.yaml, or is part of the bundled index.",
        ),
        click.option("--no-config", is_flag=True, help="Read no pyproject.toml and no derivlint.toml."),
        click.option("--stdin-filename", metavar="NAME", help="What messages call standard input (-)."),
    ]
    for option in reversed(options):
        function = option(function)
    return function
