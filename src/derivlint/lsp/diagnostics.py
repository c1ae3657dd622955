"""Diagnostics as the protocol has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lsprotocol import types
from msgspec.structs import replace

from derivlint.formats.links import rule_url
from derivlint.lint import Diagnostic, Related, Severity
from derivlint.lsp.documents import uri_of
from derivlint.lsp.transport.positions import Positions
from derivlint.source import SourceFile, Span

SOURCE = "derivlint"
#: The code of what keeps a file from being checked, such as a configuration with mistakes.
CANNOT_CHECK = "cannot-check"

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}
#: What these find could be deleted, and editors show it faded.
_UNNECESSARY = frozenset(
    {
        "ignored-composite-entry",
        "ignored-derivative",
        "ignored-key-beside-dispatch",
        "ignored-void-formula",
        "trailing-semicolon",
        "unused-suppression",
    }
)
_DEPRECATED = frozenset({"deprecated-function"})


class Renderer:
    """Turns diagnostics of a file into those of the protocol, with as much as the client understands."""

    def __init__(self, capabilities: types.ClientCapabilities, encoding: str) -> None:
        """Take what the client can do, for diagnostics that are pushed and those that are pulled alike."""
        text_document = capabilities.text_document
        pushed = text_document.publish_diagnostics if text_document is not None else None
        pulled: Any = text_document.diagnostic if text_document is not None else None
        known = [item for item in (pushed, pulled) if item is not None]
        self._related = any(item.related_information for item in known)
        self._description = any(item.code_description_support for item in known)
        self._data = any(item.data_support for item in known)
        tags = {tag for item in known if item.tag_support is not None for tag in item.tag_support.value_set}
        self._tags = frozenset(tags)
        self._encoding = encoding

    def render(
        self, diagnostics: Iterable[Diagnostic], uri: str, source: SourceFile, others: Mapping[str, SourceFile]
    ) -> list[types.Diagnostic]:
        """The diagnostics of a file.

        Args:
            diagnostics: what was found.
            uri: the file.
            source: its text.
            others: the files of native functions and the headers, into which diagnostics may point, by path.
        """
        positions = Positions(source, self._encoding)
        here = (_pointing(item, others) if item.elsewhere else item for item in diagnostics)
        return [self._one(item, uri, positions, others) for item in here]

    def _one(
        self, item: Diagnostic, uri: str, positions: Positions, others: Mapping[str, SourceFile]
    ) -> types.Diagnostic:
        related = [self._place(part, uri, positions, others) for part in item.related] if self._related else []
        tags = self._tags & {
            *([types.DiagnosticTag.Unnecessary] if item.rule in _UNNECESSARY else []),
            *([types.DiagnosticTag.Deprecated] if item.rule in _DEPRECATED else []),
        }
        return types.Diagnostic(
            range=positions.range(item.span),
            message=item.message if item.help is None else f"{item.message}\n{item.help}",
            severity=_SEVERITIES[item.severity],
            code=item.rule,
            code_description=types.CodeDescription(rule_url(item.rule)) if self._description else None,
            source=SOURCE,
            tags=sorted(tags) or None,
            related_information=[place for place in related if place is not None] or None,
            data=_data(item) if self._data else None,
        )

    def _place(
        self, part: Related, uri: str, positions: Positions, others: Mapping[str, SourceFile]
    ) -> types.DiagnosticRelatedInformation | None:
        if part.path is not None and part.path != positions.source.path:
            other = others.get(part.path)
            if other is None:
                return None
            uri, positions = uri_of(part.path), Positions(other, self._encoding)
        return types.DiagnosticRelatedInformation(types.Location(uri, positions.range(part.span)), part.message)


def _pointing(item: Diagnostic, others: Mapping[str, SourceFile]) -> Diagnostic:
    """A finding in a header, as the protocol can show it: at the beginning of the file, naming its place."""
    line, column = others[item.path].position(item.span.start)
    message = f"{item.message} ({item.path}:{line}:{column})"
    place = Related(item.message, item.span, item.path)
    return replace(item, span=Span(0, 0), message=message, related=(place, *item.related))


def _data(item: Diagnostic) -> dict[str, Any]:
    return {"entry": item.entry, "fixable": item.fix is not None, "safe": item.fix is not None and item.fix.safe}


def cannot_check(message: str) -> types.Diagnostic:
    """What keeps a file from being checked, at its first line."""
    return types.Diagnostic(
        range=types.Range(types.Position(0, 0), types.Position(0, 0)),
        message=message,
        severity=types.DiagnosticSeverity.Error,
        code=CANNOT_CHECK,
        source=SOURCE,
    )
