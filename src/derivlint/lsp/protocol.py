"""The protocol of pygls, with life cycle checks, a response to every request, and a choice of the position encoding.

After a malformed message, reading continues with the next frame if its start is known; else it ends.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Generator
from threading import Thread
from typing import Any, BinaryIO

import msgspec
from cattrs import transform_error
from lsprotocol import types
from msgspec import Struct
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

from derivlint.lsp.documents import preferred_encoding

logger = logging.getLogger("derivlint.lsp")

_Steps = Generator[Any, Any, Any]


class Protocol(LanguageServerProtocol):
    """The protocol of the server.

    pygls stores the text of every open file and splits it at characters that do not end lines in the protocol; the
    session stores texts itself. pygls also drops messages that it cannot convert, without a response; :meth:`receive`
    validates them first.
    """

    _is_initialized = False

    @property
    def has_shut_down(self) -> bool:
        """Whether the ``shutdown`` request was answered."""
        return self._shutdown

    def receive(self, message: object) -> None:
        """Handle a decoded message; every request gets a response.

        Raises:
            SystemExit: on ``exit``, with the exit status of the process.
        """
        if not isinstance(message, dict) or message.get("jsonrpc") != self.VERSION:
            self._answer(None, JsonRpcInvalidRequest('expected an object with "jsonrpc": "2.0"'))
            return
        identifier, method = message.get("id"), message.get("method")
        if method is None:
            self._take_answer(identifier, message)
            return
        if identifier is not None and (isinstance(identifier, bool) or not isinstance(identifier, (int, str))):
            self._answer(None, JsonRpcInvalidRequest("the id of a request is a number or a string"))
            return
        refusal = self._refusal(method, is_request=identifier is not None)
        if refusal is None:
            try:
                structured = self.structure_message({**message, "params": message.get("params") or {}})
            except JsonRpcException as error:
                cause = error.__cause__
                reasons = transform_error(cause, path="$") if cause is not None else [str(error)]
                refusal = JsonRpcInvalidParams(f'invalid parameters of "{method}": {"; ".join(reasons)[:400]}')
            else:
                self.handle_message(structured)
                return
        if identifier is not None:
            self._answer(identifier, refusal)
        else:
            logger.warning("%s", refusal)

    def refuse_malformed(self, reason: str) -> None:
        """Respond to a message that is not JSON."""
        self._answer(None, JsonRpcParseError(reason))

    def notify(self, method: str, params: Any | None = None) -> None:
        """Send a notification; parameters that are msgspec structs are sent without conversion."""
        if isinstance(params, Struct):
            self._send_json({"jsonrpc": self.VERSION, "method": method, "params": params})
        else:
            super().notify(method, params)

    def _send_response(self, msg_id: Any, result: Any | None = None, error: Any | None = None) -> None:
        if error is None and isinstance(result, Struct):
            self._result_types.pop(msg_id, None)
            self._send_json({"jsonrpc": self.VERSION, "id": msg_id, "result": result})
        else:
            super()._send_response(msg_id, result, error)

    def _send_json(self, message: dict[str, Any]) -> None:
        """Send a message without pygls's conversion, which takes ten times as long."""
        try:
            body = msgspec.json.encode(message)
        except UnicodeEncodeError:
            # a lone surrogate, which a client may send, is written as an escape
            body = json.dumps(msgspec.to_builtins(message)).encode()
        if self.writer is not None:
            self.writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def _refusal(self, method: object, *, is_request: bool) -> JsonRpcException | None:
        """Return the error for a message that cannot be handled in the current state, or None."""
        if not isinstance(method, str):
            return JsonRpcInvalidRequest("the method of a message is a string")
        if method != types.EXIT and self._shutdown:
            return JsonRpcInvalidRequest("the server has shut down")
        if method == types.INITIALIZE and self._is_initialized:
            return JsonRpcInvalidRequest("the server is initialized already")
        if method not in (types.EXIT, types.INITIALIZE) and not self._is_initialized:
            return JsonRpcServerNotInitialized("the server is not initialized")
        is_known = method in self.fm.builtin_features or method in self.fm.features or method == types.CANCEL_REQUEST
        if not is_known or method not in types.METHOD_TO_TYPES:
            return JsonRpcMethodNotFound(f"method not found: {method}")
        has_answer = types.METHOD_TO_TYPES[method][1] is not None
        if has_answer != is_request:
            kind = "request, with an id" if has_answer else "notification, without an id"
            return JsonRpcInvalidRequest(f'"{method}" is a {kind}')
        return None

    def _answer(self, identifier: int | str | None, error: JsonRpcException) -> None:
        """Respond with an error; the identifier is None if the message has no valid one."""
        code, text = error.code, str(error)
        self._send_data({"jsonrpc": self.VERSION, "id": identifier, "error": {"code": code, "message": text}})

    def _take_answer(self, identifier: object, message: dict[Any, Any]) -> None:
        """Handle the response to a request of the server; drop unexpected ones."""
        if not isinstance(identifier, (int, str)) or not ("result" in message or "error" in message):
            return
        future = self._request_futures.get(identifier)
        if future is None:
            return
        try:
            structured = self.structure_message(message)
        except JsonRpcException as error:
            del self._request_futures[identifier]
            future.set_exception(error)
        else:
            self.handle_message(structured)

    def _leave(self) -> None:
        raise SystemExit(0 if self._shutdown else 1)

    @lsp_method(types.EXIT)
    def lsp_exit(self, *parameters: Any) -> _Steps:
        """End the process, with status 0 only after ``shutdown``."""
        yield self._leave, (), None

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> _Steps:
        """Choose the position encoding, then initialize pygls."""
        general = params.capabilities.general
        offered = None if general is None or general.position_encodings is None else general.position_encodings
        chosen = preferred_encoding(
            None if offered is None else [str(getattr(name, "value", name)) for name in offered]
        )
        if general is not None:
            general.position_encodings = [types.PositionEncodingKind(chosen)]
        result = yield from super().lsp_initialize(params)
        self._is_initialized = True
        return result

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *parameters: Any) -> _Steps:
        """Cancel the pending requests, on whose responses pygls would fail, then shut down pygls."""
        for identifier, future in list(self._request_futures.items()):
            if identifier != self.msg_id:
                future.cancel()
        return (yield from super().lsp_shutdown(*parameters))

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> _Steps:
        """Pass the text to the session, not to pygls."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> _Steps:
        """Pass the changes to the session, not to pygls."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> _Steps:
        """Pass the message to the session, not to pygls."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CLOSE], (params,), None


#: The maximum number of bytes of a message; a larger length is corrupt.
MAX_MESSAGE = 256 * 2**20
#: The maximum number of bytes of a line of a header.
MAX_LINE = 64 * 1024
#: The number of bytes per read.
_CHUNK = 64 * 1024
#: Seconds between checks that the editor is running.
POLL_INTERVAL = 2.0


class WireError(Exception):
    """Input that cannot be split into messages."""


class MalformedError(Exception):
    """A message that is not JSON; reading can continue."""


async def read_message(reader: asyncio.StreamReader) -> object:
    """Read and decode the next message.

    Raises:
        EOFError: at the end of the input.
        MalformedError: the message is not JSON.
        WireError: the end of the message is unknown.
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
    """Return an asyncio reader of a byte stream, such as standard input.

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
                loop.call_soon_threadsafe(*((reader.feed_data, data) if data else (reader.feed_eof,)))
            except RuntimeError:
                # the loop is closed
                return

    Thread(target=feed, name="derivlint-stdin", daemon=True).start()
    return reader


async def exit_with(identifier: int) -> None:
    """Exit when a process has exited: the protocol requires servers to exit with their editor."""
    while is_running(identifier):
        await asyncio.sleep(POLL_INTERVAL)
    raise SystemExit(1)


def is_running(identifier: int) -> bool:
    """Whether a process is running; True if that cannot be determined."""
    if sys.platform == "win32" or identifier <= 0:
        # on Windows a signal would kill it; its exit closes standard input
        return True
    try:
        os.kill(identifier, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
