"""What a rule finds, and the diagnostic that is made of it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from derivlint.lint.severity import Confidence, Severity
from derivlint.source import Span
from derivlint.source.records import dataclass

if TYPE_CHECKING:
    # diagnostics are read from the cache without any model
    from derivlint.model import DispatchBody, Entry, KeyedFormula


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that a message speaks of; ``path`` is given where it lies in another file."""

    message: str
    span: Span
    path: str | None = None


@dataclass(frozen=True, slots=True)
class TextEdit:
    """The replacement of one range of the file."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that mend a finding.

    Attributes:
        title: what the fix does, as an imperative.
        edits: the edits, which do not overlap.
        safe: whether the fix keeps the meaning that the author certainly had.
    """

    title: str
    edits: tuple[TextEdit, ...]
    safe: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule says of one place.

    Attributes:
        where: the place.
        message: the fact.
        help: the cure.
        related: other places that belong to it.
        fix: how to mend it.
        at: the entry, formulas or line that it is about; by default what the rule was asked about.
        confidence: how sure the rule is, where that is not the rule's own confidence.
    """

    where: Span
    message: str
    help: str | None = None
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    at: Entry | DispatchBody | KeyedFormula | None = None
    confidence: Confidence | None = None


@dataclass(frozen=True, slots=True, order=True)
class Diagnostic:
    """A finding with everything that formats show; sorts by path, place, rule and message."""

    path: str
    span: Span
    rule: str
    message: str
    severity: Severity = field(compare=False)
    confidence: Confidence = field(compare=False)
    help: str | None = field(default=None, compare=False)
    entry: str | None = field(default=None, compare=False)
    dispatch: str | None = field(default=None, compare=False)
    key: str | None = field(default=None, compare=False)
    related: tuple[Related, ...] = field(default=(), compare=False)
    fix: Fix | None = field(default=None, compare=False)
