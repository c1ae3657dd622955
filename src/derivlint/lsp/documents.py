"""The open texts of an editor, which replace the files on disk."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from derivlint.lsp.transport.positions import Positions
from derivlint.source import SourceFile

#: Characters that no file name has: lone surrogates, which a client may send, and NUL.
_NOT_IN_NAMES = re.compile("[\ud800-\udfff\0]")


def path_of(uri: str) -> Path:
    """Return the path of a URI; an unsaved text gets a path of its name in the working folder."""
    uri = _named(uri)
    path = to_fs_path(uri) if urlsplit(uri).scheme == "file" else None
    if path is not None:
        return Path(_named(path))
    return Path.cwd() / (Path(_named(unquote(urlsplit(uri).path))).name or "untitled")


def _named(text: str) -> str:
    return _NOT_IN_NAMES.sub("\N{REPLACEMENT CHARACTER}", text)


def uri_of(path: str | Path) -> str:
    """Return the URI of a file."""
    return from_fs_path(str(Path(path).absolute())) or Path(path).absolute().as_uri()


class OpenDocument:
    """A text that an editor has open.

    Attributes:
        uri: the editor's name for it.
        path: the file.
        version: the editor's version number of the text.
        source: the text.
    """

    def __init__(self, uri: str, version: int, text: str) -> None:
        self.uri = uri
        self.path = path_of(uri)
        self.version = version
        self.source = SourceFile(str(self.path), text)

    def change(self, version: int, changes: Sequence[types.TextDocumentContentChangeEvent], encoding: str) -> None:
        """Apply changes in order."""
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                self.source = self.source.replaced(Positions(self.source, encoding).span(change.range), change.text)
            else:
                self.source = SourceFile(self.source.path, change.text)
        self.version = version
