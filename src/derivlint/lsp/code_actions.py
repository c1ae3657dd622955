"""Code actions for a range: fixes of findings, suppression comments, changes of the entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from derivlint.analysis import analyses_of
from derivlint.analysis.interpretation.degree import Degree
from derivlint.analysis.interpretation.facts import Dependence
from derivlint.lint import Diagnostic, TextEdit
from derivlint.lint.edits import edited
from derivlint.lint.suppressions.suppression import NEVER_SILENCED
from derivlint.lint.suppressions.suppression_edits import ignore_edits
from derivlint.lsp.analysis import CheckedDocument, check
from derivlint.model import DerivativeFormula, DispatchBody, Entry, Model, Role
from derivlint.model.keys import AUTO_ELEMENT_WISE, AUTO_LINEAR
from derivlint.project.check import CheckedFile
from derivlint.project.fixing import fix_source
from derivlint.repair.causes import EXPLAINED
from derivlint.source import SourceFile, Span
from derivlint.yaml_reader import Mapping, Scalar, read_yaml


class EntryAction(Struct, frozen=True):
    """A change of an entry.

    Attributes:
        title: its title in the menu.
        edits: the edits.
        needs_check: whether it is offered only if it adds no finding to the entry.
    """

    title: str
    edits: tuple[TextEdit, ...]
    needs_check: bool = False


def entry_actions(model: Model, offset: int) -> Iterator[EntryAction]:
    """Yield the changes offered for the entry at an offset.

    Args:
        model: the file.
        offset: the place.
    """
    entry = next((item for item in model.all_entries if item.span.start <= offset <= item.span.end), None)
    if entry is None or entry.function is None or entry.mapping is None or entry.mapping.flow:
        return
    if len(entry.bodies) == 1 and entry.dispatch is None:
        yield from _missing_keys(model.source, entry, entry.bodies[0])
        yield from _automatic(model, entry, entry.bodies[0])
    for formula in entry.formulas:
        if formula.auto is not None and formula.key.start <= offset - entry.start <= max(
            formula.key.end, formula.value.end
        ):
            yield from _expanded(formula)


def _missing_keys(source: SourceFile, entry: Entry, body: DispatchBody) -> Iterator[EntryAction]:
    """Add a ``not_implemented`` formula for each argument without one."""
    function = entry.function
    assert function is not None
    if not body.is_resolved or any(formula.value.end < formula.key.end for formula in body.formulas):
        return
    written = {name.text for formula in body.formulas if formula.role is not Role.FORWARD for name in formula.names}
    missing = [name for name in function.tensor_arguments if name not in written]
    if missing:
        base = (entry.operator or "").partition(".")[0]
        lines = [f'{name}: not_implemented("{base}: {name}")' for name in missing]
        names = ", ".join(f'"{name}"' for name in missing)
        yield EntryAction(
            f"Add the missing {'key' if len(missing) == 1 else 'keys'} {names}", _added(source, entry, lines)
        )


def _automatic(model: Model, entry: Entry, body: DispatchBody) -> Iterator[EntryAction]:
    """Add an automatic forward formula to an entry without any, if its gradient proves it correct."""
    function = entry.function
    assert function is not None
    if body.info is None or not body.is_resolved or body.with_role(Role.FORWARD) or len(function.outputs) != 1:
        return
    analyses = analyses_of(model)
    backward = [analyses.interpretation(formula) for formula in analyses.formulas_of(body) if formula.is_backward]
    if not backward or any(item.root.degree is not Degree.LINEAR for item in backward):
        return
    names = {binding.name for binding in body.info.args_with_derivatives}
    output = function.outputs[0]
    values = {
        name
        for item in backward
        for name, dependence in item.root.dependence.items()
        if dependence > Dependence.METADATA and (name in names or name == output.name)
    }
    tensors = [name for name in function.tensor_arguments if name not in body.info.non_differentiable_arg_names]
    if set(tensors) != names:
        return
    kind = AUTO_ELEMENT_WISE if values and len(tensors) == 1 else None if values else AUTO_LINEAR
    if kind is not None:
        edits = _added(model.source, entry, [f"{output.key_name}: {kind}"])
        yield EntryAction(f'Add "{output.key_name}: {kind}"', edits, needs_check=True)


def _expanded(formula: DerivativeFormula) -> Iterator[EntryAction]:
    if formula.forward is None or formula.auto is None:
        return
    text = yaml_value(formula.forward.formula)
    if text is not None:
        yield EntryAction(f'Replace "{formula.auto}" by its formula', (TextEdit(formula.value_span, text),))


def _added(source: SourceFile, entry: Entry, lines: Iterable[str]) -> tuple[TextEdit, ...]:
    """Return the edit that appends lines to an entry, with its indentation and line ends."""
    mapping = entry.mapping
    assert mapping is not None
    first = mapping.pairs[0].key
    number = source.position(max(entry.span.end - 1, entry.span.start)).line
    end = source.line_starts[number - 1] + len(source.line(number))
    indent = " " * (source.position(entry.place(first).start).column - 1)
    behind = source.text[end : end + 2]
    newline = behind if behind == "\r\n" else "\n"
    return (TextEdit(Span(end, end), "".join(f"{newline}{indent}{line}" for line in lines)),)


def yaml_value(text: str) -> str | None:
    """Format a one-line YAML value: plain if that parses to the same text, else in double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    for written in (text, f'"{escaped}"'):
        document = read_yaml(SourceFile("", f"key: {written}\n"))
        root = document.root
        if document.problems or not isinstance(root, Mapping) or len(root.pairs) != 1:
            continue
        value = root.pairs[0].value
        if isinstance(value, Scalar) and value.kind == "str" and value.value == text:
            return written
    return None


