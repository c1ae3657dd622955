"""Explanations of the findings in PyTorch's own file: conventions, gauge freedom, and known defects.

They are printed with findings, but do not suppress them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from msgspec import Struct, convert

from derivlint.project.settings.document import load_toml

FILE = Path(__file__).parent / "data" / "known.toml"
#: The kinds of explanations, as reports name them.
KINDS = {
    "convention": "a convention",
    "gauge": "free by nature",
    "manifold": "confined inputs",
    "defect": "a known defect of PyTorch",
}
#: The operator, the key of the formula and the rule.
Place = tuple[str, str, str]


class KnownFindings(Struct, frozen=True, forbid_unknown_fields=True):
    """An explanation of some findings.

    Attributes:
        kind: one of ``KINDS``.
        reason: the reason for the findings.
        findings: the findings.
        reference: an issue or page about them, or empty.
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
    """Load the bundled explanations."""
    return convert(load_toml(FILE.read_text(encoding="utf-8"))["known"], tuple[KnownFindings, ...])


@cache
def _by_place() -> dict[Place, KnownFindings]:
    return {place: group for group in known_findings() for place in group.findings}


def explanation_of(operator: str, key: str, rule: str) -> str:
    """Return the explanation of a finding in a sentence, or an empty string."""
    group = _by_place().get((operator, key, rule))
    return "" if group is None else str(group)
