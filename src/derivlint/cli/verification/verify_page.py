"""The findings of ``derivlint verify`` as a page of Markdown, for a pull request or the summary of a step on GitHub."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from derivlint.lint import Diagnostic
from derivlint.lint.wording import counted
from derivlint.project.errors import InputError
from derivlint.source import replace_file, visible_line

#: The variable by which GitHub names the file of a step's summary.
SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"


def page_of(findings: Sequence[tuple[str, Sequence[Diagnostic]]], entries: int) -> str:
    """The page.

    Args:
        findings: the findings by what became of them.
        entries: how many entries were checked.
    """
    counts = ", ".join(f"{len(items)} {title}" for title, items in findings)
    lines = ["## Derivatives as numbers", "", f"{counted(entries, 'entry', 'entries')} checked: {counts}."]
    rows = [row for title, items in findings for row in _rows(title, items)]
    if rows:
        lines += ["", "| | entry | formula | finding | rule |", "| --- | --- | --- | --- | --- |", *rows]
    return "\n".join(lines) + "\n"


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
