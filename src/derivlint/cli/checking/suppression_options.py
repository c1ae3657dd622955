"""The options of ``derivlint check`` that suppress findings."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from derivlint.cli.shared.options import InputPath
from derivlint.project.errors import InputError


class SuppressionOptions(Struct, frozen=True):
    """The options that suppress findings.

    Attributes:
        no_ignores: whether comments silence nothing.
        add_ignores: the reason of the comments that are added; None to add none.
        update_baseline: whether the baseline takes what is found.
        prune_baseline: whether stale entries are removed from the baseline.
        diff_base: the revision with which entries are compared, None to show all.
    """

    no_ignores: bool = False
    add_ignores: str | None = None
    update_baseline: bool = False
    prune_baseline: bool = False
    diff_base: str | None = None


def suppression_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options, as one argument ``suppressions``; ``baseline`` stays an argument of its own."""

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
            raise InputError('"--add-ignores" adds nothing that counts with "--no-ignores"')
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
            help="Report only findings in entries that changed since this git revision; main... is where HEAD left "
            "main.",
        ),
        click.option("--prune-baseline", is_flag=True, help="Remove stale entries from the baseline."),
        click.option("--update-baseline", is_flag=True, help="Add all current findings to the baseline."),
        click.option(
            "--baseline",
            type=InputPath(dir_okay=False, path_type=Path),
            help="A file of findings that are known and not reported.",
        ),
        click.option(
            "--add-ignores",
            metavar="REASON",
            help="Add a comment # derivlint: ignore[...] REASON for everything that is found; of standard input, "
            "print the text with the comments.",
        ),
        click.option("--no-ignores", is_flag=True, help="Show also what comments in the files silence."),
    ):
        with_suppressions = option(with_suppressions)
    return with_suppressions
