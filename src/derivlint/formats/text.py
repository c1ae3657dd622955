"""Diagnostics as text for people: position, message, source line with the range underlined; styles and links."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from msgspec import Struct

from derivlint.formats.report import Report
from derivlint.lint import Diagnostic, Fix, Severity
from derivlint.lint.fixing import fixable
from derivlint.lint.wording import counted
from derivlint.model.keys import DEFAULT
from derivlint.source import SourceFile, Span, visible, visible_line


class Piece(Struct, frozen=True):
    """A run of text.

    Attributes:
        text: the text.
        style: its style on a terminal, or empty.
        link: the URL of its hyperlink, or empty.
    """

    text: str
    style: str = ""
    link: str = ""


Line = list[Piece]
STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}


def plain(line: Line) -> str:
    """Return a line without styles, with invisible characters escaped."""
    return visible_line("".join(piece.text for piece in line))


def harmless(line: Line) -> Line:
    """Return the line, without styles if characters in it must be escaped."""
    text = "".join(piece.text for piece in line)
    shown = visible_line(text)
    return line if shown == text else [Piece(shown)]


#: The page of the project.
HOME = "https://github.com/derivlint/derivlint"
#: The base URL of rule pages; the URL of a page is stable as long as the rule has its name.
RULE_PAGES = f"{HOME}/blob/main/docs/rules"
#: Findings of ``verify``, which share a page.
NUMERIC_PAGE = f"{HOME}/blob/main/docs/guides/verify.md"
#: Findings without a rule: those of derivlint itself, and of the compiler.
WITHOUT_PAGE = frozenset({"internal-error", "compiler-error"})


def rule_url(name: str) -> str:
    """Return the URL of a rule's page; for findings without a rule, of a page about them or of the project."""
    from derivlint.rules import NUMERIC

    if name in NUMERIC:
        return NUMERIC_PAGE
    return HOME if name in WITHOUT_PAGE else f"{RULE_PAGES}/{name}.md"


#: The minimum width to which source lines are truncated.
MIN_WIDTH = 80
#: The maximum width of a line of a message on a terminal.
HEAD_WIDTH = 110
#: The width to which source lines are truncated without a terminal.
NO_TERMINAL = 120
#: The minimum width of line numbers.
GUTTER = 5
ELLIPSIS = "..."
#: The maximum number of characters, marks included, that a column of a shown line is expected to have.
MAX_CHARACTERS = 4
#: The maximum number of unknown functions listed by name.
MAX_NAMES = 5
#: The maximum number of lines of a fix, before and after.
MAX_FIX_LINES = 8
TAB = "    "

__all__ = ["Line", "Piece", "excerpt", "plain", "printable", "render_concise", "render_text", "summary"]


def render_text(report: Report, width: int | None = None, with_summary: bool = True) -> Iterator[Line]:
    """Render the report as lines.

    Args:
        report: the report.
        width: the columns of the terminal, at which messages are folded; None without one. Longer source lines are
            truncated around the span.
        with_summary: whether the last line has the numbers of findings, entries and files.
    """
    head_width = None if width is None else max(min(width, HEAD_WIDTH), MIN_WIDTH)
    columns = NO_TERMINAL if width is None else max(width, MIN_WIDTH)
    if report.statistics:
        yield from statistics_lines(report)
    else:
        for item in report.diagnostics:
            yield from _diagnostic(item, report, columns, head_width)
            yield []
    if with_summary:
        yield from _summary_lines(report)


def render_concise(report: Report, width: int | None = None, with_summary: bool = True) -> Iterator[Line]:
    """Render one line for each finding, in the form of editors and ``grep``.

    Args:
        report: the report.
        width: unused: findings are never wrapped.
        with_summary: whether the last line has the numbers of findings, entries and files.
    """
    if report.statistics:
        yield from statistics_lines(report)
    else:
        for item in report.diagnostics:
            yield head(item, report)
    if with_summary:
        yield from _summary_lines(report)


def _summary_lines(report: Report) -> Iterator[Line]:
    yield [Piece(summary(report))]
    unknown = report.unknown_functions
    if unknown:
        names = ", ".join(unknown[:MAX_NAMES]) + (", ..." if len(unknown) > MAX_NAMES else "")
        count = counted(len(unknown), "function")
        yield [Piece(f"{count} unknown ({printable(names)}); name headers with --headers")]


