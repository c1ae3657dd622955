"""The metadata of a rule in reports."""

from __future__ import annotations

from msgspec import Struct

from derivlint.formats.rule_page import rule_page, rule_sections
from derivlint.formats.styles import rule_url
from derivlint.lint import Confidence, Severity

#: The longest short text that code scanning takes.
MAX_TEXT = 1024
#: The section of a rule that says what it finds.
DETECTS = "What it detects"


class RuleMetadata(Struct, frozen=True):
    """The facts of a rule, or of findings that come from none.

    Attributes:
        name: its name.
        summary: what it finds, in one sentence.
        description: what it finds, in one paragraph.
        page: the whole page in Markdown.
        url: where that page is on the web.
        severity: how bad its findings are; None if that depends on the finding.
        confidence: how sure it is.
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
    """The facts of a rule; a finding that comes from no rule, such as ``internal-error``, is described by its name."""
    # imported here: what has no findings describes no rules
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
