"""``derivlint lsp``."""

from __future__ import annotations

import logging
import sys
from importlib.util import find_spec

import click

from derivlint.cli.shared.terminal import take_stdout
from derivlint.project.errors import InputError
from derivlint.source import visible_line, visible_page

#: The packages of the extra ``lsp``.
PACKAGES = ("pygls", "lsprotocol")
HOST = "127.0.0.1"


class LogFormatter(logging.Formatter):
    """Formats log entries: the message on one line with control characters escaped, a traceback below."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """Format the entry without its traceback."""
        return visible_line(super().formatMessage(record))

    def format(self, record: logging.LogRecord) -> str:
        """Format the entry."""
        return visible_page(super().format(record))


@click.command(short_help="Run the language server for editors.")
@click.option("--stdio", is_flag=True, help="Communicate over stdin/stdout (default).")
@click.option("--tcp", type=click.IntRange(1, 65535), metavar="PORT", help=f"Serve one editor on this port of {HOST}.")
def lsp(stdio: bool, tcp: int | None) -> None:
    """Run the language server: diagnostics, fixes, hover, completion and navigation.

    Editors start it; docs/guides/editors.md has their settings. Findings and configuration are those of derivlint
    check.
    """
    if stdio and tcp is not None:
        raise InputError('use "--stdio" or "--tcp", not both')
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise InputError('the language server needs more packages; install them with: pip install "derivlint[lsp]"')
    from derivlint.lsp.connection import serve_port, serve_streams
    from derivlint.lsp.server import create_server

    log = logging.StreamHandler()
    log.setFormatter(LogFormatter("derivlint: %(levelname)s: %(message)s"))
    logging.basicConfig(handlers=[log], level=logging.WARNING)
    # the server logs failures itself, once
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    server = create_server()
    if tcp is not None:
        try:
            status = serve_port(server, HOST, tcp)
        except OSError as error:
            raise InputError(f"cannot listen on port {tcp} of {HOST}: {error.strerror or error}") from error
        click.get_current_context().exit(status)
    # standard output carries the protocol: other output would corrupt messages
    click.get_current_context().exit(serve_streams(server, sys.stdin.buffer, take_stdout()))
