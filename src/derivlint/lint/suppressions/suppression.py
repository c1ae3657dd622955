"""What comments silence: where they are decides what they cover.

* on the line of a key, or on a line of its own directly above it: what belongs to that key, for ``name`` and for the
  ``- `` of an entry the whole entry, for a dispatch key all its formulas;
* after the last line of a value, or after the ``|`` or ``>`` of a block: the same, since the key's line has no room;
* anything else that is found on the same line;
* ``ignore-file`` on a line of its own that is not indented: the whole file.
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

#: The rules that judge suppressions; a suppression of one of them would be a lie about itself.
ABOUT_SUPPRESSIONS = (
    "malformed-suppression",
    "misplaced-suppression",
    "suppression-without-reason",
    "unknown-suppression",
    "unused-suppression",
)
#: What no comment silences.
NEVER_SILENCED = frozenset((*ABOUT_SUPPRESSIONS, "internal-error"))


class RuleNames(Struct, frozen=True):
    """The names that suppressions may use.

    Attributes:
        known: everything that has a name, also what is not found by rules.
        renamed: former names with the present ones.
    """

    known: frozenset[str]
    renamed: Mapping[str, str] = field(default_factory=dict)

    def present(self, name: str) -> str:
        """What a rule is called now."""
        return self.renamed.get(name, name)


#: Where no names are known: all are taken as they are.
NO_NAMES = RuleNames(frozenset())


class SuppressionScope(Struct, frozen=True):
    """What a suppression covers.

    Attributes:
        line: the line that it is on or above, None for the whole file.
        entry: the entry; None where the line belongs to none.
        place: the range of the pair of key and value; None for the whole entry.
        dispatch: the dispatch key of the pair, if it holds formulas.
        key: the key of the formula, if it is one.
    """

    line: Span | None
    entry: Entry | None = None
    place: Span | None = None
    dispatch: str | None = None
    key: str | None = None

    def covers(self, diagnostic: Diagnostic, owner: Entry | None) -> bool:
        """Whether a diagnostic, which is about the entry ``owner``, is in it."""
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
        """What a diagnostic has to do with to be covered: the file, the line, the entry, or some part of the entry."""
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
        """The part of the file that it covers, apart from what else is on its line; None for the whole file."""
        return None if self.line is None else (self.entry, self.place)


class PlacedSuppression(Struct, frozen=True):
    """A suppression and what it covers, None where it is at no place for it."""

    suppression: Suppression
    scope: SuppressionScope | None

    @property
    def entry(self) -> Entry | None:
        """The entry that it is about."""
        return self.scope.entry if self.scope is not None else None


class Suppressions:
    """The suppressions of a file.

    Attributes:
        model: the file.
        placed: each with what it covers, in file order.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        #: the parts of entries that hold formulas, by the entry
        self._formulas: dict[Entry, dict[int, tuple[str, str | None]]] = {}
        #: the pairs of mappings, by place
        self._pairs: dict[YamlMapping, list[Pair]] = {}
        #: what the lines of a block of comments are above, so that each line is passed once
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
        """The entries by place and by name."""
        return EntryFinder(self.model)

    def matches(
        self, diagnostics: Iterable[Diagnostic], names: RuleNames = NO_NAMES
    ) -> dict[Diagnostic, tuple[int, ...]]:
        """The diagnostics that are silenced, each with the indices of the suppressions that do it."""
        # a scope is looked for by what it can cover: the file, a line, an entry, a pair of an entry or its formulas
        scopes: dict[tuple[str, object], list[tuple[int, SuppressionScope]]] = {}
        for index, placed in enumerate(self.placed):
            scope = placed.scope
            if scope is not None and placed.suppression.malformed is None:
                for name in {names.present(name.text) for name in placed.suppression.names} - NEVER_SILENCED:
                    for part in scope.parts:
                        scopes.setdefault((name, part), []).append((index, scope))
        rules = {rule for rule, _ in scopes}
        found: dict[Diagnostic, tuple[int, ...]] = {}
        for diagnostic in diagnostics if rules else ():
            if diagnostic.rule in rules:
                by = self._covering(diagnostic, scopes)
                if by:
                    found[diagnostic] = by
        return found

    def _covering(
        self, diagnostic: Diagnostic, scopes: dict[tuple[str, object], list[tuple[int, SuppressionScope]]]
    ) -> tuple[int, ...]:
        """The indices of the suppressions that cover a diagnostic."""
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
        probe = self._below(comment.span.start) if comment.own_line else self._before(comment.span.start)
        return self.scope_at(probe) if probe is not None else None

    def _before(self, offset: int) -> int | None:
        """The last character before a comment on its line."""
        return end_of_text(self.model.source.text, offset) - 1

    def _below(self, offset: int) -> int | None:
        """The first character of the line that a comment is above; None where a blank line comes between."""
        source = self.model.source
        number = source.position(offset).line + 1
        passed: list[int] = []
        found: int | None = None
        while number <= len(source.line_starts):
            if number in self._below_lines:
                found = self._below_lines[number]
                break
            text = source.line(number)
            stripped = text.strip()
            if not stripped or stripped == "---":
                break
            if not stripped.startswith("#"):
                found = source.line_starts[number - 1] + len(text) - len(text.lstrip())
                break
            passed.append(number)
            number += 1
        self._below_lines.update(dict.fromkeys(passed, found))
        return found

    def _pairs_at(self, mapping: YamlMapping, offset: int) -> list[Pair]:
        """The pairs that a character of the text of a mapping belongs to, the innermost first."""
        found: list[Pair] = []
        while True:
            # the key of a pair may be an alias, which has the place of its anchor
            pairs = self._pairs.get(mapping)
            if pairs is None:
                pairs = self._pairs[mapping] = sorted(mapping.pairs, key=_start)
            index = bisect_right(pairs, offset, key=_start) - 1
            # in block style a pair ends with its line: an alias or nothing may be its value
            if index < 0 or (mapping.flow and offset >= pairs[index].within.end):
                return found
            inner = pairs[index]
            found.insert(0, inner)
            value = inner.value
            if not (isinstance(value, YamlMapping) and inner.key.end <= value.start <= offset < value.end):
                return found
            mapping = value

    def _formulas_of(self, entry: Entry) -> dict[int, tuple[str, str | None]]:
        """The dispatch key and the key that pairs of an entry stand for, by the identity of their YAML keys."""
        found = self._formulas.get(entry)
        if found is None:
            found = self._formulas[entry] = {}
            for body in entry.bodies:
                if body.key_node is not None:
                    found[id(body.key_node)] = (body.key, None)
                for formula in body.formulas:
                    found.setdefault(id(formula.key), (body.key, formula.key_text))
        return found

    def scope_at(self, probe: int) -> SuppressionScope | None:
        """What a comment after or above a character covers."""
        source = self.model.source
        number = source.position(probe).line
        starts = source.line_starts
        line = Span(starts[number - 1], starts[number] if number < len(starts) else len(source.text) + 1)
        entry = self.finder.at(probe)
        if entry is None:
            following = self.finder.behind(probe)
            # only the "- " of the item, and what may come after it, is between
            if (
                following is not None
                and source.text[probe] == "-"
                and _is_gap(source.text[probe : following.span.start])
            ):
                return SuppressionScope(line, following)
            # an item that is not YAML has no entry, but what is wrong with it can be silenced on its line
            return SuppressionScope(line) if self.model.document.problems else None
        mapping = entry.mapping
        pair = next(iter(self._pairs_at(mapping, probe - entry.start)), None) if mapping is not None else None
        if pair is None or pair.value is entry.name or pair.key is entry.misnamed:
            return SuppressionScope(line, entry)
        dispatch, key = self._formulas_of(entry).get(id(pair.key), (None, None))
        place = entry.place(pair)
        return SuppressionScope(line, entry, Span(place.start, max(place.end, place.start + 1)), dispatch, key)


def _is_gap(text: str) -> bool:
    return all(not line.partition("#")[0].strip(" \t-") for line in text.splitlines())


def _start(pair: Pair) -> int:
    return pair.within.start


def suppressions_of(model: Model) -> Suppressions:
    """The suppressions of a file, read once."""
    return model.ask(Suppressions, model)


def unsuppressed(
    model: Model, diagnostics: tuple[Diagnostic, ...], names: RuleNames = NO_NAMES
) -> tuple[Diagnostic, ...]:
    """The diagnostics that no comment of the file silences."""
    silenced = suppressions_of(model).matches(diagnostics, names)
    return tuple(item for item in diagnostics if item not in silenced) if silenced else diagnostics
