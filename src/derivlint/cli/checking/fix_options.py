"""The options of ``derivlint check`` that fix files."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click
from msgspec import Struct

from derivlint.project.errors import InputError


class FixOptions(Struct, frozen=True):
    """The options for fixes.

    Attributes:
        unsafe: whether to apply fixes that may change what is meant.
        diff: whether to show what would change instead of writing it.
        only: whether the remaining findings are not reported.
    """

    unsafe: bool = False
    diff: bool = False
    only: bool = False


def fix_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options, as one argument ``fixes``: None without any."""

    @wraps(command)
    def with_fixes(*args: Any, fix: bool, unsafe_fixes: bool, diff: bool, fix_only: bool, **kwargs: Any) -> Any:
        is_requested = fix or diff or fix_only
        if unsafe_fixes and not is_requested:
            raise InputError('"--unsafe-fixes" needs "--fix", "--fix-only" or "--diff"')
        fixes = FixOptions(unsafe=unsafe_fixes, diff=diff, only=fix_only) if is_requested else None
        return command(*args, fixes=fixes, **kwargs)

    for option in (
        click.option("--fix-only", is_flag=True, help="Fix, and report only that; exit with 0 whatever is left."),
        click.option(
            "--diff", is_flag=True, help="Print what would change; write nothing, and exit with 1 if anything would."
        ),
        click.option("--unsafe-fixes", is_flag=True, help="Also apply fixes that may change the meaning."),
        click.option("--fix", is_flag=True, help="Fix what can be fixed safely, and report what is left."),
    ):
        with_fixes = option(with_fixes)
    return with_fixes
