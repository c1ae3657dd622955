"""``derivlint lsp``."""

from __future__ import annotations

import logging
import sys
from importlib.util import find_spec

import click

from derivlint.project.errors import InputError

#: The packages of the extra ``lsp``.
PACKAGES = ("pygls", "lsprotocol")
HOST = "127.0.0.1"


@click.command(short_help="Run the language server for editors.")
@click.option("--stdio", is_flag=True, help="Talk over standard input and output, as is done without it.")
@click.option(
    "--tcp", type=click.IntRange(1, 65535), metavar="PORT", help=f"Wait for one editor at this port of {HOST}."
)
def lsp(stdio: bool, tcp: int | None) -> None:
    """Run the language server: diagnostics, fixes, hover, completion and navigation in editors.

    Editors start it by themselves; the guide on editors says how. It finds the same as derivlint check, with the same
    configuration.
    """
    if stdio and tcp is not None:
        raise InputError('use "--stdio" or "--tcp", not both')
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise InputError('the language server needs more packages; install them with: pip install "derivlint[lsp]"')
    from derivlint.lsp.server import create_server

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="derivlint: %(levelname)s: %(message)s")
    # failures are logged by the server itself, once
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    server = create_server()
    if tcp is not None:
        server.start_tcp(HOST, tcp)
        return
    # standard output is the wire: whatever else is printed would lie between two messages
    wire = sys.stdout.buffer
    sys.stdout = sys.stderr
    server.start_io(sys.stdin.buffer, wire)
