"""Shell completion of arguments: names of rules and operators, and versions of PyTorch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def rules(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete rule names; options accept several, separated by commas."""
    from derivlint.rules import NAMES

    return _listed(incomplete, NAMES)


def operators(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete operator names; options accept several, separated by commas."""
    from derivlint.schema import load_index

    return _listed(incomplete, load_index().operator_names())


def versions(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete versions: the bundled releases and the installed one."""
    from derivlint.operators.history import bundled_versions
    from derivlint.project.operators import INSTALLED

    names = (".".join(version.split(".")[:2]) for version in bundled_versions())
    return _listed(incomplete, (*names, INSTALLED))


def _listed(incomplete: str, names: Iterable[str]) -> list[CompletionItem]:
    """Complete the last name of a comma-separated list."""
    from click.shell_completion import CompletionItem

    before, comma, last = incomplete.rpartition(",")
    return [CompletionItem(f"{before}{comma}{name}") for name in sorted(names) if name.startswith(last)]
