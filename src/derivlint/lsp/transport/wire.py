"""Frames of the protocol: a header with the length of a message, and the message.

After a malformed message, reading continues with the next frame if its start is known, and ends otherwise.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from threading import Thread
from typing import BinaryIO

#: The maximum number of bytes of a message; a longer one is a corrupt length.
MAX_MESSAGE = 256 * 2**20
#: The maximum number of bytes of a line of a header.
MAX_LINE = 64 * 1024
#: The number of bytes that are read at once.
_CHUNK = 64 * 1024
#: Seconds between two checks that the editor is running.
POLL_INTERVAL = 2.0


class WireError(Exception):
    """The input cannot be divided into messages."""


class MalformedError(Exception):
    """A message that is not JSON; the next one may be."""


async def read_message(reader: asyncio.StreamReader) -> object:
    """Read and decode the next message.

    Raises:
        EOFError: there is none.
        MalformedError: it is not JSON.
        WireError: its end is unknown.
    """
    length: int | None = None
    while True:
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            raise EOFError from error
        except asyncio.LimitOverrunError as error:
            raise WireError(f"a header line is longer than {MAX_LINE:,} bytes") from error
        name, _, value = line.partition(b":")
        if not line.strip():
            if length is not None:
                break
        elif name.strip().lower() == b"content-length":
            length = _length(value.strip())
    try:
        body = await reader.readexactly(length)
    except asyncio.IncompleteReadError as error:
        raise EOFError from error
    try:
        message: object = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"not JSON: {error}") from error
    return message


def _length(text: bytes) -> int:
    shown = text[:40].decode("ascii", "backslashreplace")
    if not text.isdigit() or len(text) > 20:
        raise WireError(f'expected the length of a message, found "{shown}"')
    length = int(text)
    if length > MAX_MESSAGE:
        raise WireError(f"a message of {length:,} bytes is longer than {MAX_MESSAGE:,}")
    return length


def standard_input(stream: BinaryIO, loop: asyncio.AbstractEventLoop) -> asyncio.StreamReader:
    """A stream of bytes, such as standard input, for the loop.

    It is read on a daemon thread, without a buffer whose lock would be held when the process ends.
    """
    reader = asyncio.StreamReader(limit=MAX_LINE, loop=loop)
    descriptor = stream.fileno()

    def feed() -> None:
        data = b"-"
        while data:
            try:
                data = os.read(descriptor, _CHUNK)
            except OSError:
                data = b""
            try:
                loop.call_soon_threadsafe(reader.feed_data if data else _end, *([data] if data else [reader]))
            except RuntimeError:
                # the loop is closed
                return

    Thread(target=feed, name="derivlint-stdin", daemon=True).start()
    return reader


def _end(reader: asyncio.StreamReader) -> None:
    reader.feed_eof()


async def wait_for_exit(identifier: int, gone: Callable[[], None]) -> None:
    """Call a function when a process has exited, as the protocol requires of a server whose editor has died.

    Args:
        identifier: the number of the process.
        gone: is called once.
    """
    while is_running(identifier):
        await asyncio.sleep(POLL_INTERVAL)
    gone()


def is_running(identifier: int) -> bool:
    """Whether there is a process of that number; True if that cannot be found out."""
    if sys.platform == "win32" or identifier <= 0:
        # there, a signal would end it; its end closes standard input
        return True
    try:
        os.kill(identifier, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