QUICK_FIX = "quickfix"
REWRITE = "refactor.rewrite"
FIX_ALL = "source.fixAll.derivlint"
KINDS = (QUICK_FIX, REWRITE, FIX_ALL)
#: The placeholder for the author's reason in suppression comments.
REASON = "reason"


class Action(Struct, frozen=True):
    """A code action.

    Attributes:
        title: its title in the menu.
        kind: one of ``KINDS``.
        edits: the edits of the checked text; None if they are computed once the action is chosen.
        fixes: the finding that it resolves.
        is_preferred: whether editors offer it first and apply it by their quick-fix key.
    """

    title: str
    kind: str
    edits: tuple[TextEdit, ...] | None
    fixes: Diagnostic | None = None
    is_preferred: bool = False


def wants(only: Sequence[str] | None, kind: str) -> bool:
    """Whether a request for kinds of actions includes this kind."""
    return only is None or any(
        not requested or kind == requested or kind.startswith(requested + ".") for requested in only
    )


def actions(checked: CheckedDocument, span: Span, only: Sequence[str] | None = None) -> Iterator[Action]:
    """Yield the code actions for a range of a text.

    Args:
        checked: the check of the text.
        span: the range.
        only: the requested kinds; None for all.
    """
    path = checked.source.path
    diagnostics = [item for item in checked.shown if item.span.start <= span.end and span.start <= item.span.end]
    is_sound = checked.analysis.source is checked.source and not checked.analysis.model.document.problems
    if wants(only, QUICK_FIX):
        fixes = [(item, item.fix) for item in diagnostics if item.fix is not None and item.path == path]
        for item, fix in sorted(fixes, key=lambda pair: not pair[1].safe):
            unsure = "" if fix.safe else " (may change the meaning)"
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
    """Whether a change adds no finding."""
    source = SourceFile(checked.source.path, edited(checked.source.text, change.edits))
    after = check(source, checked.project, checked, checked.memos)
    before = [(item.rule, item.entry, item.message) for item in checked.shown]
    return all((item.rule, item.entry, item.message) in before for item in after.shown)


def fixed(checked: CheckedDocument) -> tuple[TextEdit, ...]:
    """Return the edit that applies all safe fixes, like ``--fix`` on the command line."""

    def check_again(source: SourceFile) -> CheckedFile:
        result = check(source, checked.project, None, checked.memos).analysis.checked
        assert result is not None
        return result

    outcome = fix_source(checked.source, check_again)
    return smallest_edit(checked.source.text, outcome.text)


def suggested(checked: CheckedDocument, subject: Sequence[str], stop: Callable[[], bool]) -> tuple[TextEdit, ...]:
    """Return the edits that replace a wrong formula; none if no suggestion passes the checks.

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
            suggestion = suggest(judge, target, stop)
            if suggestion.error is not None:
                raise suggestion.error
            candidates = suggestion.candidates
            return candidates[0].edits if candidates and not stop() else ()
    return ()


def smallest_edit(before: str, after: str) -> tuple[TextEdit, ...]:
    """Return the edits from one text to another, line by line."""
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
