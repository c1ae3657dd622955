"""The options of ``derivlint check`` that suppress or fix findings, and ``--watch``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import Struct

from derivlint.cli.shared.options import InputPath
from derivlint.project.errors import InputError


class SuppressionOptions(Struct, frozen=True):
    """The options that suppress findings.

    Attributes:
        no_ignores: whether suppression comments are ignored.
        add_ignores: the reason in added suppression comments; None to add none.
        update_baseline: whether the findings are written to the baseline.
        prune_baseline: whether stale entries are removed from the baseline.
        diff_base: the git revision that entries are compared with, or None to check all.
    """

    no_ignores: bool = False
    add_ignores: str | None = None
    update_baseline: bool = False
    prune_baseline: bool = False
    diff_base: str | None = None


def suppression_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, passed as one argument ``suppressions``; ``baseline`` stays separate."""

    @wraps(command)
    def with_suppressions(
        *args: Any,
        no_ignores: bool,
        add_ignores: str | None,
        update_baseline: bool,
        prune_baseline: bool,
        diff_base: str | None,
        **kwargs: Any,
    ) -> Any:
        if add_ignores is not None and no_ignores:
            raise InputError('"--add-ignores" and "--no-ignores" exclude each other')
        if add_ignores is not None and update_baseline:
            raise InputError('use "--add-ignores" or "--update-baseline", not both')
        if add_ignores is not None and len(add_ignores.splitlines()) > 1:
            raise InputError('the reason of "--add-ignores" must be one line')
        options = SuppressionOptions(no_ignores, add_ignores, update_baseline, prune_baseline, diff_base)
        return command(*args, suppressions=options, **kwargs)

    for option in (
        click.option(
            "--diff-base",
            metavar="REV",
            help="Report only entries changed since REV; main... is the merge base.",
        ),
        click.option("--prune-baseline", is_flag=True, help="Remove stale entries from the baseline."),
        click.option("--update-baseline", is_flag=True, help="Add all current findings to the baseline."),
        click.option(
            "--baseline",
            type=InputPath(dir_okay=False, path_type=Path),
            help="Do not report the findings that this file lists.",
        ),
        click.option(
            "--add-ignores",
            metavar="REASON",
            help="Suppress all findings by comments with this reason.",
        ),
        click.option("--no-ignores", is_flag=True, help="Disregard comments that suppress findings."),
    ):
        with_suppressions = option(with_suppressions)
    return with_suppressions


class FixOptions(Struct, frozen=True):
    """The options for fixes.

    Attributes:
        unsafe: whether to apply fixes that may change the meaning.
        diff: whether to print a diff instead of writing files.
        only: whether remaining findings are omitted from the report.
    """

    unsafe: bool = False
    diff: bool = False
    only: bool = False


def fix_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, passed as one argument ``fixes``, None without any."""

    @wraps(command)
    def with_fixes(*args: Any, fix: bool, unsafe_fixes: bool, diff: bool, fix_only: bool, **kwargs: Any) -> Any:
        is_requested = fix or diff or fix_only
        if unsafe_fixes and not is_requested:
            raise InputError('"--unsafe-fixes" needs "--fix", "--fix-only" or "--diff"')
        fixes = FixOptions(unsafe=unsafe_fixes, diff=diff, only=fix_only) if is_requested else None
        return command(*args, fixes=fixes, **kwargs)

    for option in (
        click.option("--fix-only", is_flag=True, help="Apply safe fixes without reporting findings; exit with 0."),
        click.option("--diff", is_flag=True, help="Print fixes as a diff and apply none; exit with 1 if any."),
        click.option(
            "--unsafe-fixes",
            is_flag=True,
            help="Also apply fixes that may change the meaning, and suggestions that are certain.",
        ),
        click.option("--fix", is_flag=True, help="Apply safe fixes and report the remaining findings."),
    ):
        with_fixes = option(with_fixes)
    return with_fixes


Command = TypeVar("Command", bound=Callable[..., Any])


def watch_option(function: Command) -> Command:
    """Add the option ``--watch`` to a command."""

    @wraps(function)
    def command(*args: Any, watch: bool, **options: Any) -> Any:
        if not watch:
            return function(*args, **options)
        from derivlint.cli.checking.watch import run_and_watch

        return run_and_watch(click.get_current_context(), lambda: function(*args, **options))

    text = "Check again after every change of an input, until Ctrl-C."
    wrapped: Any = click.option("--watch", "-w", is_flag=True, help=text)(command)
    result: Command = wrapped
    return result
