"""The language server: registration of handlers, diagnostics, file watching, settings."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from derivlint.lsp.analysis import CheckedDocument
from derivlint.lsp.client import Client, trust_in
from derivlint.lsp.code_actions import FIX_ALL, KINDS, Action, actions, fixed, suggested
from derivlint.lsp.diagnostics import (
    SOURCE,
    FullReport,
    PublishedDiagnostics,
    Renderer,
    UnchangedReport,
    WireDiagnostic,
    unchecked_diagnostic,
)
from derivlint.lsp.position_mapper import PositionMapper
from derivlint.lsp.protocol import Protocol, exit_with
from derivlint.lsp.requests import (
    GENERATED_CODE,
    REQUESTS,
    RefusedError,
    Request,
    generated_code,
    resolved_completion,
    workspace_symbols,
)
from derivlint.lsp.session import OpenFile, Outcome, Session
from derivlint.lsp.workspace import WATCHED, Project, Projects
from derivlint.source import Span
from derivlint.version import __version__

logger = logging.getLogger("derivlint.lsp")

P = TypeVar("P")
R = TypeVar("R")
Handler = Callable[[P], Awaitable[R]]

#: The identifier under which watchers are registered.
WATCHERS = "derivlint.watchers"


class RequestFailed(JsonRpcException):
    """A failed request, whose reason the editor shows: ``RequestFailed`` of the protocol."""

    CODE = -32803


class DerivlintServer(LanguageServer):
    """The server.

    Attributes:
        session: the open files; set by the ``initialize`` request.
        client: the capabilities of the editor; set by the ``initialize`` request.
        is_started: whether an ``initialize`` request was received.
    """

    session: Session
    client: Client
    protocol: Protocol

    def __init__(self) -> None:
        super().__init__(SOURCE, __version__, protocol_cls=Protocol)
        self.is_started = False
        self._watched: set[str] = set()
        #: logged messages about untrusted settings; empty messages are not logged
        self._logged_notes = {""}
        self._parent_watcher: asyncio.Task[None] | None = None

    def report_server_error(self, error: Exception, source: object) -> None:
        """Write an error to the log; by default pygls shows a message box, here at every keystroke."""
        if isinstance(error, JsonRpcException) and not isinstance(error, JsonRpcInternalError):
            # the error is in the response already
            return
        self.log(f"{type(error).__name__}: {error}", error)

    def log(self, message: str, error: BaseException | None = None) -> None:
        """Write an entry to the editor's log, and the traceback to standard error."""
        logger.error(message, exc_info=error)
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, message))

    def start(self, client: Client, config: Iterable[str]) -> None:
        """Store the client's capabilities and options."""
        self.client = client
        self.is_started = True
        self.session = Session(Projects(tuple(config), trusted=client.trusts), self.notify, self.log)
        self._renderer = Renderer(client.capabilities, client.encoding)

    def render(self, file: OpenFile, outcome: Outcome) -> list[WireDiagnostic]:
        """Convert the diagnostics of a file's current text."""
        if not isinstance(outcome, CheckedDocument):
            return [unchecked_diagnostic(outcome)]
        related_sources = {source.path: source for source in outcome.project.loaded.sources}
        diagnostics = self._renderer.render(outcome.shown, file.document.uri, outcome.source, related_sources)
        return [*map(unchecked_diagnostic, outcome.project.problems()), *diagnostics]

    async def notify(self, file: OpenFile, outcome: Outcome) -> None:
        """Report a new outcome to the editor: push diagnostics, or request a pull."""
        if isinstance(outcome, CheckedDocument):
            self.watch_project(outcome.project)
        if self.client.pulls:
            await self.refresh()
            return
        if file.is_open:
            self.publish(file, self.render(file, outcome))

    def watch_project(self, project: Project) -> None:
        """Watch the files of a project, and log its untrusted settings, each message once."""
        self.watch(project.files)
        if project.untrusted_note not in self._logged_notes:
            self._logged_notes.add(project.untrusted_note)
            self.window_log_message(types.LogMessageParams(types.MessageType.Warning, project.untrusted_note))

    def publish(self, file: OpenFile, diagnostics: list[WireDiagnostic]) -> None:
        """Send the diagnostics of a file's current text."""
        version = file.document.version if self.client.versions else None
        published = PublishedDiagnostics(file.document.uri, diagnostics, version)
        self.protocol.notify(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, published)

    def exit_with_parent(self, process: int | None) -> None:
        """Exit when the parent process exits."""
        if process is not None:
            self._parent_watcher = asyncio.get_running_loop().create_task(exit_with(process))

    async def refresh(self) -> None:
        """Request that the editor pull diagnostics again."""
        if self.client.refreshes:
            await self.workspace_diagnostic_refresh_async(None)

    def watch(self, files: Iterable[Path] = (), patterns: Iterable[str] = ()) -> None:
        """Register watchers for files that are not watched yet, if the editor supports them."""
        if not self.client.watches:
            return
        globs: list[types.GlobPattern] = [*patterns]
        globs += [self.client.glob_of(path) for path in files if not any(path.match(watched) for watched in WATCHED)]
        new = [glob for glob in globs if str(glob) not in self._watched]
        if not new:
            return
        self._watched.update(map(str, new))
        options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(glob) for glob in new])
        registration = types.Registration(
            f"{WATCHERS}.{len(self._watched)}", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options
        )
        self.client_register_capability(types.RegistrationParams([registration]))

    async def check_if_stale(self) -> None:
        """Check the open files again if a file of their projects has changed."""
        if self.session.projects.is_stale():
            await self.recheck()

    async def recheck(self) -> None:
        """Check the open files again after a change of their projects."""
        for file in self.session.forget():
            if not self.client.pulls:
                self.session.publish_later(file)
        if self.client.pulls:
            await self.refresh()

    def file(self, uri: str) -> OpenFile | None:
        """Return the open file of a URI if it is checked, else None."""
        file = self.session.files.get(uri)
        return file if file is not None and file.is_checked else None

    def guarded(self, handler: Handler[P, R]) -> Handler[P, R | None]:
        """Wrap a handler: a failure is logged, and the response is empty."""

        @wraps(handler)
        async def call(params: P) -> R | None:
            try:
                return await handler(params)
            except Exception as error:
                self.log(f"{handler.__name__}: {type(error).__name__}: {error}", error)
                return None

        return call

    async def run_on(self, uri: str, find: Callable[[PositionMapper], R]) -> R | None:
        """Return the result of a function for an open file, or None if it is not checked."""
        file = self.file(uri)
        if file is None:
            return None

        def answer(checked: CheckedDocument) -> R:
            return find(PositionMapper(checked, self.client, uri, file.document.version))

        return await self.session.run(file, answer)

    def handler_of(self, request: Request) -> Callable[[Any], Awaitable[Any]]:
        """Return the handler of a request about a file."""

        async def call(params: Any) -> Any:
            uri = params.text_document.uri
            try:
                return await self.run_on(uri, lambda mapper: request.answer(mapper, params))
            except RefusedError as refusal:
                raise RequestFailed(str(refusal)) from None
            except Exception as error:
                self.log(f"{request.method}: {type(error).__name__}: {error}", error)
                return None

        return call


