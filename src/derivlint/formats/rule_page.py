"""The page of a rule, made from its docstring, its facts and its cases."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from derivlint.formats.links import rule_url
from derivlint.lint import Rule

#: Begins the title of a section in a rule's docstring.
SECTION = "## "


def rule_facts(rule: Rule) -> dict[str, Any]:
    """What a table says of a rule."""
    return {
        "name": rule.name,
        "summary": rule.summary,
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


def rule_lines(rules: tuple[Rule, ...]) -> Iterator[str]:
    """All rules as a table for a terminal."""
    rows = [("rule", "severity", "confidence", "status", "fix", "what it finds")]
    for rule in rules:
        meta = rule.meta
        fix = "fix" if rule.fixable else ""
        rows.append((rule.name, meta.severity.value, meta.confidence.value, meta.status, fix, rule.summary))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def _shown(text: str) -> str:
    """A case's text for a page; bytes that are no UTF-8, which stand in it as surrogates, are escaped."""
    return text.rstrip("\n").encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def rule_page(rule: Rule) -> str:
    """The rule's page in Markdown: its facts, its docstring, and the messages of its cases."""
    body = inspect.cleandoc(rule.doc).splitlines()[1:]
    facts = [
        f"severity: {rule.meta.severity.value}",
        f"confidence: {rule.meta.confidence.value}",
        f"status: {rule.meta.status}",
        f"since: {rule.meta.since}",
        f"fix: {'yes' if rule.fixable else 'no'}",
    ]
    lines = [f"# {rule.name}", "", f"{rule.summary}.", "", " | ".join(facts), *body, "", "## Messages", ""]
    for case in rule.invalid:
        lines += ["```yaml", _shown(case.yaml), "```", "", f"    {case.at}: {case.message}"]
        if case.help is not None:
            lines.append(f"    help: {case.help}")
        lines.append("")
        if case.fixed is not None and case.fixed != case.yaml:
            lines += ["After the fix:", "", "```yaml", _shown(case.fixed), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def rule_table(rules: tuple[Rule, ...], folder: str) -> str:
    """All rules as a Markdown table whose names link to pages in ``folder``."""
    lines = ["| rule | severity | fix | what it finds |", "| --- | --- | --- | --- |"]
    for rule in rules:
        mark = "yes" if rule.fixable else ""
        summary = rule.summary.replace("|", "\\|")
        lines.append(f"| [{rule.name}]({folder}{rule.name}.md) | {rule.meta.severity.value} | {mark} | {summary} |")
    return "\n".join(lines) + "\n"
