"""Formats of a review: styled lines for a terminal, Markdown for a pull request, JSON for scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from derivlint.formats import Report
from derivlint.formats.machine.json_format import render_json
from derivlint.formats.text import STYLES, Line, Piece
from derivlint.lint import Diagnostic
from derivlint.lint.wording import counted
from derivlint.model.keys import DEFAULT
from derivlint.review.entries import DerivativeChange, EntryChange, Status, ValueChange
from derivlint.review.review import Review, Version
from derivlint.source import visible

VERSION = 1
#: The maximum number of functions listed by name.
MAX_NAMED = 8
_STATUS_STYLES = {Status.ADDED: "bold green", Status.REMOVED: "bold red", Status.CHANGED: "bold yellow"}
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def review_lines(review: Review) -> Iterator[Line]:
    """Format a review for a terminal."""
    yield [Piece(f"{review.before.label} -> {review.after.label}", "bold")]
    yield [Piece(summary(review))]
    for entry in review.entries:
        yield []
        yield [
            Piece(entry.status.value, _STATUS_STYLES[entry.status]),
            Piece(f" {entry.name}", "bold"),
            Piece(f" ({_place(review, entry)})"),
        ]
        for value in entry.values:
            yield [Piece(f"  {_key(value)}")]
            yield from ([Piece(f"    {line}", _DIFF_STYLES[line[0]])] for line in _sides(value))
        yield from ([Piece(f"  {fact}")] for fact in _facts(entry))
    for title, diagnostics, version in _findings(review):
        if diagnostics:
            yield []
            yield [Piece(f"{title} findings", "bold")]
            yield from (_finding(item, version) for item in diagnostics)
    if review.no_code is not None or review.code:
        yield []
        yield [Piece("generated C++", "bold"), Piece(f": {review.no_code}" if review.no_code is not None else "")]
        yield from ([Piece(line, _DIFF_STYLES.get(line[:1], ""))] for line in review.code)


def review_markdown(review: Review) -> str:
    """Format a review as Markdown, for example for a comment on a pull request."""
    lines = [f"## {_text(review.before.label)} → {_text(review.after.label)}", "", _text(summary(review))]
    for entry in review.entries:
        name = visible(entry.name).replace("`", "'")
        lines += ["", f"### {entry.status.value}: `{name}` ({_text(_place(review, entry))})", ""]
        changes = [line for value in entry.values for line in (f"  {_key(value)}", *_sides(value))]
        lines += _fenced("diff", changes) if changes else []
        lines += ["", *(f"- {_text(fact)}" for fact in _facts(entry))]
    for title, diagnostics, version in _findings(review):
        if diagnostics:
            lines += ["", f"### {title} findings", ""]
            lines += ["- " + _text("".join(piece.text for piece in _finding(item, version))) for item in diagnostics]
    if review.no_code is not None:
        lines += ["", "### generated C++", "", _text(review.no_code)]
    elif review.code:
        lines += ["", "<details><summary>generated C++</summary>", "", *_fenced("diff", review.code), "", "</details>"]
    return "\n".join(lines) + "\n"


def review_json(review: Review) -> str:
    """Return the JSON document of a review."""
    document = {
        "version": VERSION,
        "before": _version(review.before),
        "after": _version(review.after),
        "summary": {
            **{status.value: count for status, count in review.counts().items()},
            "new_findings": len(review.new),
            "gone_findings": len(review.gone),
        },
        "entries": [_entry(review, entry) for entry in review.entries],
        "findings": {title: _diagnostics(diagnostics, version) for title, diagnostics, version in _findings(review)},
        "code": {"diff": list(review.code), "reason": review.no_code},
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def summary(review: Review) -> str:
    """Count the differences, in one line."""
    counts = review.counts()
    if not review.entries and not review.new and not review.gone:
        return "no entry differs"
    entries = ", ".join(f"{count:,} {status.value}" for status, count in counts.items() if count) or "none changed"
    return f"entries: {entries}; findings: {len(review.new):,} new, {len(review.gone):,} gone"


def _findings(review: Review) -> Iterator[tuple[str, tuple[Diagnostic, ...], Version]]:
    yield "new", review.new, review.after
    yield "gone", review.gone, review.before


def _finding(item: Diagnostic, version: Version) -> Line:
    files = {source.path: source for source in (*version.operators.sources, version.source)}
    line, column = files[item.path].position(item.span.start)
    return [
        Piece(f"  {item.path}:{line}:{column}: "),
        Piece(item.severity.value, STYLES[item.severity]),
        Piece(f": {item.message} [{item.rule}]" + (f" ({item.entry})" if item.entry is not None else "")),
    ]


def _place(review: Review, entry: EntryChange) -> str:
    source = (review.before if entry.status is Status.REMOVED else review.after).source
    return f"{source.path}:{source.position(entry.span.start).line}"


def _key(value: ValueChange) -> str:
    return value.key if value.dispatch in (None, DEFAULT) else f"{value.key} [{value.dispatch}]"


def _sides(value: ValueChange) -> Iterator[str]:
    if value.before is not None:
        yield f"- {value.before}"
    if value.after is not None:
        yield f"+ {value.after}"


def _facts(entry: EntryChange) -> Iterator[str]:
    """Yield a line per effect of a change."""
    if entry.saved:
        yield f"saved now: {', '.join(entry.saved)}"
    if entry.unsaved:
        yield f"no longer saved: {', '.join(entry.unsaved)}"
    if entry.status is Status.CHANGED or any(derivative.before is not None for derivative in entry.derivatives):
        yield from (f"{derivative.effect}: {_derivative(derivative)}" for derivative in entry.derivatives)
    if entry.functions:
        named = ", ".join(entry.functions[:MAX_NAMED])
        more = len(entry.functions) - MAX_NAMED
        yield f"also for: {named}" + (f" and {counted(more, 'other function')}" if more > 0 else "")
    if entry.siblings:
        yield f"unchanged siblings: {', '.join(entry.siblings)}"


def _derivative(change: DerivativeChange) -> str:
    where = f" [{change.dispatch}]" if change.dispatch is not None else ""
    return f"{change.aspect}{where}, {change.before or 'none'} -> {change.after or 'none'}"


def _version(version: Version) -> dict[str, Any]:
    return {"label": version.label, "path": version.source.path, "operators": version.operators.natives.version}


def _entry(review: Review, entry: EntryChange) -> dict[str, Any]:
    source = (review.before if entry.status is Status.REMOVED else review.after).source
    return {
        "name": entry.name,
        "status": entry.status.value,
        "path": source.path,
        "line": source.position(entry.span.start).line,
        "values": [
            {"dispatch": item.dispatch, "key": item.key, "before": item.before, "after": item.after}
            for item in entry.values
        ],
        "saved": {"gained": list(entry.saved), "lost": list(entry.unsaved)},
        "derivatives": [
            {"dispatch": item.dispatch, "aspect": item.aspect, "before": item.before, "after": item.after}
            for item in entry.derivatives
        ],
        "functions": list(entry.functions),
        "siblings": list(entry.siblings),
    }


def _diagnostics(diagnostics: Sequence[Diagnostic], version: Version) -> list[Any]:
    """Return findings in the form of ``derivlint check``."""
    native_sources = {source.path: source for source in version.operators.sources}
    report = Report(tuple(diagnostics), {version.source.path: version.source}, 0, 0, related_sources=native_sources)
    items: list[Any] = json.loads(render_json(report))["diagnostics"]
    return items


#: Markdown syntax; an at sign before a name would notify a user, even escaped.
_MARKS = {**{char: f"\\{char}" for char in "\\`*_<>[]|#"}, "@": "@<!-- -->"}


def _text(text: str) -> str:
    """Escape a text for Markdown."""
    return "".join(_MARKS.get(char, char) for char in visible(text))


def _fenced(language: str, lines: Sequence[str]) -> list[str]:
    """Format a code block, with a fence longer than any in it."""
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    return [f"{fence}{language}", *map(visible, lines), fence]
