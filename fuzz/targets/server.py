"""The language server, with whole sessions as they lie on the wire."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections import Counter
from typing import Any

from derivlint.lsp.connection import serve
from derivlint.lsp.protocol import MAX_LINE, MAX_MESSAGE
from derivlint.lsp.server import DerivlintServer, create_server
from fuzz.generators import messages
from fuzz.oracle import normalized
from fuzz.target import Target, Violation, require
from fuzz.targets.workplace import prepare, workplace

#: Seconds, by the clock, in which all requests are answered.
_PATIENCE = 60.0


class _Wire:
    """Where the server writes its messages."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def write(self, data: bytes) -> None:
        head, _, body = data.partition(b"\r\n\r\n")
        require(b"Content-Length: %d" % len(body) in head, "a frame with a wrong length", head)
        self.sent.append(json.loads(body))

    def close(self) -> None:
        """Nothing is to be closed."""


def talk(data: bytes) -> object:
    """Every request is answered once, no handler fails, and nothing but ``exit`` ends the server."""
    prepare()
    workplace()
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
    logging.getLogger("derivlint.lsp").setLevel(logging.CRITICAL + 1)
    server, wire = create_server(), _Wire()
    server.protocol.set_writer(wire)
    output = sys.stdout
    try:
        asyncio.run(_talk(server, data))
    except SystemExit as leave:
        require(leave.code in (0, 1), f"exit status {leave.code}")
        return leave.code
    finally:
        sys.stdout = output
        if server.is_started:
            server.session.shutdown()
    _judge(data, wire.sent)
    return None


async def _talk(server: DerivlintServer, data: bytes) -> None:
    reader = asyncio.StreamReader(limit=MAX_LINE)
    reader.feed_data(data)
    reader.feed_eof()
    await serve(server, reader)
    futures: list[Any] = list(server.protocol._request_futures.values())
    waiting: list[asyncio.Future[Any]] = [future for future in futures if asyncio.isfuture(future)]
    if waiting:
        _, left = await asyncio.wait(waiting, timeout=_PATIENCE)
        require(not left, "a request that is not answered in time")
    # answers are sent when the futures of their requests are done
    await asyncio.sleep(0)
    if server.is_started:
        for file in server.session.files.values():
            if file.is_checked:
                await server.session.outcome(file)


def _judge(data: bytes, sent: list[dict[str, Any]]) -> None:
    for message in sent:
        if message.get("method") == "window/logMessage" and not _expects(message["params"]["message"]):
            raise Violation(f"a logged error: {normalized(message['params']['message'])}", message["params"]["message"])
        error = message.get("error")
        if error is not None and error["code"] == -32603:
            raise Violation(f"an internal error as answer: {normalized(error['message'])}", json.dumps(error)[:3000])
    answers = Counter(json.dumps(message["id"]) for message in sent if "method" not in message)
    for identifier, count in _asked(data).items():
        require(answers[identifier] >= count, "a request without an answer", (identifier, sent[-3:]))


def _expects(text: str) -> bool:
    """Whether an entry of the log is about what the editor did wrong, not about the server."""
    return text.startswith(("a header line", "expected the length", "a message of"))


def _asked(data: bytes) -> Counter[str]:
    """The requests of a session by their identifiers, as far as its frames are whole."""
    found: Counter[str] = Counter()
    at = 0
    while True:
        end = data.find(b"\r\n\r\n", at)
        head = data[at:end]
        if end < 0 or not head.startswith(b"Content-Length: ") or not head[16:].isdigit():
            return found
        at = end + 4 + int(head[16:])
        if at > len(data) or int(head[16:]) > MAX_MESSAGE:
            return found
        try:
            message = json.loads(data[end + 4 : at])
        except (ValueError, RecursionError):
            continue
        if isinstance(message, dict) and message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str):
            identifier = message.get("id")
            if isinstance(identifier, (int, str)) and not isinstance(identifier, bool):
                found[json.dumps(identifier)] += 1


TARGETS = (Target("server", 12, messages.session_bytes, talk, seconds=6.0),)
