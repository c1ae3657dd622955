"""Exit statuses, the same for every format."""

from __future__ import annotations

import click

CLEAN = 0
FINDINGS = 1
USAGE = 2
INTERNAL = 3


class InputError(click.ClickException):
    """Wrong usage or configuration, or a file that cannot be read."""

    exit_code = USAGE

    def show(self, file: object = None) -> None:
        """Print the message to standard error."""
        click.echo(f"derivlint: {self.format_message()}", err=True)
