"""``derivlint completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from derivlint.cli.shared.terminal import write

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
    completion_class = get_completion_class(shell)
    assert completion_class is not None
    command = click.get_current_context().find_root().command
    complete = completion_class(command, {}, PROGRAM, VARIABLE)
    # click's own method runs bash to get its version, and prints warnings about it
    write((complete.source_template % complete.source_vars()).strip() + "\n")
