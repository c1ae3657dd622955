"""The command line: the group and its commands, which are imported on demand."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

import click

from derivlint.cli.shared.terminal import (
    CLEAN,
    INTERNAL,
    INTERRUPTED,
    REPORT_HINT,
    USAGE,
    debugging,
    failed_stream,
    internal_error,
    print_traceback,
    report_usage_error,
    warn,
)
from derivlint.project.errors import InputError
from derivlint.project.untrusted import VARIABLE, is_requested
from derivlint.source.reading import forget_accepted
from derivlint.version import __version__, version_text

#: The module of each command.
COMMANDS = {
    "check": "derivlint.cli.checking.check",
    "clean": "derivlint.cli.clean",
    "completion": "derivlint.cli.completion",
    "coverage": "derivlint.cli.coverage",
    "derive": "derivlint.cli.derive",
    "emit": "derivlint.cli.emit",
    "index": "derivlint.cli.index",
    "lsp": "derivlint.cli.lsp",
    "model": "derivlint.cli.model",
    "new": "derivlint.cli.new",
    "review": "derivlint.cli.review",
    "rule": "derivlint.cli.rules",
    "rules": "derivlint.cli.rules",
    "run": "derivlint.cli.run",
    "show": "derivlint.cli.show",
    "suggest": "derivlint.cli.suggest",
    "verify": "derivlint.cli.verification.verify",
}

#: The commands that compile and run the code in files, which ``--untrusted`` excludes.
RUNS_CODE = ("run", "verify")


class LazyGroup(click.Group):
    """A group whose commands are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, or None."""
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        command = getattr(import_module(module), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands in groups."""
        from derivlint.cli.shared.help import format_commands

        format_commands(self, ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Look up the command; report a misspelt name with a suggestion."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from derivlint.lint.wording import unknown_name

            ctx.fail(unknown_name(f'no such command "{args[0]}"', args[0], COMMANDS, '"derivlint --help" lists them'))
        if args and args[0] in RUNS_CODE and is_requested():
            raise InputError(f'"derivlint {args[0]}" compiles and runs formulas, which {VARIABLE} forbids')
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; report user errors with the exit status of wrong usage."""
        forget_accepted()
        try:
            return super().invoke(ctx)
        except InputError as error:
            for message in error.messages:
                warn(message)
            ctx.exit(USAGE)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "--version", "-V", message=version_text())
def cli() -> None:
    """Lint, check and generate code from PyTorch's derivatives.yaml."""


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit status; errors are reported on standard error.

    The traceback of an unexpected error is shown only if ``DERIVLINT_DEBUG`` is set.
    """
    try:
        status = cli.main(arguments, prog_name="derivlint", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except SystemExit:
        # click raises this when the reader of a pipe exits, which is not an error
        failed_stream()
        return CLEAN
    except Exception as error:
        return _failed(error)
    lost = failed_stream()
    if lost is not None and not isinstance(lost, BrokenPipeError):
        # messages could not be written
        return USAGE
    return status if isinstance(status, int) else CLEAN


def _failed(error: Exception) -> int:
    """Report the error that ended a command on standard error, if possible, and return the exit status."""
    lost = failed_stream() if isinstance(error, OSError) else None
    with suppress(OSError):
        if isinstance(error, click.ClickException):
            report_usage_error(error)
        elif lost is not None:
            warn(f"cannot write the output: {lost.strerror or lost}")
        elif isinstance(error, OSError):
            # an unexpected file system error
            cause = f'cannot use "{error.filename}"' if error.filename is not None else "a system call failed"
            warn(f"{cause}: {error.strerror or error}")
        else:
            if debugging():
                print_traceback(error)
            warn(internal_error(error))
            warn(REPORT_HINT)
    failed_stream()
    if isinstance(error, click.ClickException):
        return error.exit_code
    return USAGE if isinstance(error, OSError) else INTERNAL
