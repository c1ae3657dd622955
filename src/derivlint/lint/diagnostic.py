"""Findings of rules, the diagnostics made of them, and the result of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from msgspec import Struct

from derivlint.lint.severity import Confidence, Severity
from derivlint.model.keys import DEFAULT
from derivlint.source import SourceFile, Span
from derivlint.source.records import KeyedEquality

if TYPE_CHECKING:
    # diagnostics are read from the cache without any model
    from derivlint.model import DerivativeFormula, DispatchBody, Entry


class Related(Struct, frozen=True):
    """A second place of a message; ``path`` is that of another file, or None."""

    message: str
    span: Span
    path: str | None = None


class TextEdit(Struct, frozen=True):
    """The replacement of one range of the file."""

    span: Span
    text: str


class Fix(Struct, frozen=True):
    """Edits that fix a finding.

    Attributes:
        title: what the fix does, as an imperative.
        edits: the edits, which do not overlap.
        safe: whether the fix keeps the meaning that the author certainly had.
    """

    title: str
    edits: tuple[TextEdit, ...]
    safe: bool = True


class Finding(Struct, frozen=True):
    """A finding of a rule.

    Attributes:
        where: the place.
        message: the fact.
        help: the cure.
        related: other places that belong to it.
        fix: the fix; of several, one is offered if types and numbers refute the others.
        at: the entry, formulas or formula that it is about, by default the subject of the check.
        confidence: by default that of the rule.
        about: the range of the formula that it follows from, by default the place.
        rests_on: the operators whose entries are its premise: it is dropped if those are wrong.
        source: the file with the place, such as a header, by default the derivatives file.
    """

    where: Span
    message: str
    help: str | None = None
    related: tuple[Related, ...] = ()
    fix: Fix | tuple[Fix, ...] | None = None
    at: Entry | DispatchBody | DerivativeFormula | None = None
    confidence: Confidence | None = None
    about: Span | None = None
    rests_on: tuple[str, ...] = ()
    source: SourceFile | None = None

    @property
    def fixes(self) -> tuple[Fix, ...]:
        """The alternative fixes; one where it is certain which one is meant."""
        if self.fix is None:
            return ()
        return self.fix if isinstance(self.fix, tuple) else (self.fix,)


class Diagnostic(KeyedEquality, Struct, frozen=True):
    """A finding as formats show it; sorts by path, place, rule and message.

    ``elsewhere`` is set if it is in another file than the checked one, a header: it belongs to no entry.
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
        """The operator, the dispatch key unless it is the default, and the key of a formula; empty without entry."""
        if self.entry is None:
            return ""
        dispatch = [self.dispatch] if self.dispatch not in (None, DEFAULT) else []
        return ", ".join([self.entry, *dispatch]) + (f": {self.key}" if self.key is not None else "")

    @property
    def full_message(self) -> str:
        """The message with its subject, for formats that have no other place for it."""
        return f"{self.message} ({self.subject})" if self.entry is not None else self.message

    @property
    def message_and_help(self) -> str:
        """The message with its subject, and the help in lines of its own."""
        return self.full_message if self.help is None else f"{self.full_message}\nhelp: {self.help}"

    def identity(self) -> tuple[Any, ...]:
        """The fields that are compared."""
        return self.path, self.span, self.rule, self.message


class CrashSite(NamedTuple):
    """A check that crashed.

    Attributes:
        rule: the rule.
        start: the offset of the entry that it crashed on, or None for the file as a whole.
    """

    rule: str
    start: int | None


#: Operators, and rules that did not judge their entries.
Unjudged: TypeAlias = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


class Result(Struct, frozen=True):
    """The findings in one file or in a part of it.

    Attributes:
        diagnostics: the diagnostics, sorted, each once.
        internal_errors: how many of them are about crashes, one for each entry and cause.
        crashed: the checks that crashed.
        unjudged: the rules that did not judge entries, see :meth:`RuleCoverage.unjudged`; None if not computed.
    """

    diagnostics: tuple[Diagnostic, ...]
    internal_errors: int = 0
    crashed: frozenset[CrashSite] = frozenset()
    unjudged: Unjudged | None = None
