"""The command line: the group and its commands, each imported when it is called."""

from __future__ import annotations

from importlib import import_module

import click

from derivlint import __version__, version_text
from derivlint.cli.exits import CLEAN, INTERNAL, INTERRUPTED, REPORT_HINT, USAGE, debugging, internal_error, tell
from derivlint.project.errors import InputError

#: Each command and the module that holds it.
COMMANDS = {
    "check": "derivlint.cli.check",
    "completion": "derivlint.cli.completion",
    "coverage": "derivlint.cli.coverage",
    "derive": "derivlint.cli.derive",
    "dev": "derivlint.cli.dev",
    "docs": "derivlint.cli.docs",
    "emit": "derivlint.cli.emit",
    "index": "derivlint.cli.index",
    "lsp": "derivlint.cli.lsp",
    "model": "derivlint.cli.model",
    "rule": "derivlint.cli.rules",
    "rules": "derivlint.cli.rules",
    "show": "derivlint.cli.show",
    "verify": "derivlint.cli.verify",
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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; a misspelt one is told with the one that is probably meant."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from derivlint.lint.wording import did_you_mean

            question = did_you_mean(args[0], COMMANDS) or '"derivlint --help" lists them'
            ctx.fail(f'no such command "{args[0]}"; {question}')
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; what the user can mend is told, with the exit status of wrong usage."""
        try:
            return super().invoke(ctx)
        except InputError as error:
            for message in error.messages:
                tell(message)
            ctx.exit(USAGE)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", "-V", message=version_text())
def cli() -> None:
    """Linter and static checker for PyTorch's derivatives.yaml."""


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit status; whatever goes wrong is told on standard error.

    Raises:
        Exception: of any kind, only if ``DERIVLINT_DEBUG`` is set.
    """
    try:
        status = cli.main(arguments, prog_name="derivlint", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:
        if debugging():
            raise
        tell(internal_error(error))
        tell(REPORT_HINT)
        return INTERNAL
    return status if isinstance(status, int) else CLEAN
