"""The entries that differ between two versions of a file, and the differences in each.

Formulas are compared by their syntax trees, ignoring layout.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from enum import Enum

from msgspec import Struct

from derivlint.analysis.differentiability.coverage import Aspect, CoverageOfModel
from derivlint.analysis.differentiability.operators import Answer
from derivlint.analysis.siblings import common_name
from derivlint.formula import Formula, Lambda, Node, Parenthesized, parse_formula, tokens
from derivlint.formula.nodes import NamePart
from derivlint.formula.vocabulary import TRIVIA
from derivlint.lint.changes import node_value
from derivlint.model import DispatchBody, Entry, Model
from derivlint.model.keys import NAME, OUTPUT_DIFFERENTIABILITY
from derivlint.schema import NativeFunction
from derivlint.source import Span
from derivlint.yaml_reader import Mapping as YamlMapping
from derivlint.yaml_reader import Scalar, Sequence, YamlNode

#: The offset fields of nodes.
_PLACES = ("start", "end", "question")


def shape_of_text(text: str) -> Hashable:
    """Return the tree without spans and parentheses, or the tokens if the tree is incomplete."""
    formula = parse_formula(text)
    tree = formula.tree
    if tree is None or any(isinstance(node, Lambda) for node in formula.nodes):
        return _tokens(formula)
    return _shape(tree)


def _tokens(formula: Formula) -> Hashable:
    return tuple(token.text for token in tokens(formula.text) if token.type not in TRIVIA)


def _shape(part: object) -> Hashable:
    if isinstance(part, Parenthesized):
        return _shape(part.inner)
    if isinstance(part, Node | NamePart):
        fields = (_shape(getattr(part, name)) for name in part.__struct_fields__ if not name.endswith(_PLACES))
        return (type(part).__name__, *fields)
    if isinstance(part, tuple):
        return tuple(map(_shape, part))
    assert isinstance(part, Hashable)
    return part


class Status(Enum):
    """The status of an entry: added, removed or changed."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class ValueChange(Struct, frozen=True):
    """A formula or another value of an entry, in both versions.

    Attributes:
        dispatch: the dispatch key, or None for a value of the whole entry.
        key: its key.
        before: the old value on one line, or None.
        after: the new value, or None.
    """

    dispatch: str | None
    key: str
    before: str | None
    after: str | None


class DerivativeChange(Struct, frozen=True):
    """A kind of derivative that an operator gained or lost.

    Attributes:
        operator: the operator with its overload.
        dispatch: the dispatch key.
        aspect: the kind.
        before: the old answer of ``derivlint coverage``; None if there was no operator.
        after: the new answer.
    """

    operator: str
    dispatch: str | None
    aspect: str
    before: str | None
    after: str | None

    @property
    def effect(self) -> str:
        """Whether the derivative was gained or lost, if known."""
        if Answer.UNKNOWN.value in (self.before, self.after):
            return "changed"
        return "gained" if _RANKS.get(self.after, 0) > _RANKS.get(self.before, 0) else "lost"


_RANKS: Mapping[str | None, int] = {
    answer.value: rank for rank, answer in enumerate((Answer.NO, Answer.PARTIAL, Answer.YES), start=1)
}


class EntryChange(Struct, frozen=True):
    """An entry that differs between the versions.

    Attributes:
        name: the operator with its overload, or the schema as written.
        status: its status.
        span: the span of its name, in the newer version that has it.
        values: the values that differ: the schema under ``name``, formulas, and others.
        saved: the additional saved variables.
        unsaved: the variables that are no longer saved.
        derivatives: the kinds of derivatives that changed.
        functions: the other functions to which it applies: in-place, out, ``_copy`` and foreach functions.
        siblings: unchanged entries for the same operator in other dimensions.
    """

    name: str
    status: Status
    span: Span
    values: tuple[ValueChange, ...]
    saved: tuple[str, ...]
    unsaved: tuple[str, ...]
    derivatives: tuple[DerivativeChange, ...]
    functions: tuple[str, ...]
    siblings: tuple[str, ...]


class ChangedEntry(Struct, frozen=True):
    """The two versions of an entry; one of them may be missing."""

    name: str
    before: Entry | None
    after: Entry | None


def changed(before: Model, after: Model) -> list[ChangedEntry]:
    """Return the changed entries without duplicates, those of the newer version first, in file order."""
    old, new = _by_name(before), _by_name(after)
    changes = []
    for key, entry in new.items():
        previous = old.get(key)
        if previous is None or (
            node_value(entry.node) != node_value(previous.node) and _values(entry) != _values(previous)
        ):
            changes.append(ChangedEntry(key[0], previous, entry))
    changes += [ChangedEntry(key[0], entry, None) for key, entry in old.items() if key not in new]
    return changes


def _by_name(model: Model) -> dict[tuple[str, int], Entry]:
    """Return the entries by operator and occurrence."""
    entries: dict[tuple[str, int], Entry] = {}
    for entry in model.entries:
        name = name_of(entry)
        number = 0
        while (name, number) in entries:
            number += 1
        entries[name, number] = entry
    return entries


def name_of(entry: Entry) -> str:
    """Return the operator of an entry with its overload, or its name as written."""
    return entry.operator or (_line(entry.name.value) if entry.name is not None else f"entry {entry.index + 1}")


