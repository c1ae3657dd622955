"""The pages of a rule and of an operator, and the metadata of a rule in reports."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from derivlint.formats.text import rule_url
from derivlint.lint import Confidence, Rule, Severity
from derivlint.lint.option import GROUPS
from derivlint.schema import FunctionFacts, OperatorFacts

#: The prefix of a section title in a rule's docstring.
SECTION = "## "


def rule_facts(rule: Rule) -> dict[str, Any]:
    """Return the facts of a rule as JSON: the columns of tables of rules."""
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
    """Return the JSON document of a rule: its facts, its page, the page's sections, and its cases."""
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
    """Return the sections of a rule's docstring by title."""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in inspect.cleandoc(rule.doc).splitlines()[1:]:
        if line.startswith(SECTION):
            lines = sections.setdefault(line.removeprefix(SECTION), [])
        else:
            lines.append(line)
    return {title: "\n".join(body).strip("\n") for title, body in sections.items()}


def by_group(rules: Iterable[Rule]) -> Iterator[tuple[str, str, list[Rule]]]:
    """Yield the groups with rules: name, subject, and rules."""
    for group, about in GROUPS.items():
        members = [rule for rule in rules if rule.meta.group == group]
        if members:
            yield group, about, members


def rule_lines(rules: tuple[Rule, ...]) -> Iterator[str]:
    """Format all rules as tables for a terminal, one per group."""
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
    """Format a case's text for a page; bytes that are not UTF-8, decoded as surrogates, are escaped."""
    return text.rstrip("\n").encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def rule_page(rule: Rule) -> str:
    """Format the rule's page in Markdown: its facts, its docstring, and the messages of its cases."""
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


def operator_lines(facts: OperatorFacts) -> Iterator[str]:
    """Describe an operator, with a paragraph per function."""
    for function in facts.functions:
        yield from _function(function)
        yield ""
    if facts.foreach:
        yield "foreach functions:"
        yield from (f"  {schema}" for schema in facts.foreach)


def _function(function: FunctionFacts) -> Iterator[str]:
    yield function.schema
    kind = function.kind + (", generated" if function.generated else "")
    yield f"  kind: {kind}"
    yield f"  variants: {', '.join(function.variants)}"
    if function.dispatch is not None:
        yield f"  dispatch: {', '.join(function.dispatch)}"
    elif function.structured_delegate is not None:
        yield f"  dispatch: as {function.structured_delegate}"
    elif not function.abstract:
        yield "  dispatch: none, composed of other operators (CompositeImplicitAutograd)"
    if function.view != "non_aliasing":
        yield f"  view: {function.view}"
    if function.view_group:
        yield f"  view group: {', '.join(function.view_group)}"
    if len(function.signature_group) > 1:
        yield f"  same signature: {', '.join(function.signature_group)}"
    if function.autogen:
        yield f"  autogen: {', '.join(function.autogen)}"
    if function.tags:
        yield f"  tags: {', '.join(function.tags)}"


#: The maximum length of a short text in code scanning.
MAX_TEXT = 1024
#: The section of a rule that defines its findings.
DETECTS = "What it detects"


class RuleMetadata(Struct, frozen=True):
    """The facts of a rule, or of findings without a rule.

    Attributes:
        name: its name.
        summary: its findings, in one sentence.
        description: its findings, in one paragraph.
        page: the whole page in Markdown.
        url: the URL of that page.
        severity: the severity of its findings, or None if it varies.
        confidence: its confidence.
        fixable: whether findings may have a fix.
    """

    name: str
    summary: str
    description: str
    page: str
    url: str
    severity: Severity | None
    confidence: Confidence
    fixable: bool


def rule_metadata(name: str) -> RuleMetadata:
    """Return the facts of a rule; a finding without a rule, such as ``internal-error``, is described by its name."""
    # imported here: reports without findings describe no rules
    from derivlint.rules import EXTRA_FINDINGS, NAMES, load_rule

    if name in NAMES:
        rule = load_rule(name)
        meta = rule.meta
        summary = f"{rule.summary}."
        description = rule_sections(rule).get(DETECTS, "").partition("\n\n")[0].replace("\n", " ")
        return RuleMetadata(
            name=name,
            summary=summary,
            description=_short(description or summary),
            page=rule_page(rule),
            url=rule_url(name),
            severity=meta.severity,
            confidence=meta.confidence,
            fixable=rule.fixable,
        )
    reported = EXTRA_FINDINGS.get(name, name.replace("-", " "))
    summary = f"{reported[0].upper()}{reported[1:]}."
    page = f"# {name}\n\n{summary}\n\nNo rule finds it: see <{rule_url(name)}>.\n"
    return RuleMetadata(name, summary, summary, page, rule_url(name), None, Confidence.HIGH, False)


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."
