"""The option ``--watch``: a command that runs again whenever a file that it read changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def watch_option(function: Command) -> Command:
    """The option, which makes a command run until it is interrupted."""

    @wraps(function)
    def command(*args: Any, watch: bool, **options: Any) -> Any:
        if not watch:
            return function(*args, **options)
        from derivlint.cli.checking.watch import run_and_watch

        return run_and_watch(click.get_current_context(), lambda: function(*args, **options))

    text = "Check again whenever a derivatives file, its operators, headers or configuration change, until Ctrl-C."
    wrapped: Any = click.option("--watch", "-w", is_flag=True, help=text)(command)
    result: Command = wrapped
    return result