def _values(entry: Entry) -> dict[tuple[str | None, str], Hashable]:
    """Return the values of an entry by dispatch key and key, without the layout of formulas."""
    values: dict[tuple[str | None, str], Hashable] = {}
    for (dispatch, key), text in _texts(entry).items():
        values[dispatch, key] = text if dispatch is None else shape_of_text(text)
    return values


def _texts(entry: Entry) -> dict[tuple[str | None, str], str]:
    """Yield the values of an entry as text, by dispatch key and key; only formulas have a dispatch key."""
    texts: dict[tuple[str | None, str], str] = {}
    if entry.name is not None:
        texts[None, NAME] = _line(entry.name.value)
    if entry.output_differentiability is not None:
        texts[None, OUTPUT_DIFFERENTIABILITY] = _written(entry.output_differentiability.node)
    for body in entry.bodies:
        for formula in body.formulas:
            key = ", ".join(name.text for name in formula.names)
            texts[body.key, key] = formula.text if formula.text is not None else _written(formula.value)
    return texts


def _written(node: YamlNode) -> str:
    """Format a YAML value on one line."""
    if isinstance(node, Scalar):
        return _line(node.value)
    if isinstance(node, Sequence):
        return f"[{', '.join(map(_written, node.items))}]"
    assert isinstance(node, YamlMapping)
    return f"{{{', '.join(f'{_written(pair.key)}: {_written(pair.value)}' for pair in node.pairs)}}}"


def _line(text: str) -> str:
    return " ".join(text.split())


class Comparison:
    """Compares two versions of entries."""

    def __init__(self, before: Model, after: Model) -> None:
        self._before = before
        self._after = after
        self._coverage = {id(model): CoverageOfModel(model) for model in (before, after)}

    def of(self, change: ChangedEntry, names: frozenset[str]) -> EntryChange:
        """Return the changes of an entry.

        Args:
            change: the entry.
            names: the operators of all changed entries.
        """
        old, new = change.before, change.after
        status = Status.ADDED if old is None else Status.REMOVED if new is None else Status.CHANGED
        entry = new if new is not None else old
        assert entry is not None
        saved, earlier = _saved(new), _saved(old)
        return EntryChange(
            change.name,
            status,
            entry.name_span,
            tuple(_value_changes(old, new)),
            tuple(name for name in saved if name not in earlier),
            tuple(name for name in earlier if name not in saved),
            tuple(self._derivatives(change)),
            tuple(self._functions(change)),
            tuple(self._siblings(change, names)),
        )

    def _sides(self, change: ChangedEntry) -> Iterator[tuple[Model, Entry | None]]:
        yield self._before, change.before
        yield self._after, change.after

    def _functions(self, change: ChangedEntry) -> list[str]:
        names: dict[str, None] = {}
        for model, entry in reversed(list(self._sides(change))):
            if entry is not None:
                matches = (match for match in model.functions_of(entry) if match.infos)
                names.update((str(match.function.name), None) for match in matches)
        return [name for name in names if name != change.name]

    def _derivatives(self, change: ChangedEntry) -> Iterator[DerivativeChange]:
        answers = [self._answers(model, change) for model, _ in self._sides(change)]
        for dispatch, aspect in dict.fromkeys([*answers[1], *answers[0]]):
            old, new = (side.get((dispatch, aspect)) for side in answers)
            if old != new:
                yield DerivativeChange(change.name, dispatch, aspect, old, new)

    def _answers(self, model: Model, change: ChangedEntry) -> dict[tuple[str | None, str], str]:
        """Return the derivatives of the operator in a version, even if that has no entry for it."""
        function = _function(model, change)
        if function is None:
            return {}
        rows = self._coverage[id(model)].of(function)
        return {
            (row.key if len(rows) > 1 else None, aspect.value): row.verdicts[aspect].answer.value
            for row in rows
            for aspect in Aspect
            if aspect in row.verdicts
        }

    def _siblings(self, change: ChangedEntry, names: frozenset[str]) -> list[str]:
        family, dimensions = common_name(change.name)
        if not dimensions:
            return []
        return [
            name
            for entry in self._after.entries
            if (name := name_of(entry)) not in names and common_name(name)[0] == family and common_name(name)[1]
        ]


def _function(model: Model, change: ChangedEntry) -> NativeFunction | None:
    return model.natives.operator(change.name)


def _value_changes(old: Entry | None, new: Entry | None) -> Iterator[ValueChange]:
    before = _texts(old) if old is not None else {}
    after = _texts(new) if new is not None else {}
    shapes = [_values(entry) if entry is not None else {} for entry in (old, new)]
    for dispatch, key in dict.fromkeys([*after, *before]):
        if shapes[0].get((dispatch, key)) != shapes[1].get((dispatch, key)):
            values = (side.get((dispatch, key)) for side in (before, after))
            yield ValueChange(dispatch, key, *(None if value is None else _line(value) for value in values))


def _saved(entry: Entry | None) -> list[str]:
    """Return the distinct saved variables of an entry's nodes."""
    bodies: Iterable[DispatchBody] = entry.bodies if entry is not None else ()
    infos = [body.info for body in bodies if body.info is not None]
    return list(
        dict.fromkeys(item.name for info in infos for item in (*info.all_saved_inputs, *info.all_saved_outputs))
    )
