"""The life of a server, and messages that no editor should send: each request is answered, and none ends the server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from derivlint.lsp.protocol import MAX_LINE, is_running
from tests import relaying
from tests.sampling import sample

PATIENCE = 60.0
#: Codes of the protocol.
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
NOT_INITIALIZED = -32002
CAPABILITIES: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}}
URI = "file:///tmp/derivatives.yaml"
TEXT = "- name: sin(Tensor self) -> Tensor\n  self: grad * slef\n"


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


class Wire:
    """A server process, and what is written to it and read from it byte by byte."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._next = 0

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: object) -> None:
        self.send_bytes(framed(json.dumps(message).encode()))

    def notify(self, method: str, params: object = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def received(self) -> dict[str, Any]:
        stream = self.process.stdout
        assert stream is not None
        length = 0
        while line := stream.readline().strip():
            name, _, value = line.partition(b":")
            if name == b"Content-Length":
                length = int(value)
        assert length, "the server ended"
        message: dict[str, Any] = json.loads(stream.read(length))
        return message

    def answer(self, identifier: object) -> dict[str, Any]:
        """The answer to a request; notifications before it are dropped."""
        while True:
            message = self.received()
            if "method" not in message and message["id"] == identifier:
                return message

    def ask(self, method: str, params: object = None) -> dict[str, Any]:
        self._next += 1
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        return self.answer(self._next)

    def code(self, method: str, params: object = None) -> int:
        code: int = self.ask(method, params)["error"]["code"]
        return code

    def initialize(self, process: int | None = None) -> dict[str, Any]:
        answer = self.ask("initialize", {**CAPABILITIES, "processId": process})
        assert "capabilities" in answer["result"]
        self.notify("initialized", {})
        return answer

    def status(self) -> int:
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()


@contextmanager
def server() -> Iterator[Wire]:
    process = subprocess.Popen(
        relaying.command("lsp"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        yield Wire(process)
    finally:
        process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()
        process.wait()


def test_nothing_is_answered_with_a_result_before_initialize() -> None:
    with server() as wire:
        assert wire.code("textDocument/hover", {}) == NOT_INITIALIZED
        assert wire.code("shutdown") == NOT_INITIALIZED
        assert wire.code("nothing/known") == NOT_INITIALIZED
        wire.notify(
            "textDocument/didOpen", {"textDocument": {"uri": URI, "languageId": "yaml", "version": 0, "text": TEXT}}
        )
        wire.initialize()
        assert wire.code("nothing/known") == METHOD_NOT_FOUND


def test_initialize_can_fail_and_succeeds_once() -> None:
    with server() as wire:
        assert wire.code("initialize", {"capabilities": 1}) == INVALID_PARAMS
        wire.initialize()
        wire.notify(
            "textDocument/didOpen", {"textDocument": {"uri": URI, "languageId": "yaml", "version": 0, "text": TEXT}}
        )
        assert wire.code("initialize", CAPABILITIES) == INVALID_REQUEST
        # the session is the one that it was
        symbols = wire.ask("textDocument/documentSymbol", {"textDocument": {"uri": URI}})["result"]
        assert [item["name"] for item in symbols] == ["sin", "self"]


INVALID: list[tuple[str, object]] = [
    ("textDocument/hover", None),
    ("textDocument/hover", []),
    ("textDocument/hover", {"textDocument": {"uri": URI}}),
    ("textDocument/hover", {"textDocument": {"uri": URI}, "position": {"line": "1", "character": {}}}),
    ("textDocument/completion", {"textDocument": 1, "position": {"line": 1, "character": 1}}),
    ("textDocument/codeAction", {"textDocument": {"uri": URI}, "range": None, "context": {}}),
    ("textDocument/rename", {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}}),
    ("workspace/executeCommand", {}),
    ("workspace/executeCommand", {"command": "nothing"}),
    ("workspace/executeCommand", {"command": "derivlint.generatedCode", "arguments": [1]}),
    ("workspace/symbol", {}),
]


def test_invalid_parameters_are_refused_and_the_server_goes_on() -> None:
    with server() as wire:
        wire.initialize()
        answers = [(method, params, wire.code(method, params)) for method, params in INVALID]
        assert answers == [(method, params, INVALID_PARAMS) for method, params in INVALID]
        message = wire.ask("textDocument/hover", {"textDocument": {"uri": URI}})["error"]["message"]
        assert message == 'invalid parameters of "textDocument/hover": required field missing @ $.params.position'
        assert wire.ask("shutdown")["result"] is None


@pytest.mark.parametrize("config", sample([1, [1], ["preview=true"]], 1))
def test_initialization_options_of_another_kind_are_left_alone(config: object) -> None:
    with server() as wire:
        answer = wire.ask("initialize", {**CAPABILITIES, "initializationOptions": {"config": config}})
        assert "capabilities" in answer["result"]
        assert "result" in wire.ask("completionItem/resolve", {"label": "x", "data": {"uri": URI}})


NOT_MESSAGES: list[object] = [
    1,
    [],
    {},
    {"jsonrpc": "1.0", "id": 7, "method": "shutdown"},
    {"jsonrpc": "2.0", "id": [], "method": "shutdown"},
    {"jsonrpc": "2.0", "id": True, "method": "shutdown"},
    {"jsonrpc": "2.0", "id": 1.5, "method": "shutdown"},
]


def test_what_is_not_a_message_is_answered_without_an_id() -> None:
    with server() as wire:
        wire.initialize()
        for message in NOT_MESSAGES:
            wire.send(message)
            assert wire.answer(None)["error"]["code"] == INVALID_REQUEST
        assert "result" in wire.ask("shutdown")


def test_requests_and_notifications_are_not_taken_for_each_other() -> None:
    with server() as wire:
        wire.initialize()
        wire.send({"jsonrpc": "2.0", "id": "a", "method": 1})
        assert wire.answer("a")["error"]["code"] == INVALID_REQUEST
        assert wire.code("textDocument/didClose", {"textDocument": {"uri": URI}}) == INVALID_REQUEST
        wire.notify("shutdown")
        wire.notify("textDocument/didChange", {"textDocument": 1})
        wire.send({"jsonrpc": "2.0", "id": 12345, "result": 1})
        wire.send({"jsonrpc": "2.0", "id": {}, "error": None})
        assert wire.ask("workspace/symbol", {"query": ""})["result"] == []


def test_what_is_not_json_is_a_parse_error_and_the_next_message_counts() -> None:
    with server() as wire:
        for body in (b"{", b"\xff\xfe", b"[" * 100_000, b'{"jsonrpc": "2.0", "id": 1, "method": '):
            wire.send_bytes(framed(body))
            assert wire.answer(None)["error"]["code"] == PARSE_ERROR
        wire.initialize()


def test_headers_are_read_as_loosely_as_those_of_http() -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 5, "method": "initialize", "params": CAPABILITIES}).encode()
    with server() as wire:
        kind = b"Content-Type: application/vscode-jsonrpc; charset=utf-8"
        wire.send_bytes(b"\r\n\nX: y\n%s\r\ncontent-length:%d\n\r\n%s" % (kind, len(body), body))
        assert "result" in wire.answer(5)