def create_server() -> DerivlintServer:
    """Create the server with its handlers."""
    server = DerivlintServer()

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        options: Any = params.initialization_options
        config = options.get("config") if isinstance(options, dict) else None
        if not isinstance(config, list) or not all(isinstance(item, str) for item in config):
            config = []
        server.start(Client(params), config)
        server.exit_with_parent(params.process_id)
        if server.client.pulls:
            pull = types.DiagnosticOptions(identifier=SOURCE, inter_file_dependencies=True, workspace_diagnostics=False)
            server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, pull)(server.guarded(diagnostic))
        options_of_actions = types.CodeActionOptions([*KINDS], resolve_provider=server.client.resolves_edits)
        server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options_of_actions)(server.guarded(code_actions))
        if server.client.resolves_edits:
            server.feature(types.CODE_ACTION_RESOLVE)(resolve_action)
        for request in REQUESTS:
            if request.method != types.TEXT_DOCUMENT_INLAY_HINT or server.client.hints:
                server.feature(request.method, request.options)(server.handler_of(request))

    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        server.watch(patterns=WATCHED)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        file = server.session.open(document.uri, document.version, document.text)
        changed(file)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        file = server.session.files.get(params.text_document.uri)
        if file is None:
            return
        file.document.change(params.text_document.version, params.content_changes, server.client.encoding)
        server.session.cancel_check(file)
        changed(file)

    def changed(file: OpenFile) -> None:
        if file.is_checked and not server.client.pulls:
            server.session.publish_later(file)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        file = server.session.close(params.text_document.uri)
        if file is not None and file.is_checked and not server.client.pulls:
            server.publish(file, [])

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def did_save(params: types.DidSaveTextDocumentParams) -> None:
        file = server.session.files.get(params.text_document.uri)
        is_refitted = file is not None and file.is_checked and await server.session.redetect_release(file)
        # an editor without watchers still notifies of files that it saves
        if is_refitted:
            await server.recheck()
        elif not server.client.watches:
            await server.check_if_stale()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def did_change_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        await server.check_if_stale()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        projects = server.session.projects
        trusted = trust_in(params.settings)
        if trusted is None or trusted is projects.trusted:
            await server.check_if_stale()
            return
        projects.trusted = trusted
        await server.recheck()

    @server.feature(types.SHUTDOWN)
    def shutdown(params: None = None) -> None:
        server.session.shutdown()

    async def diagnostic(params: types.DocumentDiagnosticParams) -> FullReport | UnchangedReport:
        file = server.file(params.text_document.uri)
        if file is None:
            return FullReport([])
        outcome = await server.session.outcome(file)
        if isinstance(outcome, CheckedDocument):
            server.watch_project(outcome.project)
            if outcome.result_id == params.previous_result_id:
                return UnchangedReport(outcome.result_id)
        result_id = outcome.result_id if isinstance(outcome, CheckedDocument) else None
        return FullReport(server.render(file, outcome), result_id)

    async def code_actions(params: types.CodeActionParams) -> list[types.CodeAction] | None:
        only = [str(getattr(kind, "value", kind)) for kind in params.context.only] if params.context.only else None

        def find(mapper: PositionMapper) -> list[types.CodeAction]:
            span = Span(mapper.shown_offset(params.range.start), mapper.shown_offset(params.range.end))
            return [
                action
                for action_of_range in actions(mapper.checked, span, only)
                if (action := rendered(mapper, action_of_range, params, only)) is not None
            ]

        return await server.run_on(params.text_document.uri, find)

    def rendered(
        mapper: PositionMapper, action: Action, params: types.CodeActionParams, only: list[str] | None
    ) -> types.CodeAction | None:
        edits = action.edits
        fixes = action.fixes
        if edits is None and not server.client.resolves_edits:
            if only is None or fixes is not None:
                # deferred: editors request code actions at every movement of the cursor
                return None
            edits = fixed(mapper.checked)
        about = [
            item
            for item in params.context.diagnostics
            if fixes is not None and item.code == fixes.rule and item.range == mapper.shown_range(fixes.span)
        ]
        return types.CodeAction(
            title=action.title,
            kind=types.CodeActionKind(action.kind) if action.kind != FIX_ALL else FIX_ALL,
            diagnostics=about or None,
            is_preferred=True if action.is_preferred else None,
            edit=mapper.edit(edits) if edits is not None else None,
            data={"uri": mapper.uri, "formula": fixes and [fixes.entry, fixes.dispatch, fixes.key]}
            if edits is None
            else None,
        )

    def resolved_edit(formula: object, mapper: PositionMapper) -> types.WorkspaceEdit | None:
        """Compute the edit of a chosen action; an edit of the text cancels the computation."""
        file = server.file(mapper.uri)
        match formula:
            case [str(), str(), str()] if file is not None:
                edits = suggested(mapper.checked, formula, file.stop.is_set)
                return mapper.edit(edits) if edits else None
        return mapper.edit(fixed(mapper.checked))

    async def resolve_action(params: types.CodeAction) -> types.CodeAction:
        data: Any = params.data
        if params.edit is None and isinstance(data, dict) and isinstance(data.get("uri"), str):
            try:
                params.edit = await server.run_on(data["uri"], partial(resolved_edit, data.get("formula")))
                if params.edit is None:
                    message = "there is no suggestion for this formula"
                    server.window_show_message(types.ShowMessageParams(types.MessageType.Info, message))
            except Exception as error:
                server.log(f"{types.CODE_ACTION_RESOLVE}: {type(error).__name__}: {error}", error)
        return params

    @server.feature(types.COMPLETION_ITEM_RESOLVE)
    async def resolve_completion(params: types.CompletionItem) -> types.CompletionItem:
        data: Any = params.data
        if not isinstance(data, dict) or not all(isinstance(data.get(name), str) for name in ("uri", "item")):
            return params
        try:
            return await server.run_on(data["uri"], lambda mapper: resolved_completion(mapper, params)) or params
        except Exception as error:
            server.log(f"{types.COMPLETION_ITEM_RESOLVE}: {type(error).__name__}: {error}", error)
            return params

    async def symbols(params: types.WorkspaceSymbolParams) -> list[types.WorkspaceSymbol]:
        symbols_of_files: list[types.WorkspaceSymbol] = []
        for uri in list(server.session.files):
            symbols_of_files += await server.run_on(uri, lambda mapper: workspace_symbols(mapper, params.query)) or []
        return symbols_of_files

    server.feature(types.WORKSPACE_SYMBOL)(server.guarded(symbols))

    @server.command(GENERATED_CODE)
    async def show(*arguments: str) -> str | None:
        # editors may send anything; but pygls takes the annotation for a class, which Any is only since Python 3.11,
        # and for that of the server where the server is an instance of it, as of object
        match arguments:
            case (str(uri), str(operator)):
                return await server.run_on(uri, lambda mapper: generated_code(mapper, operator))
        raise JsonRpcInvalidParams(f'"{GENERATED_CODE}" takes a URI and the name of an operator')

    return server
