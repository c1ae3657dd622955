"""Shared code of the tools: user errors and written files."""

from __future__ import annotations

from pathlib import Path

import click

from derivlint.cli.shared.terminal import USAGE, warn
from derivlint.project.errors import InputError
from derivlint.source import write_file


class Tool(click.Command):
    """A command that reports errors of the user, with exit status 2."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except InputError as error:
            for message in error.messages:
                warn(message)
            ctx.exit(USAGE)


class ToolGroup(Tool, click.Group):
    """A group of such commands."""


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file atomically.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        write_file(path, data)
    except OSError as error:
        raise InputError(f'cannot write "{path}": {error.strerror or error}') from error