def summary(report: Report) -> str:
    """Return the last line: the numbers of findings, entries and files."""
    size = f"{counted(report.entries, 'entry', 'entries')}, {counted(report.formulas, 'formula')}"
    where = f"{counted(len(report.sources), 'file')} ({size})"
    counts = [
        counted(report.count(severity), noun)
        for severity, noun in ((Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "info"))
        if report.count(severity)
    ]
    listed = " and ".join(part for part in (", ".join(counts[:-1]), *counts[-1:]) if part)
    text = f"found {listed} in {where}" if counts else f"no findings in {where}"
    safe = sum(fixable(item) for item in report.diagnostics)
    unsafe = sum(fixable(item, unsafe=True) for item in report.diagnostics) - safe
    if safe or unsafe:
        options = [(safe, "--fix"), (unsafe, "--fix --unsafe-fixes")]
        text += f"; {' and '.join(f'{count:,} fixable with {option}' for count, option in options if count)}"
    if report.suppressed:
        text += f"; {report.suppressed:,} suppressed"
    if report.baselined:
        text += f"; {report.baselined:,} in the baseline"
    if report.unchanged:
        text += f"; {report.unchanged:,} in unchanged entries"
    if report.hidden:
        text += f"; {report.hidden:,} hidden by --min-severity or --min-confidence"
    return text


def head(item: Diagnostic, report: Report) -> Line:
    """Return the line with position, message, subject, fix mark, and the rule, linked to its page."""
    line, column = report.file_of(item).position(item.span.start)
    fix = " [*]" if item.fix is not None else ""
    about = item.subject
    if f'"{item.entry}"' in item.message:
        # without the names that the message quotes
        names = (item.dispatch if item.dispatch != DEFAULT else None, item.key)
        about = ": ".join(name for name in names if name and f'"{name}"' not in item.message)
    about = printable(about)
    return [
        Piece(f"{printable(item.path)}:{line}:{column}: ", "bold"),
        Piece(f"{item.severity.value}: ", STYLES[item.severity]),
        Piece(printable(item.message)),
        Piece(f"{f' ({about})' if about else ''}{fix} [", "dim"),
        Piece(item.rule, "dim", rule_url(item.rule)),
        Piece("]", "dim"),
    ]


def _diagnostic(item: Diagnostic, report: Report, width: int, head_width: int | None) -> Iterator[Line]:
    source = report.file_of(item)
    style = STYLES[item.severity]
    first = head(item, report)
    # programs that read a pipe expect position and message in one line
    yield from (first,) if head_width is None else _folded(first, head_width)
    yield from excerpt(source, item.span, width, style)
    for related in item.related:
        target = report.source(related.path) if related.path is not None else source
        if target is None:
            yield [Piece("  note: ", "bold"), Piece(printable(f"{related.message} ({related.path})"))]
            continue
        line, column = target.position(related.span.start)
        yield [
            Piece("  note: ", "bold"),
            Piece(printable(f"{related.message} ({target.path}:{line}:{column})")),
        ]
        yield from excerpt(target, related.span, width, "bold")
    if item.help is not None:
        yield [Piece("  help: ", "bold green"), Piece(printable(item.help))]
    if report.show_fixes and item.fix is not None and item.fix.edits:
        yield from _fix_lines(source, item.fix, width)


def _folded(line: Line, width: int) -> Iterator[Line]:
    """Break a line at blanks, and indent the continuation lines."""
    part: Line = []
    used = 0
    for piece in line:
        text = ""
        for word in re.split(r"(?<= )", piece.text):
            size = cells(word)
            if used + size - word.endswith(" ") > width and used > len(TAB):
                part.append(Piece(text.rstrip(" "), piece.style, piece.link))
                yield part
                part, text, used = [Piece(TAB)], "", len(TAB)
            text += word
            used += size
        if text:
            part.append(Piece(text, piece.style, piece.link))
    yield part


def _fix_lines(source: SourceFile, fix: Fix, width: int) -> Iterator[Line]:
    """Return the lines that a fix changes, before and after."""
    title = fix.title if fix.safe else f"{fix.title} (unsafe)"
    yield [Piece("  fix: ", "bold green"), Piece(printable(title))]
    edits = sorted(fix.edits, key=lambda edit: edit.span)
    first, begin = source.line_at(edits[0].span.start)
    last, _ = source.line_at(edits[-1].span.end)
    end = source.line_starts[last + 1] if last + 1 < len(source.line_starts) else len(source.text)
    after, done = "", begin
    for edit in edits:
        after += source.text[done : edit.span.start] + edit.text
        done = edit.span.end
    after += source.text[done:end]
    before = source.text[begin:end]
    for mark, style, text in (("-", "red", before), ("+", "green", after)):
        lines = text.splitlines()
        for number, line in enumerate(lines[:MAX_FIX_LINES], first + 1):
            gutter = f"{number:>{GUTTER}} {mark} "
            yield [Piece(gutter, "dim"), Piece(_window(line, "", "", width - len(gutter))[0], style)]
        if len(lines) > MAX_FIX_LINES:
            yield [Piece(f"{'':{GUTTER}} {mark} {len(lines) - MAX_FIX_LINES:,} more lines", "dim")]


