"""Checks that crashed: on which entry, for which cause, and the diagnostics that say so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from derivlint.lint.diagnostic import Diagnostic
from derivlint.lint.severity import Confidence, Severity
from derivlint.lint.wording import quoted_list
from derivlint.source import Span

if TYPE_CHECKING:
    from derivlint.model import Entry

INTERNAL_ERROR = "internal-error"
#: Errors whose place says nothing: what was called last when a limit was reached.
_OF_LIMITS = (RecursionError, MemoryError)
#: What leads from an object of the model, or from a fact about it, to its entry.
_TO_ENTRY = ("entry", "written", "body", "formula", "interpretation", "evaluation")
_DEPTH = 4


class Crashed(NamedTuple):
    """A check that did not come to its end.

    Attributes:
        rule: the rule.
        start: where the entry begins that it crashed on; None where that is not known, or the file as a whole.
    """

    rule: str
    start: int | None


class Crash(Struct, frozen=True):
    """A crash of one rule.

    Attributes:
        rule: the rule.
        target: the entry, formulas, formula or suppression that it was asked about; None for the file as a whole.
        entry: the entry of that.
        error: what was raised.
        where: the place of the target.
    """

    rule: str
    target: object
    entry: Entry | None
    error: Exception
    where: Span

    @property
    def crashed(self) -> Crashed:
        """The check that did not come to its end."""
        return Crashed(self.rule, self.entry.span.start if self.entry is not None else None)

    @property
    def cause(self) -> tuple[object, ...]:
        """What crashes with one cause have in common: rules that ask for one fact crash in the same place."""
        kind = type(self.error)
        if issubclass(kind, _OF_LIMITS):
            return (kind,)
        last = self.error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        return (kind, last.tb_frame.f_code, last.tb_lineno) if last is not None else (kind, str(self.error))


def entry_of(found: object, depth: int = _DEPTH) -> Entry | None:
    """The entry that an object of a model, or a fact about one, belongs to; None where it belongs to none."""
    from derivlint.model import Entry

    if isinstance(found, Entry):
        return found
    if depth == 0 or type(found).__module__.partition(".")[0] != "derivlint":
        return None
    for name in _TO_ENTRY:
        try:
            inner = getattr(found, name, None)
        except Exception:  # a fact that is worked out only now may be the one that crashes
            continue
        entry = entry_of(inner, depth - 1) if inner is not None else None
        if entry is not None:
            return entry
    return None


def place_of(target: object) -> Span:
    """The place of an entry, or of the key of formulas or of one formula."""
    from derivlint.model import DerivativeFormula, DispatchBody, Entry
    from derivlint.model.generated.typing import FormulaProblem

    if isinstance(target, FormulaProblem):
        return target.where
    if isinstance(target, DerivativeFormula):
        return target.key_span
    if isinstance(target, DispatchBody):
        return target.entry.place(target.key_node) if target.key_node is not None else target.entry.span
    return target.span if isinstance(target, Entry) else Span(0, 0)


def diagnostics_of(crashes: Iterable[Crash], path: str) -> Iterator[Diagnostic]:
    """One diagnostic for each entry and cause, which names the rules.

    Args:
        crashes: what crashed, in the order of the run.
        path: the path of the file.
    """
    # what runs without a crash needs no model here: results are read from the cache
    from derivlint.lint.engine.ownership import names_of

    together: dict[tuple[object, ...], list[Crash]] = {}
    for crash in crashes:
        together.setdefault((crash.crashed.start, *crash.cause), []).append(crash)
    for group in together.values():
        first = group[0]
        entry, dispatch, key = names_of(first.target)
        rules = sorted({crash.rule for crash in group})
        what = "the file" if first.entry is None else "the entry" if entry is None else f'the entry of "{entry}"'
        yield Diagnostic(
            path=path,
            span=first.where,
            rule=INTERNAL_ERROR,
            message=f"{'rule' if len(rules) == 1 else 'rules'} {quoted_list(rules)} crashed on {what}: "
            f"{type(first.error).__name__}: {first.error}",
            severity=Severity.ERROR,
            confidence=Confidence.HIGH,
            help="this is a bug of derivlint; please report it with the entry",
            entry=entry,
            dispatch=dispatch,
            key=key,
        )
