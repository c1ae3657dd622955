"""pygls's protocol without its own copies of texts, and with our choice of the position encoding."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from lsprotocol import types
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

from derivlint.lsp.positions import preferred_encoding

_Steps = Generator[Any, Any, Any]


class Protocol(LanguageServerProtocol):
    """The protocol of the server.

    pygls keeps the text of every open file and divides it at characters that end no line in the protocol; what is
    checked are our own texts, so those are not kept.
    """

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> _Steps:
        """Choose the encoding of positions, then do what pygls does."""
        general = params.capabilities.general
        offered = None if general is None or general.position_encodings is None else general.position_encodings
        chosen = preferred_encoding(
            None if offered is None else [str(getattr(name, "value", name)) for name in offered]
        )
        if general is not None:
            general.position_encodings = [types.PositionEncodingKind(chosen)]
        result = yield from super().lsp_initialize(params)
        return result

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> _Steps:
        """Hand the text on."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> _Steps:
        """Hand the changes on."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> _Steps:
        """Hand the message on."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CLOSE], (params,), None
