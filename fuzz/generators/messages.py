"""What arrives at the language server: messages in any order, with wrong values, and frames that are broken."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from fuzz.generators import derivatives
from fuzz.generators.stored import changed
from fuzz.generators.text import ODD, chance

URIS = ("file:///tmp/derivlint-fuzz/derivatives.yaml", "file:///tmp/derivlint-fuzz/sub/derivatives_x.yaml")
_ODD_URIS = (
    "untitled:derivatives.yaml",
    "",
    "x",
    "file:///",
    "http://x/derivatives.yaml",
    "file:///%00/derivatives.yaml",
    "file://host/derivatives.yaml",
    "file:///a\ud800/derivatives.yaml",
)
AT_PLACES = (
    "hover", "definition", "references", "completion", "signatureHelp", "documentHighlight", "prepareRename",
    "declaration", "implementation", "typeDefinition",
)  # fmt: skip
OF_FILES = (
    "documentSymbol",
    "foldingRange",
    "semanticTokens/full",
    "codeLens",
    "documentLink",
    "diagnostic",
    "formatting",
)


def _uri(rng: Random) -> str:
    return rng.choice(URIS) if chance(rng, 0.93) else rng.choice(_ODD_URIS)


def _position(rng: Random) -> dict[str, int]:
    wild = chance(rng, 0.1)
    number = rng.choice((-1, 10**6, 2**31 - 1, 2**40)) if wild else rng.randint(0, 6)
    return {
        "line": number,
        "character": rng.randint(0, 60) if chance(rng, 0.9) else rng.choice((-5, 2**31 - 1, 10**12)),
    }


def _range(rng: Random) -> dict[str, Any]:
    return {"start": _position(rng), "end": _position(rng)}


def _document(rng: Random) -> dict[str, Any]:
    return {"uri": _uri(rng)}


def initialize(rng: Random) -> dict[str, Any]:
    """The parameters of the request that begins a session."""
    encodings = rng.choice((None, ["utf-8"], ["utf-16"], ["utf-32"], ["x"], []))
    capabilities: dict[str, Any] = {
        "general": {"positionEncodings": encodings} if encodings is not None else {},
        "textDocument": {
            "publishDiagnostics": {"versionSupport": True, "relatedInformation": True},
            "documentSymbol": {"hierarchicalDocumentSymbolSupport": chance(rng, 0.5)},
            "codeAction": {"resolveSupport": {"properties": ["edit"]}} if chance(rng, 0.5) else {},
        },
        "workspace": {"workspaceEdit": {"documentChanges": True}},
    }
    if chance(rng, 0.5):
        capabilities["textDocument"]["diagnostic"] = {}
    options: Any = rng.choice((None, None, {}, {"config": ["preview=true"]}, {"config": 1}, {"config": None}, [], "x"))
    return {"processId": None, "rootUri": None, "capabilities": capabilities, "initializationOptions": options}


def _request(rng: Random) -> tuple[str, Any]:
    kind = rng.randrange(20)
    if kind < 8:
        name = rng.choice(AT_PLACES)
        params: dict[str, Any] = {"textDocument": _document(rng), "position": _position(rng)}
        if name == "references":
            params["context"] = {"includeDeclaration": chance(rng, 0.5)}
        return f"textDocument/{name}", params
    if kind < 13:
        name = rng.choice(OF_FILES)
        params = {"textDocument": _document(rng)}
        if name == "formatting":
            params["options"] = {"tabSize": 2, "insertSpaces": True}
        return f"textDocument/{name}", params
    if kind < 15:
        diagnostics = [{"range": _range(rng), "message": "x", "code": "undefined-name"}] if chance(rng, 0.3) else []
        context: dict[str, Any] = {"diagnostics": diagnostics}
        if chance(rng, 0.3):
            context["only"] = [rng.choice(("quickfix", "source.fixAll", "x", "refactor"))]
        return "textDocument/codeAction", {"textDocument": _document(rng), "range": _range(rng), "context": context}
    document = {"textDocument": _document(rng)}
    name = rng.choice(("x", "", "a b", *ODD))
    command = {"command": rng.choice(("derivlint.generatedCode", "x"))}
    given = rng.choice(([], [_uri(rng), "sin"], [1, 2], None))
    options = {"tabSize": 2, "insertSpaces": True}
    other: tuple[tuple[str, Any], ...] = (
        ("textDocument/inlayHint", {**document, "range": _range(rng)}),
        ("textDocument/rangeFormatting", {**document, "range": _range(rng), "options": options}),
        ("textDocument/rename", {**document, "position": _position(rng), "newName": name}),
        ("textDocument/selectionRange", {**document, "positions": [_position(rng)]}),
        ("workspace/symbol", {"query": rng.choice(("", "sin", "\ud800", "["))}),
        ("completionItem/resolve", {"label": "x", "data": rng.choice((None, {"uri": _uri(rng)}, 1, {"uri": 1}))}),
        ("codeAction/resolve", {"title": "x", "data": rng.choice((None, {"uri": _uri(rng)}, []))}),
        ("workspace/executeCommand", {**command, "arguments": given}),
        ("nothing/known", {}), ("initialize", initialize(rng)),
    )  # fmt: skip
    return rng.choice(other)


def _edit(rng: Random) -> dict[str, Any]:
    if chance(rng, 0.2):
        return {"text": derivatives.file(rng, entries=1)}
    text = rng.choice(("", "x", "\n", ".", "grad", "(", "  self: grad\n", "- name: ", "'", "\U0001f600", *ODD))
    return {"range": _range(rng), "text": text}


def _notification(rng: Random, version: int) -> tuple[str, Any]:
    kind = rng.randrange(10)
    if kind < 6:
        changes = [_edit(rng) for _ in range(rng.choice((1, 1, 2)))]
        return "textDocument/didChange", {
            "textDocument": {"uri": _uri(rng), "version": version},
            "contentChanges": changes,
        }
    opened = {"uri": _uri(rng), "languageId": "yaml", "version": version, "text": derivatives.file(rng)}
    other: tuple[tuple[str, Any], ...] = (
        ("textDocument/didOpen", {"textDocument": opened}),
        ("textDocument/didClose", {"textDocument": _document(rng)}),
        ("textDocument/didSave", {"textDocument": _document(rng)}),
        ("workspace/didChangeWatchedFiles", {"changes": [{"uri": _uri(rng), "type": rng.choice((1, 2, 3, 9))}]}),
        ("workspace/didChangeConfiguration", {"settings": rng.choice((None, {}, 1))}),
        ("$/cancelRequest", {"id": rng.choice((0, 3, "x", None))}),
        ("$/setTrace", {"value": rng.choice(("off", "verbose", "x"))}), ("unknown/thing", {}),
    )  # fmt: skip
    return rng.choice(other)


def session(rng: Random) -> list[Any]:
    """The messages of a session, in an order that is usual most of the time."""
    messages: list[Any] = []
    if chance(rng, 0.95):
        messages.append({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize(rng)})
        messages.append({"jsonrpc": "2.0", "method": "initialized", "params": {}})
    document = {"uri": URIS[0], "languageId": "yaml", "version": 0, "text": derivatives.file(rng)}
    messages.append({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}})
    for number in range(1, rng.randint(2, 9)):
        if chance(rng, 0.6):
            method, params = _request(rng)
            messages.append({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        else:
            method, params = _notification(rng, number)
            messages.append({"jsonrpc": "2.0", "method": method, "params": params})
        if chance(rng, 0.2):
            messages[-1] = changed(rng, messages[-1], 0.2)
    if chance(rng, 0.1):
        messages.insert(rng.randint(0, len(messages)), {"jsonrpc": "2.0", "id": 99, "method": "shutdown"})
    if chance(rng, 0.05):
        rng.shuffle(messages)
    if chance(rng, 0.05):
        messages.insert(rng.randint(0, len(messages)), rng.choice((None, 1, [], {}, "x", [[]], {"jsonrpc": "2.0"})))
    return messages


def framed(message: object) -> bytes:
    """A message as it lies on the wire."""
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def session_bytes(rng: Random) -> bytes:
    """A session as bytes, seldom with broken frames."""
    frames = [framed(message) for message in session(rng)]
    if chance(rng, 0.1):
        odd = (
            b"\r\n", b"Content-Length: 5\r\n\r\n{}", b"Content-Length: -1\r\n\r\n", b"Content-Length: x\r\n\r\n",
            b"X: y\r\n\r\n", b"content-length: 2\r\n\r\n{}", b"Content-Length: 3\r\n\r\n\xff\xfe{",
            b"Content-Length: 99999999999999\r\n\r\n{}", b"Content-Length: 6\r\n\r\n[[[[[[", b"\0" * 40,
            b"Content-Length: 2\n\n{}", b"A" * 70000, b"Content-Length: 0\r\n\r\n",
        )  # fmt: skip
        frames.insert(rng.randint(0, len(frames)), rng.choice(odd))
    return b"".join(frames)
