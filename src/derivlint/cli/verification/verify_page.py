"""The findings of ``derivlint verify`` as a page of Markdown, and the report of ``derivlint verify --precision``."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from msgspec import Struct

from derivlint.cli.shared.output import OutputOptions
from derivlint.cli.shared.terminal import CLEAN, warn, write, write_json
from derivlint.lint import Diagnostic
from derivlint.lint.wording import counted
from derivlint.project.errors import writing
from derivlint.source import replace_file, visible_line
from derivlint.verify.outcome import RunOutcome

#: The environment variable with the file of a GitHub step's summary.
SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
_BACKTICKS = re.compile("`+")


class FindingDetail(Struct, frozen=True):
    """A finding with its formula and input.

    Attributes:
        finding: the finding.
        place: the file and the line.
        before: the formula of the base, or empty.
        now: the current formula.
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
    """Return the page.

    Args:
        findings: the findings, grouped by comparison with the base.
        entries: the number of checked entries.
        details: the details of findings, shown below the table.
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
    """Format a code block, with a fence longer than any in it."""
    fence = "`" * max(3, 1 + max((len(run) for line in lines for run in _BACKTICKS.findall(line)), default=0))
    yield from ("", f"{fence}{language}", *map(visible_line, lines), fence)


def write_page(path: Path | None, text: str) -> None:
    """Write the page to its file, and to the step summary on GitHub.

    Raises:
        InputError: a file cannot be written.
    """
    summary = os.environ.get(SUMMARY_VARIABLE)
    if path is not None:
        with writing(path):
            replace_file(path, text.encode("utf-8", "backslashreplace"))
    if summary:
        with writing(summary), open(summary, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)


def _rows(title: str, items: Sequence[Diagnostic]) -> Iterator[str]:
    for item in items:
        cells = (title, f"`{item.entry}`", f"`{item.key}`", _cell(item.message), f"`{item.rule}`")
        yield f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """Escape the text of a table cell."""
    shown = escape(visible_line(text), quote=False)
    for sign in ("\\", "|", "`", "*", "_", "[", "]", "~"):
        shown = shown.replace(sign, f"\\{sign}")
    return shown


#: The minimum reported error, in units in the last place; a few roundings cause less.
MIN_ULPS = 8.0


def report_precision(outcome: RunOutcome, output: OutputOptions) -> int:
    """Report the precision of formulas, the least precise first, and return the exit status."""
    functions = {item.spec.number: item for item in outcome.functions}
    rows = []
    for item in outcome.measures:
        function = functions[item["precision"]]
        if function.written.auto is None:
            # an automatic forward formula is derived from the backward formula, which is measured
            rows.append({"entry": function.spec.operator, "key": function.spec.key, **item})
    for row in rows:
        del row["precision"]
    rows.sort(key=lambda row: (-row["lost"] / row["inputs"], -row["ulps"], row["entry"], row["what"], row["dtype"]))
    if output.format == "json":
        write_json(json.dumps({"version": 1, "precision": rows}, indent=2) + "\n")
    else:
        shown = [row for row in rows if output.verbose or "better" in row or row["lost"] or row["ulps"] > MIN_ULPS]
        write("".join(f"{_line(row)}\n" for row in shown))
        precise = len(rows) - len(shown)
        if precise:
            warn(f"{counted(precise, 'derivative')} within {MIN_ULPS:g} units everywhere (--verbose lists them)")
    entries = len({row["entry"] for row in rows})
    warn(f"the precision of {counted(entries, 'entry', 'entries')} was measured")
    _report_double(rows, output)
    for missing in outcome.unchecked():
        if output.verbose and not missing.key:
            warn(str(missing))
    return CLEAN


def _report_double(rows: list[dict[str, Any]], output: OutputOptions) -> None:
    """Report the number of double-precision references compared with mpmath."""
    checked = {row["entry"] for row in rows if "double_inputs" in row}
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row["entry"] not in checked and row["entry"] not in reasons.setdefault(row["double_unchecked"], []):
            reasons[row["double_unchecked"]].append(row["entry"])
    warn(f"double precision was compared with mpmath for {counted(len(checked), 'entry', 'entries')}")
    for reason, names in reasons.items():
        listed = f": {', '.join(names)}" if output.verbose else " (--verbose lists them)"
        warn(f"double precision of {counted(len(names), 'entry', 'entries')} is not checked: {reason}{listed}")


def _line(row: dict[str, Any]) -> str:
    """Format a line for one derivative in one dtype."""
    text = f"{row['entry']}, {row['kind']} of {row['what']}, {row['dtype']}: "
    parts = [f"at most {row['ulps']:.4g} units off ({row['ulps_at']})"]
    if row["lost"]:
        parts.append(f"lost at {row['lost']} of {row['inputs']} inputs ({row['lost_at']})")
    if row.get("double_lost") or row.get("double_ulps", 0.0) > MIN_ULPS:
        lost = (
            f"lost at {row['double_lost']}"
            if row["double_lost"]
            else f"at most {row['double_ulps']:.4g} units off at one"
        )
        parts.append(f"in double precision {lost} of {row['double_inputs']} inputs ({row['double_at']})")
    if "better" in row:
        parts.append(
            f"better on {row['better']}, worse on {row['worse']}; before: {row['ulps_before']:.4g} units, "
            f"{row['lost_before']} lost"
        )
    return text + "; ".join(parts)
