"""Scopes of suppressions, which depend on their position.

* on the line of a key, or on its own line directly above: the pair; for ``name`` and ``- ``, the whole entry; for a
  dispatch key, all its formulas;
* after the last line of a value, or after the ``|`` or ``>`` of a block: the same;
* anywhere: all other findings on the same line;
* ``ignore-file`` on its own unindented line: the whole file.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from derivlint.lint.diagnostic import Diagnostic
from derivlint.lint.engine.ownership import EntryFinder
from derivlint.lint.suppressions.suppression_comments import (
    IGNORE_FILE,
    Comments,
    Suppression,
    end_of_text,
    read_suppressions,
)
from derivlint.model import Entry, Model
from derivlint.source import Span
from derivlint.source.file import BOM
from derivlint.source.lazy import cached_property
from derivlint.yaml_reader import Mapping as YamlMapping
from derivlint.yaml_reader import Pair

#: The rules about suppressions.
ABOUT_SUPPRESSIONS = (
    "malformed-suppression",
    "misplaced-suppression",
    "suppression-without-reason",
    "unknown-suppression",
    "unused-suppression",
)
#: The rules that cannot be suppressed.
NEVER_SILENCED = frozenset((*ABOUT_SUPPRESSIONS, "internal-error"))


class RuleNames(Struct, frozen=True):
    """The valid names in suppressions.

    Attributes:
        existing: the names of rules and of other findings.
        renamed: the current names, by former name.
    """

    existing: frozenset[str]
    renamed: Mapping[str, str] = field(default_factory=dict)

    def present(self, name: str) -> str:
        """The current name of a rule."""
        return self.renamed.get(name, name)


#: An instance without names, which maps each name to itself.
NO_NAMES = RuleNames(frozenset())


class SuppressionScope(Struct, frozen=True):
    """The scope of a suppression.

    Attributes:
        line: the line of the comment, or below it; None for the whole file.
        entry: the entry, or None on a line without one.
        place: the span of the pair of key and value, or None for the whole entry.
        dispatch: the dispatch key of the pair, if it has formulas.
        key: the key of the formula, if it is one.
    """

    line: Span | None
    entry: Entry | None = None
    place: Span | None = None
    dispatch: str | None = None
    key: str | None = None

    def covers(self, diagnostic: Diagnostic, owner: Entry | None) -> bool:
        """Whether the scope covers a diagnostic of the entry ``owner``."""
        line, place, start = self.line, self.place, diagnostic.span.start
        if line is None:
            return True
        if diagnostic.elsewhere:
            return False
        if line.start <= start < line.end:
            return True
        if self.entry is None or owner is not self.entry:
            return False
        if place is None or place.start <= start < place.end:
            return True
        if self.dispatch is None or diagnostic.dispatch != self.dispatch:
            return False
        return self.key is None or diagnostic.key == self.key

    @property
    def parts(self) -> tuple[object, ...]:
        """The keys under which covered diagnostics are indexed: the file, the line, the entry, or a part of it."""
        if self.line is None:
            return (None,)
        if self.entry is None:
            return (self.line.start,)
        if self.place is None:
            return (self.line.start, self.entry)
        pair = (self.entry, self.place.start)
        if self.dispatch is None:
            return (self.line.start, pair)
        formulas = (self.entry, self.dispatch) if self.key is None else (self.entry, self.dispatch, self.key)
        return (self.line.start, pair, formulas)

    @property
    def part(self) -> tuple[Entry | None, Span | None] | None:
        """The covered entry and pair, without the line; None for the whole file."""
        return None if self.line is None else (self.entry, self.place)


class PlacedSuppression(Struct, frozen=True):
    """A suppression with its scope, or None at a position without scope."""

    suppression: Suppression
    scope: SuppressionScope | None

    @property
    def entry(self) -> Entry | None:
        """The covered entry."""
        return self.scope.entry if self.scope is not None else None


class Suppressions:
    """The suppressions of a file.

    Attributes:
        model: the file.
        placed: the suppressions with their scopes, in file order.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        #: the pairs of entries that have formulas, by entry
        self._formulas: dict[Entry, dict[int, tuple[str, str | None]]] = {}
        #: the pairs of mappings, by mapping
        self._pairs: dict[YamlMapping, list[Pair]] = {}
        #: the offset below each line of a comment block, cached so that each line is scanned once
        self._below_lines: dict[int, int | None] = {}
        self.placed: tuple[PlacedSuppression, ...] = tuple(
            PlacedSuppression(suppression, self._scope(suppression))
            for suppression in read_suppressions(model.document)
        )

    @cached_property
    def comments(self) -> Comments:
        """The comments of the file."""
        return Comments(self.model.document)

    @cached_property
    def finder(self) -> EntryFinder:
        """The entries by offset and name."""
        return EntryFinder(self.model)

    def matches(
        self, diagnostics: Iterable[Diagnostic], names: RuleNames = NO_NAMES
    ) -> dict[Diagnostic, tuple[int, ...]]:
        """The suppressed diagnostics, each with the indices of its suppressions."""
        # scopes by file, line, entry, or part of an entry
        scopes: dict[tuple[str, object], list[tuple[int, SuppressionScope]]] = {}
        for index, placed in enumerate(self.placed):
            scope = placed.scope
            if scope is not None and placed.suppression.malformed is None:
                for name in {names.present(name.text) for name in placed.suppression.names} - NEVER_SILENCED:
                    for part in scope.parts:
                        scopes.setdefault((name, part), []).append((index, scope))
        rules = {rule for rule, _ in scopes}
        silenced: dict[Diagnostic, tuple[int, ...]] = {}
        for diagnostic in diagnostics if rules else ():
            if diagnostic.rule in rules:
                by = self._covering(diagnostic, scopes)
                if by:
                    silenced[diagnostic] = by
        return silenced

    def _covering(
        self, diagnostic: Diagnostic, scopes: dict[tuple[str, object], list[tuple[int, SuppressionScope]]]
    ) -> tuple[int, ...]:
        source = self.model.source
        owner = self.finder.owner(diagnostic)
        start = diagnostic.span.start
        parts: list[object] = [None]
        if not diagnostic.elsewhere:
            parts.append(source.line_starts[source.position(start).line - 1])
        if owner is not None:
            parts += [owner, (owner, diagnostic.dispatch), (owner, diagnostic.dispatch, diagnostic.key)]
            mapping = owner.mapping
            parts += (
                [(owner, owner.place(pair).start) for pair in self._pairs_at(mapping, start - owner.start)]
                if mapping is not None
                else []
            )
        near = (item for part in parts for item in scopes.get((diagnostic.rule, part), ()))
        return tuple(sorted({index for index, scope in near if scope.covers(diagnostic, owner)}))

    def _scope(self, suppression: Suppression) -> SuppressionScope | None:
        comment = suppression.comment
        source = self.model.source
        if suppression.kind == IGNORE_FILE:
            start = comment.span.start
            in_margin = source.text[max(start - 1, 0) : start] in ("", "\n", "\r", BOM)
            return SuppressionScope(None) if comment.own_line and in_margin else None
        start = comment.span.start
        probe = self._below(start) if comment.own_line else end_of_text(source.text, start) - 1
        return self.scope_at(probe) if probe is not None else None

    def _below(self, offset: int) -> int | None:
        """The offset of the text below a comment; None after a blank line."""
        source = self.model.source
        number = source.position(offset).line + 1
        passed: list[int] = []
        below: int | None = None
        while number <= len(source.line_starts):
            if number in self._below_lines:
                below = self._below_lines[number]
                break
            text = source.line(number)
            stripped = text.strip()
            if not stripped or stripped == "---":
                break
            if not stripped.startswith("#"):
                below = source.line_starts[number - 1] + len(text) - len(text.lstrip())
                break
            passed.append(number)
            number += 1
        self._below_lines.update(dict.fromkeys(passed, below))
        return below

    def _pairs_at(self, mapping: YamlMapping, offset: int) -> list[Pair]:
        """The pairs of a mapping that contain an offset, innermost first."""
        pairs_around: list[Pair] = []
        while True:
            # an aliased key has the span of its anchor
            pairs = self._pairs.get(mapping)
            if pairs is None:
                pairs = self._pairs[mapping] = sorted(mapping.pairs, key=_start)
            index = bisect_right(pairs, offset, key=_start) - 1
            # in block style, a pair extends to its line end: its value may be an alias or empty
            if index < 0 or (mapping.flow and offset >= pairs[index].within.end):
                return pairs_around
            inner = pairs[index]
            pairs_around.insert(0, inner)
            value = inner.value
            if not (isinstance(value, YamlMapping) and inner.key.end <= value.start <= offset < value.end):
                return pairs_around
            mapping = value

    def _formulas_of(self, entry: Entry) -> dict[int, tuple[str, str | None]]:
        """The dispatch key and key of an entry's pairs, by identity of the YAML key."""
        formulas = self._formulas.get(entry)
        if formulas is None:
            formulas = self._formulas[entry] = {}
            for body in entry.bodies:
                if body.key_node is not None:
                    formulas[id(body.key_node)] = (body.key, None)
                for formula in body.formulas:
                    formulas.setdefault(id(formula.key), (body.key, formula.key_text))
        return formulas

    def scope_at(self, probe: int) -> SuppressionScope | None:
        """The scope of a comment after or above an offset."""
        source = self.model.source
        number = source.position(probe).line
        starts = source.line_starts
        line = Span(starts[number - 1], starts[number] if number < len(starts) else len(source.text) + 1)
        entry = self.finder.at(probe)
        if entry is None:
            following = self.finder.behind(probe)
            if following is not None and source.text[probe] == "-":
                # only the "- " of the item and comments may lie between
                gap = source.text[probe : following.span.start].splitlines()
                if not any(text.partition("#")[0].strip(" \t-") for text in gap):
                    return SuppressionScope(line, following)
            # an unreadable item has no entry, but its problems can be suppressed on their line
            return SuppressionScope(line) if self.model.document.problems else None
        mapping = entry.mapping
        pair = next(iter(self._pairs_at(mapping, probe - entry.start)), None) if mapping is not None else None
        if pair is None or pair.value is entry.name or pair.key is entry.misnamed:
            return SuppressionScope(line, entry)
        dispatch, key = self._formulas_of(entry).get(id(pair.key), (None, None))
        place = entry.place(pair)
        return SuppressionScope(line, entry, Span(place.start, max(place.end, place.start + 1)), dispatch, key)


def _start(pair: Pair) -> int:
    return pair.within.start


def suppressions_of(model: Model) -> Suppressions:
    """Return the suppressions of a file; cached."""
    return model.ask(Suppressions, model)
