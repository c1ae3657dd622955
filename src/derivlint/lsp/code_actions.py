"""Code actions for a range: fixes of findings, comments that silence them, changes of the entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from derivlint.lint import Diagnostic, TextEdit
from derivlint.lint.suppressions.suppression import NEVER_SILENCED
from derivlint.lint.suppressions.suppression_edits import ignore_edits
from derivlint.lsp.checker import CheckedDocument, check
from derivlint.lsp.entry_actions import EntryAction, entry_actions
from derivlint.project.check import CheckedFile
from derivlint.project.fixing import fix_source
from derivlint.repair.causes import EXPLAINED
from derivlint.source import SourceFile, Span

QUICK_FIX = "quickfix"
REWRITE = "refactor.rewrite"
FIX_ALL = "source.fixAll.derivlint"
KINDS = (QUICK_FIX, REWRITE, FIX_ALL)
#: A placeholder in comments for the reason, which only the author has.
REASON = "reason"


class Action(Struct, frozen=True):
    """A code action.

    Attributes:
        title: what it does.
        kind: one of ``KINDS``.
        edits: the edits of the checked text; None if they are computed when it is chosen.
        fixes: the finding that it is about.
        is_preferred: whether it is right in nearly all cases.
    """

    title: str
    kind: str
    edits: tuple[TextEdit, ...] | None
    fixes: Diagnostic | None = None
    is_preferred: bool = False


def wants(only: Sequence[str] | None, kind: str) -> bool:
    """Whether a request for some kinds of actions includes this kind."""
    return only is None or any(
        not requested or kind == requested or kind.startswith(requested + ".") for requested in only
    )


def actions(checked: CheckedDocument, span: Span, only: Sequence[str] | None = None) -> Iterator[Action]:
    """Yield the code actions for a range of a text.

    Args:
        checked: the text, checked as a whole.
        span: the range.
        only: the requested kinds; None for all.
    """
    path = checked.source.path
    diagnostics = [item for item in checked.shown if item.span.start <= span.end and span.start <= item.span.end]
    is_sound = checked.analysis.source is checked.source and not checked.analysis.model.document.problems
    if wants(only, QUICK_FIX):
        fixes = [(item, item.fix) for item in diagnostics if item.fix is not None and item.path == path]
        for item, fix in sorted(fixes, key=lambda pair: not pair[1].safe):
            unsure = "" if fix.safe else " (may change what is meant)"
            yield Action(f"{fix.title[:1].upper()}{fix.title[1:]}{unsure}", QUICK_FIX, fix.edits, item, fix.safe)
        if is_sound:
            wrong = (item for item in diagnostics if item.rule in EXPLAINED and item.path == path)
            yield from (Action(f'Correct the formula of "{item.key}"', QUICK_FIX, None, item) for item in wrong)
            yield from _ignores(checked, diagnostics)
    if is_sound and wants(only, REWRITE):
        for change in entry_actions(checked.analysis.model, span.start):
            if not change.needs_check or _is_harmless(checked, change):
                yield Action(change.title, REWRITE, change.edits)
    if wants(only, FIX_ALL) and any(item.fix is not None and item.fix.safe for item in checked.shown):
        yield Action("Fix everything that can be fixed safely", FIX_ALL, None)


def _ignores(checked: CheckedDocument, diagnostics: Sequence[Diagnostic]) -> Iterator[Action]:
    seen: set[tuple[TextEdit, ...]] = set()
    for item in diagnostics:
        if item.rule in NEVER_SILENCED or item.path != checked.source.path:
            continue
        edits = ignore_edits(checked.analysis.model, [item], REASON)
        if edits and edits not in seen:
            seen.add(edits)
            yield Action(f'Ignore "{item.rule}" here', QUICK_FIX, edits, item)


def _is_harmless(checked: CheckedDocument, change: EntryAction) -> bool:
    """Whether the rules find nothing new after a change."""
    source = SourceFile(checked.source.path, edited(checked.source.text, change.edits))
    after = check(source, checked.project, checked, checked.memos)
    before = [(item.rule, item.entry, item.message) for item in checked.shown]
    return all((item.rule, item.entry, item.message) in before for item in after.shown)


def fixed(checked: CheckedDocument) -> tuple[TextEdit, ...]:
    """The edit that fixes everything that can be fixed safely; as ``--fix`` of the command line does."""

    def check_again(source: SourceFile) -> CheckedFile:
        result = check(source, checked.project, None, checked.memos).analysis.checked
        assert result is not None
        return result

    outcome = fix_source(checked.source, check_again)
    return smallest_edit(checked.source.text, outcome.text)


def suggested(checked: CheckedDocument, subject: Sequence[str], stop: Callable[[], bool]) -> tuple[TextEdit, ...]:
    """The edits that make a wrong formula right; none if no suggestion is accepted.

    Args:
        checked: the text.
        subject: the operator, the dispatch key and the key of the formula.
        stop: returns whether to give up.
    """
    from derivlint.repair.judge import Judge
    from derivlint.repair.suggest import suggest, targets_in

    settings, model = checked.project.settings, checked.analysis.model
    judge = Judge(checked.source, model, checked.project.rules, settings.shows)
    entries = [entry for entry in judge.model.entries if entry.operator == subject[0]]
    for target in targets_in(judge, entries):
        if [target.body.key, target.key] == list(subject[1:]):
            candidates = suggest(judge, target, stop).candidates
            return candidates[0].edits if candidates and not stop() else ()
    return ()


def smallest_edit(before: str, after: str) -> tuple[TextEdit, ...]:
    """The edits that make one text of another, line by line."""
    from difflib import SequenceMatcher

    if before == after:
        return ()
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    return tuple(
        TextEdit(Span(starts[first], starts[last]), "".join(new[begin:end]))
        for kind, first, last, begin, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if kind != "equal"
    )


def edited(text: str, edits: Sequence[TextEdit]) -> str:
    """A text with edits, which are disjoint."""
    for edit in sorted(edits, key=lambda edit: edit.span, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text
