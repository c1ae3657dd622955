"""The connection of a server to one editor: the loop that handles messages until ``exit`` or disconnection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, BinaryIO

from derivlint.lsp.protocol import MAX_LINE, MalformedError, WireError, read_message, standard_input
from derivlint.lsp.server import DerivlintServer

logger = logging.getLogger("derivlint.lsp")


def serve_streams(server: DerivlintServer, stdin: BinaryIO, stdout: BinaryIO) -> int:
    """Serve over two streams, such as standard input and output, and return the exit status."""
    outgoing = MessageWriter(stdout)

    async def talk() -> None:
        await serve(server, standard_input(stdin, asyncio.get_running_loop()), lambda: outgoing.failure is None)

    server.protocol.set_writer(outgoing)
    status = _run(server, talk())
    if outgoing.failure is not None:
        logger.error("cannot write to the editor: %s", outgoing.failure)
        return 1
    return status


class MessageWriter:
    """A writer of messages to an editor.

    Attributes:
        failure: the error that ended writing, or None. Later messages are dropped: pygls would report an error of the
            stream in one more message.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.failure: str | None = None

    def write(self, data: bytes) -> None:
        """Write one message; do nothing after a failure."""
        if self.failure is not None:
            return
        try:
            self._stream.write(data)
            self._stream.flush()
        except (OSError, ValueError) as error:
            self.failure = (error.strerror if isinstance(error, OSError) else None) or str(error)

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


def serve_port(server: DerivlintServer, host: str, port: int) -> int:
    """Serve the first editor that connects to a port, and return the exit status.

    Raises:
        OSError: the port cannot be opened.
    """

    async def talk() -> None:
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if server.protocol.writer is not None:
                # there is an editor
                writer.close()
                return
            server.protocol.set_writer(writer)
            await serve(server, reader)
            writer.close()
            over.set_result(None)

        async with await asyncio.start_server(connected, host, port, limit=MAX_LINE):
            await over

    return _run(server, talk())


def _run(server: DerivlintServer, talk: Coroutine[Any, Any, None]) -> int:
    try:
        asyncio.run(talk)
    except SystemExit as leave:
        return leave.code if isinstance(leave.code, int) else 1
    except ConnectionError:
        # the editor has disconnected
        return 1
    finally:
        if server.is_started:
            server.session.shutdown()
    # the protocol ends with "shutdown"; closing the connection alone is a failure
    return 0 if server.protocol.has_shut_down else 1


async def serve(
    server: DerivlintServer, reader: asyncio.StreamReader, is_writable: Callable[[], bool] = lambda: True
) -> None:
    """Handle messages until the input ends.

    Args:
        server: the server.
        reader: the input stream.
        is_writable: returns whether responses can still be written.

    Raises:
        SystemExit: on ``exit``, with the exit status of the process.
        ConnectionError: the editor has disconnected.
    """
    while is_writable():
        try:
            message = await read_message(reader)
        except EOFError:
            return
        except WireError as error:
            server.log(str(error))
            return
        except MalformedError as error:
            server.protocol.refuse_malformed(str(error))
            continue
        try:
            server.protocol.receive(message)
        except ConnectionError:
            raise
        except Exception as error:
            server.log(f"{type(error).__name__}: {error}", error)
