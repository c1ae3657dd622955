"""Diagnostics as the protocol has them.

They are msgspec structs, encoded without conversion: each edit sends all diagnostics of the file, and converting
lsprotocol objects would take several times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from lsprotocol import types
from msgspec import Struct
from msgspec.structs import replace

from derivlint.formats.text import rule_url
from derivlint.lint import Diagnostic, Related, Severity
from derivlint.lsp.documents import Positions, uri_of
from derivlint.source import SourceFile, Span

SOURCE = "derivlint"
#: The code of an error that keeps a file from being checked, such as a configuration with mistakes.
CANNOT_CHECK = "cannot-check"

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error.value,
    Severity.WARNING: types.DiagnosticSeverity.Warning.value,
    Severity.INFO: types.DiagnosticSeverity.Information.value,
}
#: Rules that report unnecessary code, which editors show faded.
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
#: The maximum number of diagnostics cached without their ranges.
MAX_CACHED = 4096


class WirePosition(Struct, frozen=True):
    """A position of the protocol."""

    line: int
    character: int


class WireRange(Struct, frozen=True):
    """A range of the protocol."""

    start: WirePosition
    end: WirePosition


#: The start of a file, and a placeholder for ranges that are filled in later.
_NOWHERE = WireRange(WirePosition(0, 0), WirePosition(0, 0))


class Location(Struct, frozen=True):
    """A range of a file."""

    uri: str
    range: WireRange


class RelatedInformation(Struct, frozen=True):
    """A related location of a diagnostic."""

    location: Location
    message: str


class CodeDescription(Struct, frozen=True):
    """The page that explains a code."""

    href: str


class Data(Struct, frozen=True):
    """The data that an editor returns with a diagnostic when it requests code actions."""

    entry: str | None
    fixable: bool
    safe: bool


class WireDiagnostic(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A diagnostic of the protocol."""

    range: WireRange
    message: str
    severity: int
    code: str
    source: str
    code_description: CodeDescription | None = None
    tags: list[int] | None = None
    related_information: list[RelatedInformation] | None = None
    data: Data | None = None


class PublishedDiagnostics(Struct, frozen=True, omit_defaults=True):
    """All diagnostics of a text, which are pushed."""

    uri: str
    diagnostics: list[WireDiagnostic]
    version: int | None = None


class FullReport(
    Struct,
    frozen=True,
    omit_defaults=True,
    rename="camel",
    tag_field="kind",
    tag=types.DocumentDiagnosticReportKind.Full.value,
):
    """All diagnostics of a text, which the client has pulled."""

    items: list[WireDiagnostic]
    result_id: str | None = None


class UnchangedReport(
    Struct, frozen=True, rename="camel", tag_field="kind", tag=types.DocumentDiagnosticReportKind.Unchanged.value
):
    """The response to a client that has the diagnostics already."""

    result_id: str


class Renderer:
    """Converts diagnostics to the protocol's, with the fields that the client supports."""

    def __init__(self, capabilities: types.ClientCapabilities, encoding: str) -> None:
        """Read the client's capabilities, for pushed and pulled diagnostics alike."""
        text_document = capabilities.text_document
        pushed = text_document.publish_diagnostics if text_document is not None else None
        pulled: Any = text_document.diagnostic if text_document is not None else None
        supported = [item for item in (pushed, pulled) if item is not None]
        self._related = any(item.related_information for item in supported)
        self._description = any(item.code_description_support for item in supported)
        self._data = any(item.data_support for item in supported)
        tags = {tag for item in supported if item.tag_support is not None for tag in item.tag_support.value_set}
        self._unnecessary = _UNNECESSARY if types.DiagnosticTag.Unnecessary in tags else frozenset[str]()
        self._deprecated = _DEPRECATED if types.DiagnosticTag.Deprecated in tags else frozenset[str]()
        self._encoding = encoding
        # most diagnostics of a text recur from the text before, at other ranges
        self._cached = lru_cache(maxsize=MAX_CACHED)(self._without_places)

    def render(
        self, diagnostics: Iterable[Diagnostic], uri: str, source: SourceFile, related_sources: Mapping[str, SourceFile]
    ) -> list[WireDiagnostic]:
        """Convert the diagnostics of a file.

        Args:
            diagnostics: the findings.
            uri: the file.
            source: its text.
            related_sources: the files of native functions and the headers, into which diagnostics may point, by path.
        """
        positions = Positions(source, self._encoding)
        items = (_at_file_start(item, related_sources) if item.elsewhere else item for item in diagnostics)
        return [self._rendered(item, uri, positions, related_sources) for item in items]

    def _rendered(
        self, item: Diagnostic, uri: str, positions: Positions, related_sources: Mapping[str, SourceFile]
    ) -> WireDiagnostic:
        is_safe = item.fix is not None and item.fix.safe
        rendered = self._cached(
            item.rule, item.severity, item.message, item.help, item.entry, item.fix is not None, is_safe
        )
        related = [self._place(part, uri, positions, related_sources) for part in item.related] if self._related else []
        places = [place for place in related if place is not None]
        return replace(rendered, range=_range(positions, item.span), related_information=places or None)

    def _without_places(
        self,
        rule: str,
        severity: Severity,
        message: str,
        help: str | None,
        entry: str | None,
        fixable: bool,
        safe: bool,
    ) -> WireDiagnostic:
        """Convert a diagnostic without its ranges."""
        tags = [
            *([types.DiagnosticTag.Unnecessary.value] if rule in self._unnecessary else []),
            *([types.DiagnosticTag.Deprecated.value] if rule in self._deprecated else []),
        ]
        return WireDiagnostic(
            range=_NOWHERE,
            message=message if help is None else f"{message}\n{help}",
            severity=_SEVERITIES[severity],
            code=rule,
            code_description=CodeDescription(rule_url(rule)) if self._description else None,
            source=SOURCE,
            tags=tags or None,
            data=Data(entry, fixable, safe) if self._data else None,
        )

    def _place(
        self, part: Related, uri: str, positions: Positions, related_sources: Mapping[str, SourceFile]
    ) -> RelatedInformation | None:
        if part.path is not None and part.path != positions.source.path:
            related_source = related_sources.get(part.path)
            if related_source is None:
                return None
            uri, positions = uri_of(part.path), Positions(related_source, self._encoding)
        return RelatedInformation(Location(uri, _range(positions, part.span)), part.message)


def _range(positions: Positions, span: Span) -> WireRange:
    start, end = positions.ends(span)
    return WireRange(WirePosition(*start), WirePosition(*end))


def _at_file_start(item: Diagnostic, related_sources: Mapping[str, SourceFile]) -> Diagnostic:
    """Move a finding in a header to the beginning of the file, with its location in the message."""
    line, column = related_sources[item.path].position(item.span.start)
    message = f"{item.message} ({item.path}:{line}:{column})"
    place = Related(item.message, item.span, item.path)
    return replace(item, span=Span(0, 0), message=message, related=(place, *item.related))


def unchecked_diagnostic(message: str) -> WireDiagnostic:
    """Return the error that keeps a file from being checked, as a diagnostic at its first line."""
    return WireDiagnostic(
        range=_NOWHERE,
        message=message,
        severity=_SEVERITIES[Severity.ERROR],
        code=CANNOT_CHECK,
        source=SOURCE,
    )
