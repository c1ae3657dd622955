"""The command line: the group and its commands, each imported when it is called."""

from __future__ import annotations

from importlib import import_module

import click

from derivlint import __version__

#: Command, module and short help; help is here so that listing commands imports none of them.
COMMANDS = {
    "check": "derivlint.cli.check",
    "docs": "derivlint.cli.docs",
    "index": "derivlint.cli.index",
    "model": "derivlint.cli.model",
    "rule": "derivlint.cli.rules",
    "rules": "derivlint.cli.rules",
}


class LazyGroup(click.Group):
    """A group whose commands are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One command, or None where there is none of that name."""
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        command = getattr(import_module(module), cmd_name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", "-V", message="derivlint %(version)s")
def cli() -> None:
    """Linter and static checker for PyTorch's derivatives.yaml."""