def excerpt(source: SourceFile, span: Span, width: int, style: str) -> Iterator[Line]:
    """Return the first line of a range with the range underlined."""
    number = source.position(span.start).line
    line = source.line_span(number)
    # a range that includes the line end ends at the start of the next line
    last = source.position(max(span.start, span.end - 1)).line
    start = min(span.start, line.end)
    end = max(start, min(line.end, span.end) if last == number else line.start + len(source.slice(line).rstrip()))
    gutter = f"{number:>{GUTTER}} | "
    # a line of megabytes is not made printable for each of its findings
    clip = width * MAX_CHARACTERS
    before = source.text[max(line.start, start - clip) : start]
    marked = source.text[start : min(end, start + clip)]
    after = source.text[end : min(line.end, end + clip)]
    window = _window(before, marked, after, width - len(gutter))
    yield [Piece(gutter, "dim"), Piece(window[0])]
    underline = " " * window[1] + "^" * max(1, window[2])
    more = f" ... to line {last}" if last > number else ""
    yield [Piece(" " * (len(gutter) - 2) + "| ", "dim"), Piece(underline, style), Piece(more, "dim")]


def _window(before: str, marked: str, after: str, room: int) -> tuple[str, int, int]:
    """Truncate a line around the marked part; return the text, and the marked part's column and width."""
    shown = [printable(part) for part in (before, marked, after)]
    widths = [cells(part) for part in shown]
    if sum(widths) <= room:
        return "".join(shown), widths[0], widths[1]
    if widths[1] > room - 2 * len(ELLIPSIS):
        middle = _head(shown[1], room - 2 * len(ELLIPSIS))
        lead = ELLIPSIS if before else ""
        return f"{lead}{middle}{ELLIPSIS}", len(lead), cells(middle)
    spare = room - widths[1]
    left_room = min(widths[0], max(spare // 2, spare - widths[2]))
    right_room = min(widths[2], spare - left_room)
    head = shown[0] if left_room >= widths[0] else ELLIPSIS + _tail(shown[0], left_room - len(ELLIPSIS))
    tail = shown[2] if right_room >= widths[2] else _head(shown[2], right_room - len(ELLIPSIS)) + ELLIPSIS
    return head + shown[1] + tail, cells(head), widths[1]


def _head(text: str, room: int) -> str:
    chars: list[str] = []
    used = 0
    for char in text:
        used += _char_cells(char)
        if used > room:
            break
        chars.append(char)
    return "".join(chars)


def _tail(text: str, room: int) -> str:
    return _head(text[::-1], room)[::-1]


def printable(text: str) -> str:
    """Replace tabs by blanks, and escape invisible characters."""
    return visible(text.replace("\t", TAB))


def cells(text: str) -> int:
    """Return the number of terminal columns of a text."""
    if text.isascii():
        return len(text)
    return sum(map(_char_cells, text))


def _char_cells(char: str) -> int:
    # marks take no column; variation selectors are marks whose combining class is 0
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def statistics_lines(report: Report) -> Iterator[Line]:
    """Format a line per rule with findings: their number, severity, and the number with fixes."""
    rows = [(count, name, *_facts(report, name)) for name, count in report.counts()]
    if not rows:
        return
    number = max(len(f"{count:,}") for count, *_ in rows)
    name_width = max(len(name) for _, name, *_ in rows)
    severities = max(len(severity.value) for *_, severity, _ in rows)
    for count, name, severity, fixes in rows:
        line = [
            Piece(f"{count:>{number},}  ", "bold"),
            Piece(name, link=rule_url(name)),
            Piece(" " * (name_width - len(name) + 2)),
            Piece(severity.value, STYLES[severity]),
        ]
        if fixes:
            line += [Piece(" " * (severities - len(severity.value))), Piece(f"  {fixes:,} with a fix", "dim")]
        yield line


def _facts(report: Report, name: str) -> tuple[Severity, int]:
    diagnostics: list[Diagnostic] = [item for item in report.diagnostics if item.rule == name]
    return max(item.severity for item in diagnostics), sum(item.fix is not None for item in diagnostics)
