"""Findings of rules with their severities, the diagnostics made from them, and the result of a run."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from msgspec import Struct

from derivlint.model.keys import DEFAULT
from derivlint.source import SourceFile, Span
from derivlint.source.records import KeyedEquality

if TYPE_CHECKING:
    from derivlint.model import DerivativeFormula, DispatchBody, Entry


class _Ranked(Enum):
    """A base of ordered enumerations with fast comparison, in ascending order."""

    def __init__(self, _: str) -> None:
        self.rank = len(type(self).__members__)

    def __lt__(self, other: object) -> bool:
        return self.rank < other.rank if isinstance(other, type(self)) else NotImplemented

    def __le__(self, other: object) -> bool:
        return self.rank <= other.rank if isinstance(other, type(self)) else NotImplemented

    def __gt__(self, other: object) -> bool:
        return self.rank > other.rank if isinstance(other, type(self)) else NotImplemented

    def __ge__(self, other: object) -> bool:
        return self.rank >= other.rank if isinstance(other, type(self)) else NotImplemented


class Severity(_Ranked):
    """The severity of a finding; ``ERROR`` is the greatest.

    ``ERROR``: certainly wrong; PyTorch's generator or compiler rejects it, or a gradient is wrong. ``WARNING``: very
    probably wrong, or wrong in a documented case. ``INFO``: advice.
    """

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Confidence(_Ranked):
    """The confidence of a finding; ``HIGH`` is the greatest."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Related(Struct, frozen=True):
    """A secondary location of a finding; ``path`` is another file, or None."""

    message: str
    span: Span
    path: str | None = None


class TextEdit(Struct, frozen=True):
    """A replacement of one range of the file."""

    span: Span
    text: str


class Fix(Struct, frozen=True):
    """Edits that fix a finding.

    Attributes:
        title: the effect, as an imperative.
        edits: the edits, which do not overlap.
        safe: whether the fix certainly has the meaning that the author intended.
    """

    title: str
    edits: tuple[TextEdit, ...]
    safe: bool = True


class Finding(Struct, frozen=True):
    """A finding of a rule.

    Attributes:
        where: the primary span.
        message: the fact.
        help: the cure.
        related: secondary locations.
        fix: the fix, or alternatives; the only one that types and values do not refute is offered.
        at: the affected entry, formulas or formula, by default the subject of the check.
        confidence: the confidence, by default that of the rule.
        severity: the severity, by default that of the rule.
        about: the range that causes it, by default ``where``.
        rests_on: the operators whose entries it relies on; it is dropped if they have errors.
        source: the file of the span, by default the derivatives file.
    """

    where: Span
    message: str
    help: str | None = None
    related: tuple[Related, ...] = ()
    fix: Fix | tuple[Fix, ...] | None = None
    at: Entry | DispatchBody | DerivativeFormula | None = None
    confidence: Confidence | None = None
    severity: Severity | None = None
    about: Span | None = None
    rests_on: tuple[str, ...] = ()
    source: SourceFile | None = None

    @property
    def fixes(self) -> tuple[Fix, ...]:
        """The alternative fixes; a single one if it is certain."""
        if self.fix is None:
            return ()
        return self.fix if isinstance(self.fix, tuple) else (self.fix,)


class Diagnostic(KeyedEquality, Struct, frozen=True):
    """A finding in the form of output formats; sorts by path, span, rule and message.

    ``elsewhere`` is set if it is in a header rather than the checked file; then it has no entry.
    """

    path: str
    span: Span
    rule: str
    message: str
    severity: Severity
    confidence: Confidence
    help: str | None = None
    entry: str | None = None
    dispatch: str | None = None
    key: str | None = None
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    elsewhere: bool = False

    @property
    def subject(self) -> str:
        """The operator, the dispatch key unless it is the default, and the formula's key; empty without an entry."""
        if self.entry is None:
            return ""
        dispatch = [self.dispatch] if self.dispatch not in (None, DEFAULT) else []
        return ", ".join([self.entry, *dispatch]) + (f": {self.key}" if self.key is not None else "")

    @property
    def full_message(self) -> str:
        """The message with its subject, for formats without a field for it."""
        return f"{self.message} ({self.subject})" if self.entry is not None else self.message

    @property
    def message_and_help(self) -> str:
        """The message with its subject, followed by the help on its own lines."""
        return self.full_message if self.help is None else f"{self.full_message}\nhelp: {self.help}"

    def identity(self) -> tuple[Any, ...]:
        """The fields that equality compares."""
        return self.path, self.span, self.rule, self.message


class CrashSite(NamedTuple):
    """A check that crashed.

    Attributes:
        rule: the rule.
        start: the offset of the entry, or None for the file as a whole.
    """

    rule: str
    start: int | None


#: Groups of operators, each with the rules that did not judge their entries.
Unjudged: TypeAlias = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


class Result(Struct, frozen=True):
    """The findings in a file or a part of it.

    Attributes:
        diagnostics: the diagnostics, sorted and without duplicates.
        internal_errors: the number of diagnostics about crashes, one for each entry and cause.
        crashed: the checks that crashed.
        unjudged: the rules that did not judge entries, see :meth:`RuleCoverage.unjudged`; None if not computed.
    """

    diagnostics: tuple[Diagnostic, ...]
    internal_errors: int = 0
    crashed: frozenset[CrashSite] = frozenset()
    unjudged: Unjudged | None = None
