"""Crashes of checks, grouped by entry and cause into diagnostics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from derivlint.lint.diagnostic import Confidence, CrashSite, Diagnostic, Severity
from derivlint.lint.wording import quoted_list
from derivlint.source import Span

if TYPE_CHECKING:
    from derivlint.model import Entry

INTERNAL_ERROR = "internal-error"
#: Errors of exhausted limits, which are raised at arbitrary locations.
_OF_LIMITS = (RecursionError, MemoryError)
#: Attributes that lead from objects of the model, or facts about them, to their entry.
_TO_ENTRY = ("entry", "written", "body", "formula", "interpretation", "evaluation")
_DEPTH = 4


class Crash(Struct, frozen=True):
    """A crash of one rule.

    Attributes:
        rule: the rule.
        target: the checked entry, formulas, formula or suppression; None for the file.
        entry: the entry of the target.
        error: the exception.
        where: the span of the target.
    """

    rule: str
    target: object
    entry: Entry | None
    error: Exception
    where: Span

    @property
    def crashed(self) -> CrashSite:
        """The rule and the entry of the crash."""
        return CrashSite(self.rule, self.entry.span.start if self.entry is not None else None)

    @property
    def cause(self) -> tuple[object, ...]:
        """The key shared by crashes with one cause: rules that need the same fact crash at the same location."""
        kind = type(self.error)
        if issubclass(kind, _OF_LIMITS):
            return (kind,)
        last = self.error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        return (kind, last.tb_frame.f_code, last.tb_lineno) if last is not None else (kind, str(self.error))


def entry_of(item: object, depth: int = _DEPTH) -> Entry | None:
    """The entry of a model object or of a fact about one, or None."""
    from derivlint.model import Entry

    if isinstance(item, Entry):
        return item
    if depth == 0 or type(item).__module__.partition(".")[0] != "derivlint":
        return None
    for name in _TO_ENTRY:
        try:
            inner = getattr(item, name, None)
        except Exception:  # the property itself may crash
            continue
        entry = entry_of(inner, depth - 1) if inner is not None else None
        if entry is not None:
            return entry
    return None


def place_of(target: object) -> Span:
    """The span of an entry, or of the key of formulas or of a formula."""
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
    """Make one diagnostic for each entry and cause, which names the rules.

    Args:
        crashes: the crashes, in the order of the run.
        path: the path of the file.
    """
    # imported late: cached results without crashes need no model
    from derivlint.lint.engine.ownership import names_of

    groups: dict[tuple[object, ...], list[Crash]] = {}
    for crash in crashes:
        groups.setdefault((crash.crashed.start, *crash.cause), []).append(crash)
    for group in groups.values():
        first = group[0]
        entry, dispatch, key = names_of(first.target)
        rules = sorted({crash.rule for crash in group})
        subject = "the file" if first.entry is None else "the entry" if entry is None else f'the entry of "{entry}"'
        yield Diagnostic(
            path=path,
            span=first.where,
            rule=INTERNAL_ERROR,
            message=f"{'rule' if len(rules) == 1 else 'rules'} {quoted_list(rules)} crashed on {subject}: "
            f"{type(first.error).__name__}: {first.error}",
            severity=Severity.ERROR,
            confidence=Confidence.HIGH,
            help="this is a bug of derivlint; please report it with the entry",
            entry=entry,
            dispatch=dispatch,
            key=key,
        )
