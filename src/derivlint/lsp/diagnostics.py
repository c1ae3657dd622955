"""Diagnostics as the protocol has them.

They are records of our own, which are written as they are: after each edit all diagnostics of the file are sent, and to
convert as many objects of lsprotocol would take several times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lsprotocol import types
from msgspec import Struct
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
    Severity.ERROR: types.DiagnosticSeverity.Error.value,
    Severity.WARNING: types.DiagnosticSeverity.Warning.value,
    Severity.INFO: types.DiagnosticSeverity.Information.value,
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


class SentPosition(Struct, frozen=True):
    """A position of the protocol."""

    line: int
    character: int


class SentRange(Struct, frozen=True):
    """A range of the protocol."""

    start: SentPosition
    end: SentPosition


class Location(Struct, frozen=True):
    """A range of a file."""

    uri: str
    range: SentRange


class RelatedInformation(Struct, frozen=True):
    """What a diagnostic is related to."""

    location: Location
    message: str


class CodeDescription(Struct, frozen=True):
    """Where a code is explained."""

    href: str


class Data(Struct, frozen=True):
    """What we want to know of a diagnostic when its actions are asked for."""

    entry: str | None
    fixable: bool
    safe: bool


class SentDiagnostic(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A diagnostic of the protocol."""

    range: SentRange
    message: str
    severity: int
    code: str
    source: str
    code_description: CodeDescription | None = None
    tags: list[int] | None = None
    related_information: list[RelatedInformation] | None = None
    data: Data | None = None


class PublishedDiagnostics(Struct, frozen=True, omit_defaults=True):
    """All diagnostics of a text, which are sent unasked."""

    uri: str
    diagnostics: list[SentDiagnostic]
    version: int | None = None


class FullReport(
    Struct,
    frozen=True,
    omit_defaults=True,
    rename="camel",
    tag_field="kind",
    tag=types.DocumentDiagnosticReportKind.Full.value,
):
    """All diagnostics of a text, as the answer to who asks for them."""

    items: list[SentDiagnostic]
    result_id: str | None = None


class UnchangedReport(
    Struct, frozen=True, rename="camel", tag_field="kind", tag=types.DocumentDiagnosticReportKind.Unchanged.value
):
    """The answer to who knows the diagnostics already."""

    result_id: str


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
        self._unnecessary = _UNNECESSARY if types.DiagnosticTag.Unnecessary in tags else frozenset[str]()
        self._deprecated = _DEPRECATED if types.DiagnosticTag.Deprecated in tags else frozenset[str]()
        self._encoding = encoding

    def render(
        self, diagnostics: Iterable[Diagnostic], uri: str, source: SourceFile, others: Mapping[str, SourceFile]
    ) -> list[SentDiagnostic]:
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
    ) -> SentDiagnostic:
        related = [self._place(part, uri, positions, others) for part in item.related] if self._related else []
        tags = [
            *([types.DiagnosticTag.Unnecessary.value] if item.rule in self._unnecessary else []),
            *([types.DiagnosticTag.Deprecated.value] if item.rule in self._deprecated else []),
        ]
        return SentDiagnostic(
            range=_range(positions, item.span),
            message=item.message if item.help is None else f"{item.message}\n{item.help}",
            severity=_SEVERITIES[item.severity],
            code=item.rule,
            code_description=CodeDescription(rule_url(item.rule)) if self._description else None,
            source=SOURCE,
            tags=tags or None,
            related_information=[place for place in related if place is not None] or None,
            data=_data(item) if self._data else None,
        )

    def _place(
        self, part: Related, uri: str, positions: Positions, others: Mapping[str, SourceFile]
    ) -> RelatedInformation | None:
        if part.path is not None and part.path != positions.source.path:
            other = others.get(part.path)
            if other is None:
                return None
            uri, positions = uri_of(part.path), Positions(other, self._encoding)
        return RelatedInformation(Location(uri, _range(positions, part.span)), part.message)


def _range(positions: Positions, span: Span) -> SentRange:
    return SentRange(
        SentPosition(*positions.line_and_character(span.start)), SentPosition(*positions.line_and_character(span.end))
    )


def _pointing(item: Diagnostic, others: Mapping[str, SourceFile]) -> Diagnostic:
    """A finding in a header, as the protocol can show it: at the beginning of the file, naming its place."""
    line, column = others[item.path].position(item.span.start)
    message = f"{item.message} ({item.path}:{line}:{column})"
    place = Related(item.message, item.span, item.path)
    return replace(item, span=Span(0, 0), message=message, related=(place, *item.related))


def _data(item: Diagnostic) -> Data:
    return Data(item.entry, item.fix is not None, item.fix is not None and item.fix.safe)


def cannot_check(message: str) -> SentDiagnostic:
    """What keeps a file from being checked, at its first line."""
    return SentDiagnostic(
        range=SentRange(SentPosition(0, 0), SentPosition(0, 0)),
        message=message,
        severity=_SEVERITIES[Severity.ERROR],
        code=CANNOT_CHECK,
        source=SOURCE,
    )
