"""Writing and deleting suppressions: edits of a file that change nothing but comments."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from derivlint.lint.diagnostic import Diagnostic, TextEdit
from derivlint.lint.suppressions.suppression import NEVER_SILENCED, Suppressions, SuppressionScope, suppressions_of
from derivlint.lint.suppressions.suppression_comments import IGNORE, IGNORE_FILE, Suppression, end_of_text
from derivlint.model import DerivativeFormula, Entry, Model
from derivlint.source import SourceFile, Span
from derivlint.source.file import BOM
from derivlint.yaml_reader import Scalar


def deletion(source: SourceFile, suppression: Suppression) -> Span:
    """The range that a suppression leaves nothing behind without: with its line where nothing else is on it."""
    text, comment = source.text, suppression.comment.span
    start, end = suppression.span
    is_alone = start == comment.start and not text[end : comment.end].strip()
    if is_alone and suppression.comment.own_line:
        number = source.position(start).line
        starts = source.line_starts
        first = starts[number - 1] + (number == 1 and text.startswith(BOM))
        return Span(first, starts[number] if number < len(starts) else len(text))
    if is_alone:
        end = comment.end
    return Span(end_of_text(text, start, " \t"), end)


class _Place(Struct):
    """Where a suppression is to be written: what it covers, and the names that it is to have.

    Attributes:
        scope: what it covers; on no line for the whole file.
        offset: where the comment is inserted.
        above: the indentation of a line of its own, None after a line.
        names: the rules.
    """

    scope: SuppressionScope
    offset: int
    above: str | None
    names: set[str] = field(default_factory=set)


def ignore_edits(model: Model, diagnostics: Iterable[Diagnostic], reason: str = "") -> tuple[TextEdit, ...]:
    """The edits that add a suppression for every diagnostic, sorted and disjoint.

    A formula gets its comment after the line on which there is room, an entry on a line above it, and what belongs to
    no entry one for the whole file. A suppression that covers the same gets the name of the rule as well.

    Args:
        model: the file; its YAML must be sound.
        diagnostics: what to silence; what no comment can silence, and what one silences already, is left out.
        reason: the text after the names, one line.
    """
    suppressions = suppressions_of(model)
    places: dict[int, _Place] = {}
    diagnostics = tuple(diagnostics)
    silenced = suppressions.matches(diagnostics)
    for diagnostic in diagnostics:
        if diagnostic.rule not in NEVER_SILENCED and diagnostic not in silenced:
            place = _place(suppressions, diagnostic)
            places.setdefault(place.offset, place).names.add(diagnostic.rule)
    known = {
        placed.scope.part: placed.suppression
        for placed in reversed(suppressions.placed)
        if placed.scope is not None
        and placed.suppression.malformed is None
        # what belongs to no entry has nothing in common but the line
        and (placed.scope.line is None or placed.scope.entry is not None)
    }
    edits = [
        _edit(model.source.text, place, known.get(place.scope.part), reason) for _, place in sorted(places.items())
    ]
    merged: dict[Span, TextEdit] = {}
    for edit in edits:
        # two places that one old suppression covers want to change the same brackets
        other = merged.get(edit.span)
        text = edit.text if other is None else ", ".join(dict.fromkeys(f"{other.text}, {edit.text}".split(", ")))
        merged[edit.span] = TextEdit(edit.span, text)
    return tuple(sorted(merged.values(), key=lambda edit: edit.span))


def _place(suppressions: Suppressions, diagnostic: Diagnostic) -> _Place:
    model = suppressions.model
    entry = suppressions.finder.owner(diagnostic)
    if entry is None:
        return _Place(SuppressionScope(None), 1 if model.source.text.startswith(BOM) else 0, "")
    formula = _line_of(entry, diagnostic)
    if formula is not None:
        end = formula.value_span.end if formula.value.start >= formula.key.end and not _is_block(formula) else 0
        number = model.source.position(max(formula.key_span.end, end)).line
        comment = suppressions.comments.on_line(number)
        offset = model.source.line_starts[number - 1] + len(model.source.line(number))
        before = model.source.text[: comment.span.start if comment is not None else offset]
        scope = suppressions.scope_at(len(before.rstrip()) - 1)
        # in flow style, more than the formula may be on the line
        if scope is not None and scope.covers(diagnostic, entry):
            return _Place(scope, offset, None)
    return _above(suppressions, entry)


def _above(suppressions: Suppressions, entry: Entry) -> _Place:
    """The place above an entry, or after the line where something else begins on it."""
    source = suppressions.model.source
    start = entry.span.start
    number = source.position(start).line
    while number > 1 and not source.line(number)[: start - source.line_starts[number - 1]].strip():
        above = source.line(number - 1).partition("#")[0].strip()
        if above not in ("", "-"):
            break
        number -= 1
        if above == "-":
            break
    begin = source.line_starts[number - 1] + (number == 1 and source.text.startswith(BOM))
    lead = source.text[begin:start]
    indent = lead[: len(lead) - len(lead.lstrip(" "))]
    return _Place(SuppressionScope(Span(begin, begin), entry), begin, indent)


def _line_of(entry: Entry, diagnostic: Diagnostic) -> DerivativeFormula | None:
    for body in entry.bodies:
        if body.key == diagnostic.dispatch:
            for formula in body.formulas:
                if formula.key_text == diagnostic.key:
                    return formula
    return None


def _is_block(formula: DerivativeFormula) -> bool:
    """Whether the value is a block of text, whose header has room for a comment."""
    value = formula.value
    return value.start >= formula.key.end and isinstance(value, Scalar) and value.style in ("literal", "folded")


def _edit(text: str, place: _Place, old: Suppression | None, reason: str) -> TextEdit:
    """The edit that adds names to the suppression that covers the same, or adds one."""
    if old is not None:
        names = [name.text for name in old.names]
        return TextEdit(old.inside, ", ".join((*names, *sorted(place.names - set(names)))))
    kind = IGNORE_FILE if place.scope.line is None else IGNORE
    comment = f"# derivlint: {kind}[{', '.join(sorted(place.names))}] {reason}".rstrip()
    where = Span(place.offset, place.offset)
    if place.above is None:
        return TextEdit(where, comment if text[place.offset - 1] in " \t" else f"  {comment}")
    return TextEdit(where, f"{place.above}{comment}{_line_break(text)}")


def _line_break(text: str) -> str:
    """The line end of a file: that of its first line."""
    for offset, char in enumerate(text):
        if char in "\r\n":
            return "\r\n" if text.startswith("\r\n", offset) else char
    return "\n"
