"""Frames of the protocol: a header with the length of a message, and the message; and who writes them.

Whatever arrives, reading goes on with the next frame where it can be found, and ends where it cannot.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from threading import Thread
from typing import BinaryIO

#: Bytes of a message; nothing that an editor sends comes near it, so that a longer one is a broken length.
MAX_MESSAGE = 256 * 2**20
#: Bytes of a line of a header.
MAX_LINE = 64 * 1024
#: Bytes that are read at once.
_CHUNK = 64 * 1024
#: Seconds between two looks at whether the editor is still there.
POLL_INTERVAL = 2.0


class WireError(Exception):
    """What arrives cannot be divided into messages any more."""


class MalformedError(Exception):
    """A message that is not JSON; the next one may be."""


async def read_message(reader: asyncio.StreamReader) -> object:
    """The next message, as JSON has it.

    Raises:
        EOFError: there is none.
        MalformedError: it is not JSON.
        WireError: no one can say where it ends.
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

    It is read on a thread that no one waits for, without a buffer whose lock would be held when the process ends.
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
    """Call a function when a process is gone, as the protocol wants of a server whose editor died.

    Args:
        identifier: the number of the process.
        gone: is called once.
    """
    while is_running(identifier):
        await asyncio.sleep(POLL_INTERVAL)
    gone()


def is_running(identifier: int) -> bool:
    """Whether there is a process of that number; True where that cannot be found out."""
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
