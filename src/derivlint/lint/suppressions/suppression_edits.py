"""Add and delete suppressions; edits change only comments."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from derivlint.lint.diagnostic import Diagnostic, TextEdit
from derivlint.lint.suppressions.suppression import NEVER_SILENCED, Suppressions, SuppressionScope, suppressions_of
from derivlint.lint.suppressions.suppression_comments import IGNORE, IGNORE_FILE, Suppression, end_of_text
from derivlint.model import Entry, Model
from derivlint.source import SourceFile, Span
from derivlint.source.file import BOM, LINE_END
from derivlint.yaml_reader import Scalar


def deletion(source: SourceFile, suppression: Suppression) -> Span:
    """The range to delete for a suppression: its line, or only the comment if the line has more text."""
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
    """The position of a new suppression.

    Attributes:
        scope: its scope; without line for the whole file.
        offset: the offset of the comment.
        above: the indentation if it gets its own line; None at the end of a line.
        names: the rules.
    """

    scope: SuppressionScope
    offset: int
    above: str | None
    names: set[str] = field(default_factory=set)


def ignore_edits(model: Model, diagnostics: Iterable[Diagnostic], reason: str = "") -> tuple[TextEdit, ...]:
    """The edits that suppress all diagnostics, sorted and disjoint.

    The comment goes at the end of the formula's line if there is room, on a line above the entry, or applies to the
    whole file for a finding without an entry. An existing suppression with the same scope is extended.

    Args:
        model: the file, which must be valid YAML.
        diagnostics: the findings; those that cannot be suppressed, or already are, are skipped.
        reason: a one-line text after the names.
    """
    suppressions = suppressions_of(model)
    places: dict[int, _Place] = {}
    diagnostics = tuple(diagnostics)
    silenced = suppressions.matches(diagnostics)
    for diagnostic in diagnostics:
        if diagnostic.rule not in NEVER_SILENCED and diagnostic not in silenced:
            place = _place(suppressions, diagnostic)
            places.setdefault(place.offset, place).names.add(diagnostic.rule)
    existing = {
        placed.scope.part: placed.suppression
        for placed in reversed(suppressions.placed)
        if placed.scope is not None
        and placed.suppression.malformed is None
        # without an entry, scopes are different lines
        and (placed.scope.line is None or placed.scope.entry is not None)
    }
    edits = [
        _edit(model.source.text, place, existing.get(place.scope.part), reason) for _, place in sorted(places.items())
    ]
    merged: dict[Span, TextEdit] = {}
    for edit in edits:
        # positions in the scope of one suppression edit the same brackets
        previous = merged.get(edit.span)
        text = edit.text if previous is None else ", ".join(dict.fromkeys(f"{previous.text}, {edit.text}".split(", ")))
        merged[edit.span] = TextEdit(edit.span, text)
    return tuple(sorted(merged.values(), key=lambda edit: edit.span))


def _place(suppressions: Suppressions, diagnostic: Diagnostic) -> _Place:
    model = suppressions.model
    entry = suppressions.finder.owner(diagnostic)
    if entry is None:
        return _Place(SuppressionScope(None), 1 if model.source.text.startswith(BOM) else 0, "")
    same = (item for item in entry.formulas if (item.body.key, item.key_text) == (diagnostic.dispatch, diagnostic.key))
    formula = next(same, None)
    if formula is not None:
        value = formula.value
        # the header of a block scalar has room for a comment
        is_block = isinstance(value, Scalar) and value.style in ("literal", "folded")
        end = formula.value_span.end if value.start >= formula.key.end and not is_block else 0
        number = model.source.position(max(formula.key_span.end, end)).line
        comment = suppressions.comments.on_line(number)
        offset = model.source.line_starts[number - 1] + len(model.source.line(number))
        before = model.source.text[: comment.span.start if comment is not None else offset]
        scope = suppressions.scope_at(len(before.rstrip()) - 1)
        # in flow style, the line may have more than the formula
        if scope is not None and scope.covers(diagnostic, entry):
            return _Place(scope, offset, None)
    return _above(suppressions, entry)


def _above(suppressions: Suppressions, entry: Entry) -> _Place:
    """The position above an entry, or at the end of the line if the entry does not start it."""
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


def _edit(text: str, place: _Place, old: Suppression | None, reason: str) -> TextEdit:
    """The edit that extends or adds a suppression."""
    if old is not None:
        names = [name.text for name in old.names]
        return TextEdit(old.inside, ", ".join((*names, *sorted(place.names - set(names)))))
    kind = IGNORE_FILE if place.scope.line is None else IGNORE
    comment = f"# derivlint: {kind}[{', '.join(sorted(place.names))}] {reason}".rstrip()
    where = Span(place.offset, place.offset)
    if place.above is None:
        return TextEdit(where, comment if text[place.offset - 1] in " \t" else f"  {comment}")
    match = LINE_END.search(text)
    line_end = match[0] if match is not None else "\n"
    return TextEdit(where, f"{place.above}{comment}{line_end}")
