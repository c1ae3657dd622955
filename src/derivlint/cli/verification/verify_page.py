"""The findings of ``derivlint verify`` as a page of Markdown, for a pull request or the summary of a step on GitHub."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from msgspec import Struct

from derivlint.lint import Diagnostic
from derivlint.lint.wording import counted
from derivlint.project.errors import InputError
from derivlint.source import replace_file, visible_line

#: The variable by which GitHub names the file of a step's summary.
SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
_BACKTICKS = re.compile("`+")


class FindingDetail(Struct, frozen=True):
    """A finding with the formula and the input that it is about.

    Attributes:
        finding: the finding.
        place: the file and the line.
        before: the formula before; empty without one.
        now: the formula.
        arguments: the input, as lines of Python.
    """

    finding: Diagnostic
    place: str
    before: str
    now: str
    arguments: str


def page_of(
    findings: Sequence[tuple[str, Sequence[Diagnostic]]], entries: int, details: Sequence[FindingDetail] = ()
) -> str:
    """The page.

    Args:
        findings: the findings by what became of them.
        entries: how many entries were checked.
        details: what is shown of findings below the table.
    """
    counts = ", ".join(f"{len(items)} {title}" for title, items in findings)
    lines = ["## Derivatives as numbers", "", f"{counted(entries, 'entry', 'entries')} checked: {counts}."]
    rows = [row for title, items in findings for row in _rows(title, items)]
    if rows:
        lines += ["", "| | entry | formula | finding | rule |", "| --- | --- | --- | --- | --- |", *rows]
    for detail in details:
        lines += ["", *_detail(detail)]
    return "\n".join(lines) + "\n"


def _detail(detail: FindingDetail) -> Iterator[str]:
    finding = detail.finding
    yield from (f"### `{finding.entry}`, `{finding.key}`: {_cell(detail.place)}", "", _cell(finding.message))
    removed = [f"-{line}" for line in detail.before.splitlines()] if detail.before != detail.now else []
    yield from _block("diff", [*removed, *(f"+{line}" for line in detail.now.splitlines())])
    if detail.arguments:
        yield from _block("python", detail.arguments.splitlines())


def _block(language: str, lines: Sequence[str]) -> Iterator[str]:
    """A block of code, whose fence is longer than any in it."""
    fence = "`" * max(3, 1 + max((len(run) for line in lines for run in _BACKTICKS.findall(line)), default=0))
    yield from ("", f"{fence}{language}", *map(visible_line, lines), fence)


def write_page(path: Path | None, text: str) -> None:
    """Write the page to its file, and into the summary of the step if GitHub runs this.

    Raises:
        InputError: it cannot be written.
    """
    summary = os.environ.get(SUMMARY_VARIABLE)
    place: str | Path | None = path
    try:
        if path is not None:
            replace_file(path, text.encode("utf-8", "backslashreplace"))
        if summary:
            place = summary
            with open(summary, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
    except OSError as error:
        raise InputError(f'cannot write "{place}": {error.strerror or error}') from error


def _rows(title: str, items: Sequence[Diagnostic]) -> Iterator[str]:
    for item in items:
        cells = (title, f"`{item.entry}`", f"`{item.key}`", _cell(item.message), f"`{item.rule}`")
        yield f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """A text in a cell of a table, where nothing in it is markup."""
    shown = escape(visible_line(text), quote=False)
    for sign in ("\\", "|", "`", "*", "_", "[", "]", "~"):
        shown = shown.replace(sign, f"\\{sign}")
    return shown
