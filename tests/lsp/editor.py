"""An editor for tests: a client that talks to a real server process over standard input and output."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from lsprotocol import types
from pygls.lsp.client import LanguageClient

import derivlint
from tests import relaying

T = TypeVar("T")
#: Seconds that an answer may take, on a machine with other work.
PATIENCE = 300.0


def run(test: Coroutine[Any, Any, T]) -> T:
    """Run an asynchronous test."""
    return asyncio.run(asyncio.wait_for(test, 4 * PATIENCE))


def capabilities(
    *, pull: bool = False, encodings: Sequence[str] | None = None, watch: bool = False, resolve: bool = True
) -> types.ClientCapabilities:
    """What the editor says that it can do."""
    kinds = [types.PositionEncodingKind(name) for name in encodings] if encodings is not None else None
    return types.ClientCapabilities(
        general=types.GeneralClientCapabilities(position_encodings=kinds),
        workspace=types.WorkspaceClientCapabilities(
            workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
            diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True) if pull else None,
            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(
                dynamic_registration=watch, relative_pattern_support=True
            ),
        ),
        text_document=types.TextDocumentClientCapabilities(
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(
                version_support=True,
                related_information=True,
                code_description_support=True,
                data_support=True,
                tag_support=types.ClientDiagnosticsTagOptions([types.DiagnosticTag.Unnecessary]),
            ),
            diagnostic=types.DiagnosticClientCapabilities() if pull else None,
            document_symbol=types.DocumentSymbolClientCapabilities(hierarchical_document_symbol_support=True),
            code_action=types.CodeActionClientCapabilities(
                resolve_support=types.ClientCodeActionResolveOptions(["edit"]) if resolve else None
            ),
        ),
    )


class Editor:
    """The editor.

    Attributes:
        client: the connection.
        result: what the server said of itself.
        published: every notification with diagnostics, in order.
        logged: the entries of the log.
        shown: the message boxes.
        registered: the patterns of files that the server wants watched.
        refreshed: how often the server asked to ask for diagnostics again.
    """

    def __init__(
        self,
        can: types.ClientCapabilities | None = None,
        *,
        options: object = None,
        command: Sequence[str] = (),
        cwd: Path | None = None,
    ) -> None:
        self.client = LanguageClient("editor", "1")
        self.result: types.InitializeResult
        self.published: list[types.PublishDiagnosticsParams] = []
        self.logged: list[str] = []
        self.shown: list[str] = []
        self.registered: list[object] = []
        self.refreshed = 0
        self._can = can if can is not None else capabilities()
        self._options = {"trusted": True} if options is None else options
        #: by default the server, as the command runs it
        self._command = (sys.executable, *command) if command else relaying.command("lsp")
        self._cwd = cwd
        self._news = asyncio.Event()
        # pygls's own decorator has no type
        features = self.client.protocol.fm.feature

        @features(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.published.append(params)
            self._news.set()

        @features(types.WINDOW_LOG_MESSAGE)
        def log(params: types.LogMessageParams) -> None:
            self.logged.append(params.message)
            self._news.set()

        @features(types.WINDOW_SHOW_MESSAGE)
        def show(params: types.ShowMessageParams) -> None:
            self.shown.append(params.message)
            self._news.set()

        @features(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            for item in params.registrations:
                watchers = (
                    item.register_options["watchers"]
                    if isinstance(item.register_options, dict)
                    else item.register_options.watchers  # type: ignore[union-attr]  # registered by us, with options
                )
                self.registered += [
                    watcher["globPattern"] if isinstance(watcher, dict) else watcher.glob_pattern
                    for watcher in watchers
                ]
            self._news.set()

        @features(types.WORKSPACE_DIAGNOSTIC_REFRESH)
        def refresh(params: None) -> None:
            self.refreshed += 1
            self._news.set()

    async def __aenter__(self) -> Editor:
        """Start a server and say hello."""
        folder = str(Path(derivlint.__file__).parent.parent)
        paths = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        where = str(self._cwd) if self._cwd is not None else None
        await self.client.start_io(*self._command, env=environment, cwd=where)
        self.result = await asyncio.wait_for(
            self.client.initialize_async(
                types.InitializeParams(capabilities=self._can, initialization_options=self._options)
            ),
            PATIENCE,
        )
        self.client.initialized(types.InitializedParams())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Say goodbye, or end a server that does not listen."""
        process = self.process
        if kind is None and process.returncode is None:
            await asyncio.wait_for(self.client.shutdown_async(None), PATIENCE)
            self.client.exit(None)
            await asyncio.wait_for(process.wait(), PATIENCE)
        elif process.returncode is None:
            process.kill()
        await self.client.stop()  # type: ignore[no-untyped-call]  # pygls gives it no types

    @property
    def process(self) -> asyncio.subprocess.Process:
        """The server's process."""
        process = self.client._server
        assert process is not None
        return process

    def open(self, path: Path, text: str, version: int = 0) -> str:
        """Open a file with a text; its URI."""
        uri = path.as_uri()
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "yaml", version, text))
        )
        return uri

    def change(self, uri: str, version: int, *changes: types.TextDocumentContentChangeEvent) -> None:
        """Change an open file."""
        identifier = types.VersionedTextDocumentIdentifier(version, uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [*changes]))

    def replace(self, uri: str, version: int, text: str) -> None:
        """Change the whole of an open file."""
        self.change(uri, version, types.TextDocumentContentChangeWholeDocument(text))

    def close(self, uri: str) -> None:
        """Close a file."""
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait until something has happened."""

        async def wait() -> None:
            while not happened():
                self._news.clear()
                await self._news.wait()

        await asyncio.wait_for(wait(), PATIENCE)

    def of(self, uri: str) -> list[types.PublishDiagnosticsParams]:
        """The notifications about a file."""
        return [item for item in self.published if item.uri == uri]

    async def diagnostics(self, uri: str, version: int) -> list[types.Diagnostic]:
        """The diagnostics of a version of a file, as first published."""

        def of_it() -> types.PublishDiagnosticsParams | None:
            return next((item for item in self.of(uri) if item.version == version), None)

        await self.until(lambda: of_it() is not None)
        found = of_it()
        assert found is not None
        return list(found.diagnostics)

    async def answer(self, request: Awaitable[T]) -> T:
        """The answer to a request."""
        return await asyncio.wait_for(request, PATIENCE)


def edit(line: int, start: int, end: int, text: str) -> types.TextDocumentContentChangePartial:
    """A change within a line."""
    where = types.Range(types.Position(line, start), types.Position(line, end))
    return types.TextDocumentContentChangePartial(range=where, text=text)


def summary(item: types.Diagnostic) -> tuple[object, ...]:
    """What is compared of a diagnostic."""
    start, end = item.range.start, item.range.end
    return (item.code, start.line, start.character, end.line, end.character, item.message.split("\n")[0])