BROKEN_HEADERS = {
    "not a number": b"Content-Length: x\r\n\r\n",
    "negative": b"Content-Length: -5\r\n\r\n",
    "too large": b"Content-Length: 99999999999999\r\n\r\n",
    "too long": b"a" * (2 * MAX_LINE),
}


@pytest.mark.parametrize("kind", sample(BROKEN_HEADERS, 2))
def test_where_messages_end_that_cannot_be_found_the_server_ends(kind: str) -> None:
    with server() as wire:
        wire.initialize()
        with suppress(BrokenPipeError):
            wire.send_bytes(BROKEN_HEADERS[kind])
        assert wire.status() == 1
        assert wire.process.stderr is not None
        assert b"Traceback" not in wire.process.stderr.read()


def test_after_shutdown_only_exit_counts_and_is_a_success() -> None:
    with server() as wire:
        wire.initialize()
        assert wire.ask("shutdown")["result"] is None
        assert wire.code("workspace/symbol", {"query": ""}) == INVALID_REQUEST
        assert wire.code("shutdown") == INVALID_REQUEST
        wire.notify("exit")
        assert wire.status() == 0


@pytest.mark.parametrize("initialized", [False, True])
def test_exit_without_shutdown_is_a_failure(initialized: bool) -> None:
    with server() as wire:
        if initialized:
            wire.initialize()
        wire.notify("exit")
        assert wire.status() == 1


@pytest.mark.parametrize(("shuts_down", "status"), [(False, 1), (True, 0)])
def test_the_end_of_standard_input_ends_the_server(shuts_down: bool, status: int) -> None:
    with server() as wire:
        wire.initialize()
        if shuts_down:
            wire.ask("shutdown")
        wire.close()
        assert wire.status() == status


@pytest.mark.skipif(sys.platform == "win32", reason="there the end of standard input says it")
def test_the_server_ends_with_its_editor_although_its_input_stays_open() -> None:
    editor = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with server() as wire:
        wire.initialize(editor.pid)
        assert wire.process.poll() is None
        editor.communicate(b"\n")
        assert wire.status() == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no device that is full")
def test_answers_that_cannot_be_written_end_the_server_with_one_line() -> None:
    messages = [{"jsonrpc": "2.0", "id": number, "method": "initialize", "params": CAPABILITIES} for number in (1, 2)]
    data = b"".join(framed(json.dumps(message).encode()) for message in messages)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "derivlint", "lsp"],
            input=data,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.decode() == "derivlint: ERROR: cannot write to the editor: No space left on device\n"


def test_processes_that_cannot_be_asked_about_are_taken_to_run() -> None:
    assert is_running(os.getpid())
    assert is_running(-1)
    assert is_running(0)
    assert is_running(10**30)
    assert is_running(1)
