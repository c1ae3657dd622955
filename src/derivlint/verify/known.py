"""What is known of findings in PyTorch's own file: conventions, gauge freedom, and defects of its own.

It says what a finding is, for whoever reads it. Nothing is left out of a report for it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from msgspec import Struct, convert

from derivlint.project.settings.document import load_toml

FILE = Path(__file__).parent / "data" / "known.toml"
#: What a known finding can be, as a report says it.
KINDS = {
    "convention": "a convention",
    "gauge": "free by nature",
    "manifold": "confined inputs",
    "defect": "a known defect of PyTorch",
}
#: The operator, the key of the formula and the rule.
Place = tuple[str, str, str]


class KnownFindings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of some findings.

    Attributes:
        kind: one of ``KINDS``.
        reason: why there are such findings.
        findings: the findings.
        reference: where they are spoken of; empty where nowhere.
    """

    kind: str
    reason: str
    findings: tuple[Place, ...]
    reference: str = ""

    def __str__(self) -> str:
        of = f" ({self.reference})" if self.reference else ""
        return f"{KINDS[self.kind]}: {self.reason}{of}"


@cache
def known_findings() -> tuple[KnownFindings, ...]:
    """All that is known, as it is shipped."""
    return convert(load_toml(FILE.read_text(encoding="utf-8"))["known"], tuple[KnownFindings, ...])


@cache
def _by_place() -> dict[Place, KnownFindings]:
    return {place: group for group in known_findings() for place in group.findings}


def explanation_of(operator: str, key: str, rule: str) -> str:
    """What is known of a finding in a sentence; empty where nothing is."""
    group = _by_place().get((operator, key, rule))
    return "" if group is None else str(group)
