"""The page of a rule, made from its docstring, its facts and its cases."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

from derivlint.formats.styles import rule_url
from derivlint.lint import Rule
from derivlint.lint.groups import GROUPS

#: Begins the title of a section in a rule's docstring.
SECTION = "## "
#: The title of the column with the summaries.
FINDS = "what it finds"


def rule_facts(rule: Rule) -> dict[str, Any]:
    """The row of a rule in a table."""
    return {
        "name": rule.name,
        "summary": rule.summary,
        "group": rule.meta.group,
        "severity": rule.meta.severity.value,
        "confidence": rule.meta.confidence.value,
        "status": rule.meta.status,
        "since": rule.meta.since,
        "fixable": rule.fixable,
        "checks": list(rule.meta.checks),
    }


def rule_document(rule: Rule) -> dict[str, Any]:
    """Everything that is known of a rule: its facts, its page, the page's sections, and its cases."""
    return {
        **rule_facts(rule),
        "url": rule_url(rule.name),
        "sections": rule_sections(rule),
        "valid": [_shown(text) for text in rule.valid],
        "invalid": [
            {
                "yaml": _shown(case.yaml),
                "at": case.at,
                "message": case.message,
                "help": case.help,
                "fixed": _shown(case.fixed) if case.fixed is not None else None,
            }
            for case in rule.invalid
        ],
        "markdown": rule_page(rule),
    }


def rule_sections(rule: Rule) -> dict[str, str]:
    """The sections of a rule's docstring by their titles."""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in inspect.cleandoc(rule.doc).splitlines()[1:]:
        if line.startswith(SECTION):
            lines = sections.setdefault(line.removeprefix(SECTION), [])
        else:
            lines.append(line)
    return {title: "\n".join(body).strip("\n") for title, body in sections.items()}


def by_group(rules: Iterable[Rule]) -> Iterator[tuple[str, str, list[Rule]]]:
    """The groups that have rules: the name of each, what it is about, and its rules."""
    for group, about in GROUPS.items():
        members = [rule for rule in rules if rule.meta.group == group]
        if members:
            yield group, about, members


def rule_lines(rules: tuple[Rule, ...]) -> Iterator[str]:
    """All rules as tables for a terminal, one for each group."""
    rows = {rule.name: _row(rule) for rule in rules}
    widths = [max(map(len, column)) for column in zip(*rows.values(), strict=True)]
    for index, (group, about, members) in enumerate(by_group(rules)):
        if index:
            yield ""
        yield f"{group}: {about}"
        for rule in members:
            cells = zip(rows[rule.name], widths, strict=True)
            yield "  " + "  ".join(f"{cell:{width}}" for cell, width in cells).rstrip()


def _row(rule: Rule) -> tuple[str, ...]:
    meta = rule.meta
    fix = "fix" if rule.fixable else ""
    return rule.name, meta.severity.value, meta.confidence.value, meta.status, fix, rule.summary


def _shown(text: str) -> str:
    """A case's text for a page; bytes that are not UTF-8, which are in it as surrogates, are escaped."""
    return text.rstrip("\n").encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def rule_page(rule: Rule) -> str:
    """The rule's page in Markdown: its facts, its docstring, and the messages of its cases."""
    lines = inspect.cleandoc(rule.doc).splitlines()[1:]
    body = [part for line in lines for part in ((line, "") if line.startswith(SECTION) else (line,))]
    facts = [
        f"group: [{rule.meta.group}](README.md#{rule.meta.group})",
        f"severity: {rule.meta.severity.value}",
        f"confidence: {rule.meta.confidence.value}",
        f"status: {rule.meta.status}",
        f"since: {rule.meta.since}",
        f"fix: {'yes' if rule.fixable else 'no'}",
    ]
    lines = [f"# {rule.name}", "", f"{rule.summary}.", "", " | ".join(facts), *body, "", "## Messages", ""]
    for case in rule.invalid:
        for text in (case.header, case.bodies):
            if text is not None:
                lines += ["```cpp", _shown(text), "```", ""]
        lines += ["```yaml", _shown(case.yaml), "```", "", f"    {case.at}: {case.message}"]
        if case.help is not None:
            lines.append(f"    help: {case.help}")
        lines.append("")
        if case.fixed is not None and case.fixed != case.yaml:
            lines += ["After the fix:", "", "```yaml", _shown(case.fixed), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def rule_tables(rules: tuple[Rule, ...]) -> str:
    """All rules as Markdown, a table for each group; their names link to pages in the same folder."""
    parts = []
    for group, about, members in by_group(rules):
        lines = [f"## {group}", "", f"{about[:1].upper()}{about[1:]}.", "", *_table("rule", "severity", "fix", FINDS)]
        for rule in members:
            mark = "yes" if rule.fixable else ""
            lines += _table(f"[{rule.name}]({rule.name}.md)", rule.meta.severity.value, mark, rule.summary, title=False)
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _table(*cells: str, title: bool = True) -> list[str]:
    """A row of a Markdown table, the first one with the line below it."""
    row = f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    return [row, f"| {' | '.join(['---'] * len(cells))} |"] if title else [row]
