"""Client capabilities that the server uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.capabilities import get_capability

from derivlint.lsp.documents import preferred_encoding, uri_of

#: The name of the client whose derivlint extension has the command that shows the C++ of an entry.
VS_CODE = "Visual Studio Code"


def trust_in(options: object) -> bool | None:
    """Return the option ``trusted``, at the top level or below ``derivlint``, or None if it is not set."""
    if not isinstance(options, dict):
        return None
    own = options.get("derivlint")
    trusted = own.get("trusted") if isinstance(own, dict) else options.get("trusted")
    return trusted if isinstance(trusted, bool) else None


class Client:
    """The capabilities of an editor.

    Attributes:
        capabilities: all of them.
        encoding: the position encoding.
        pulls: it pulls diagnostics; they are not pushed.
        refreshes: it pulls again on request.
        versions: its diagnostics carry the version of the document.
        watches: it can watch files.
        resolves_edits: the edits of code actions may be computed when one is chosen.
        versioned_edits: edits may name the version that they are for.
        nests_symbols: symbols of a file may hold others.
        shows_code: it has a command that shows the C++ of an entry.
        hints: the user has enabled inlay hints.
        trusts: the user trusts the workspace.
    """

    def __init__(self, params: types.InitializeParams) -> None:
        """Read the parameters of the ``initialize`` request, after the encoding is negotiated."""
        capabilities = self.capabilities = params.capabilities

        def can(name: str) -> bool:
            return bool(get_capability(capabilities, name))

        offered: Any = get_capability(capabilities, "general.position_encodings")
        self.encoding = preferred_encoding([str(getattr(name, "value", name)) for name in offered or ()])
        self.pulls = get_capability(capabilities, "text_document.diagnostic") is not None
        self.refreshes = can("workspace.diagnostics.refresh_support")
        self.versions = can("text_document.publish_diagnostics.version_support")
        self.watches = can("workspace.did_change_watched_files.dynamic_registration")
        self._relative_patterns = can("workspace.did_change_watched_files.relative_pattern_support")
        properties: Any = get_capability(capabilities, "text_document.code_action.resolve_support.properties")
        self.resolves_edits = "edit" in (properties or ())
        self.versioned_edits = can("workspace.workspace_edit.document_changes")
        self.nests_symbols = can("text_document.document_symbol.hierarchical_document_symbol_support")
        options: Any = params.initialization_options if isinstance(params.initialization_options, dict) else {}
        name = params.client_info.name if params.client_info is not None else ""
        self.shows_code = bool(options.get("showGeneratedCode", name.startswith(VS_CODE)))
        self.hints = options.get("inlayHints") is True
        self.trusts = trust_in(options) is True

    def glob_of(self, path: Path) -> types.GlobPattern:
        """Return a glob pattern that matches one file."""
        if self._relative_patterns:
            return types.RelativePattern(uri_of(path.parent), path.name)
        return path.as_posix()
