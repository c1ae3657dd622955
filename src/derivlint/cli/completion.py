"""``derivlint completion``, and the completion of arguments: names of rules and operators, versions of PyTorch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from derivlint.cli.shared.terminal import write

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SHELLS = ("bash", "zsh", "fish")
PROGRAM = "derivlint"
#: The environment variable of completion requests; click derives it from the program's name.
VARIABLE = f"_{PROGRAM.upper()}_COMPLETE"

#: The line of ``\b`` keeps click from wrapping the lines below it.
HELP = """Print the shell completion script.

\b
bash: derivlint completion bash > ~/.local/share/bash-completion/completions/derivlint
zsh:  derivlint completion zsh > a folder of $fpath, as _derivlint
fish: derivlint completion fish > ~/.config/fish/completions/derivlint.fish
"""


@click.command(short_help="Print the shell completion script.", help=HELP)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the shell completion script."""
    from click.shell_completion import get_completion_class

    completion_class = get_completion_class(shell)
    assert completion_class is not None
    command = click.get_current_context().find_root().command
    complete = completion_class(command, {}, PROGRAM, VARIABLE)
    # click's own method runs bash to get its version, and prints warnings about it
    write((complete.source_template % complete.source_vars()).strip() + "\n")


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
