"""What a rule finds, and the diagnostic that is made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from derivlint.lint.severity import Confidence, Severity
from derivlint.model.keys import DEFAULT
from derivlint.source import SourceFile, Span
from derivlint.source.comparison import Compared

if TYPE_CHECKING:
    # diagnostics are read from the cache without any model
    from derivlint.model import DerivativeFormula, DispatchBody, Entry


class Related(Struct, frozen=True):
    """A second place that a message speaks of; ``path`` is given where it lies in another file."""

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
    """What a rule says of one place.

    Attributes:
        where: the place.
        message: the fact.
        help: the cure.
        related: other places that belong to it.
        fix: how to fix it.
        at: the entry, formulas or formula that it is about; by default what the rule was asked about.
        confidence: how sure the rule is, where that is not the rule's own confidence.
        about: the range of the formula that it follows from, where that is not its place.
        rests_on: the operators whose entries are its premise, by their names: it is dropped where those are wrong.
        source: the file that the place is in, where that is not the derivatives file: a header.
    """

    where: Span
    message: str
    help: str | None = None
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    at: Entry | DispatchBody | DerivativeFormula | None = None
    confidence: Confidence | None = None
    about: Span | None = None
    rests_on: tuple[str, ...] = ()
    source: SourceFile | None = None


class Diagnostic(Compared, Struct, frozen=True):
    """A finding with everything that formats show; sorts by path, place, rule and message.

    ``elsewhere`` says that it is in another file than the one that was checked, a header: it belongs to no entry.
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
