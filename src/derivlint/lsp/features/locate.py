"""The syntax at an offset of a derivatives file.

An offset in the file maps to an offset in the formula by the inverse decode map of its scalar, even if the formula is
quoted, escaped or folded over several lines.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct

from derivlint.formula import Expr, Formula, Node, Word
from derivlint.lint.suppressions.suppression import suppressions_of
from derivlint.lint.suppressions.suppression_comments import SuppressedName, Suppression
from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.model import DerivativeFormula, DispatchBody, Entry, KeyName
from derivlint.model.entry import Expression
from derivlint.schema import Argument, FunctionSchema, SchemaError, parse_schema
from derivlint.schema.syntax.arguments import Return
from derivlint.source import Span
from derivlint.yaml_reader import Mapping, Pair, Scalar
from derivlint.yaml_reader import YamlNode as YamlNode


class AtFormula(Struct, frozen=True):
    """A character of a C++ expression.

    Attributes:
        entry: the entry.
        expression: the expression, with its key; the condition of ``output_differentiability`` has none.
        formula: its tree and its words.
        index: the offset in the expression's text.
        path: the nodes around it, the innermost last; empty if there is no tree.
        word: the word that it belongs to, if any.
        span: the span of the word, else of the innermost node.
    """

    entry: Entry
    expression: Expression
    formula: Formula
    index: int
    path: tuple[Node, ...]
    word: Word | None
    span: Span

    @property
    def written(self) -> DerivativeFormula | None:
        """The key with its formula, or None for a condition."""
        return self.expression.written

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The nodes of the path that are expressions, the innermost last."""
        return tuple(node for node in self.path if isinstance(node, Expr))


class AtKeyword(Struct, frozen=True):
    """A keyword instead of a C++ expression: ``auto_linear``, ``non_differentiable``."""

    entry: Entry
    written: DerivativeFormula
    span: Span


class AtKey(Struct, frozen=True):
    """A name in the key of a formula; ``name`` is None between names."""

    entry: Entry
    written: DerivativeFormula
    name: KeyName | None
    span: Span


class AtSchema(Struct, frozen=True):
    """A character of the schema in ``name:``.

    Attributes:
        entry: the entry.
        schema: the parsed schema, or None if it cannot be parsed.
        part: the argument or return that it belongs to; None for the operator's name and everything else.

        span: the span of the part's name, of the operator's name, or of the whole schema.
    """

    entry: Entry
    schema: FunctionSchema | None
    part: Argument | Return | None

    span: Span


class AtDispatchKey(Struct, frozen=True):
    """A key of ``dispatch``."""

    entry: Entry
    body: DispatchBody
    span: Span


class AtEntryKey(Struct, frozen=True):
    """A key that every entry may have: ``name``, ``dispatch``, ``output_differentiability``."""

    entry: Entry
    key: Scalar
    span: Span


class AtSuppression(Struct, frozen=True):
    """A suppression comment, and its rule at the offset, if any."""

    suppression: Suppression
    name: SuppressedName | None
    span: Span


class AtEntry(Struct, frozen=True):
    """Any other part of an entry, such as a value that is not a text."""

    entry: Entry
    span: Span


Located: TypeAlias = AtFormula | AtKeyword | AtKey | AtSchema | AtDispatchKey | AtEntryKey | AtSuppression | AtEntry


def entry_at(analysis: DocumentAnalysis, offset: int) -> Entry | None:
    """Return the entry at an offset, or the one that ends there."""
    entries = suppressions_of(analysis.model).finder
    entry = entries.at(offset)
    return entry if entry is not None or offset == 0 else entries.at(offset - 1)


def locate(analysis: DocumentAnalysis, offset: int) -> Located | None:
    """Return the syntax at an offset of ``analysis.source``; an offset directly after a word belongs to the word."""
    for placed in suppressions_of(analysis.model).placed:
        suppression = placed.suppression
        if suppression.span.start <= offset <= suppression.span.end:
            name = next((name for name in suppression.names if name.span.start <= offset <= name.span.end), None)
            return AtSuppression(suppression, name, name.span if name is not None else suppression.head)
    entry = entry_at(analysis, offset)
    if entry is None:
        return None
    pair = _innermost_pair(entry.mapping, offset - entry.start)
    if pair is None:
        return AtEntry(entry, entry.span)
    if _touches(pair.key, offset - entry.start) and isinstance(pair.key, Scalar):
        return _at_key(entry, pair.key, offset)
    return _at_value(entry, pair, offset)


def decoded_index(entry: Entry, scalar: Scalar, offset: int) -> int | None:
    """Return the index of the decoded character at an offset of the file; ``len(value)`` after the last.

    None if the scalar has no decode map, or the offset is outside.
    """
    offset -= entry.start
    if not scalar.exact or not scalar.start <= offset <= scalar.end:
        return None
    length = len(scalar.value)
    if offset >= scalar.offset(length):
        return length
    return max(bisect_right(range(length), offset, key=scalar.offset) - 1, 0)


def path_at(tree: Node, index: int) -> tuple[Node, ...]:
    """Return the nodes at an offset of a formula, the innermost last; a node includes the offset after it."""
    if not tree.start <= index <= tree.end:
        return ()
    path = [tree]
    while True:
        inside = [child for child in path[-1].children if child.start <= index <= child.end]
        if not inside:
            return tuple(path)
        path.append(next((child for child in inside if index < child.end), inside[-1]))


def word_at(formula: Formula, index: int) -> Word | None:
    """Return the word at an offset of a formula, or the one that ends there."""
    touching = None
    for word in formula.words:
        if word.start <= index < word.end:
            return word
        if word.end == index:
            touching = word
    return touching


def schema_of(entry: Entry) -> FunctionSchema | None:
    """Return the schema in the entry's ``name:``, with spans in its decoded text, or None if it cannot be parsed."""
    function = entry.function
    if function is not None and not function.declared.generated:
        return function.declared.schema
    if function is not None and entry.name is not None:
        # the schema of a generated function is in no file, and has no spans
        return _parsed(entry.name.value)
    problem = entry.schema_problem
    return problem.schema if problem is not None else None


@lru_cache(maxsize=64)
def _parsed(text: str) -> FunctionSchema | None:
    try:
        return parse_schema(text)
    except SchemaError:
        return None


def return_index(schema: FunctionSchema, part: Return) -> int | None:
    """Return the index of a return in its schema, by identity."""
    return next((index for index, item in enumerate(schema.returns) if item is part), None)


def schema_parts(schema: FunctionSchema) -> Iterator[Argument | Return]:
    """Return the arguments and returns of a schema, in order."""
    yield from schema.arguments.flat_all
    yield from schema.returns


def part_span(entry: Entry, part: Argument | Return) -> Span | None:
    """Return the span of an argument or return in ``name:``: of its name, or of its type if it has none."""
    span = part.name_span or part.type_span
    return entry.place_in(entry.name, *span) if entry.name is not None and span is not None else None


# ---- parts of an entry


def _touches(node: YamlNode, offset: int) -> bool:
    return node.start <= offset <= node.end


def _innermost_pair(mapping: Mapping | None, offset: int) -> Pair | None:
    """Return the pair at an offset, the inner one in ``dispatch``."""
    if mapping is None:
        return None
    for pair in mapping.pairs:
        if _touches(pair.key, offset):
            return pair
        if _touches(pair.value, offset):
            inner = _innermost_pair(pair.value, offset) if isinstance(pair.value, Mapping) else None
            return inner or pair
    return None


def _at_key(entry: Entry, key: Scalar, offset: int) -> Located:
    for formula in entry.formulas:
        if formula.key is key:
            places = {name: formula.name_span(name) for name in formula.names}
            name = next((name for name, place in places.items() if place.start <= offset <= place.end), None)
            return AtKey(entry, formula, name, places[name] if name is not None else formula.key_span)
    for body in entry.bodies:
        if body.key_node is key:
            return AtDispatchKey(entry, body, entry.place(key))
    return AtEntryKey(entry, key, entry.place(key))


def _at_value(entry: Entry, pair: Pair, offset: int) -> Located:
    value = pair.value
    if value is entry.name:
        return _at_schema(entry, entry.name, offset)
    for expression in entry.expressions:
        is_there = _touches(expression.scalar, offset - entry.start)
        if is_there and (expression.written is None or expression.written.value is value):
            return _at_formula(entry, expression, offset)
    for formula in entry.formulas:
        if formula.value is value and formula.text is not None:
            return AtKeyword(entry, formula, entry.place(value))
    return AtEntry(entry, entry.place(value))


def _at_formula(entry: Entry, expression: Expression, offset: int) -> AtFormula:
    formula = expression.parsed
    index = decoded_index(entry, expression.scalar, offset)
    if index is None:
        return AtFormula(entry, expression, formula, 0, (), None, expression.span)
    path = path_at(formula.tree, index) if formula.tree is not None else ()
    word = word_at(formula, index)
    if word is not None:
        span = expression.range(word.start, word.end)
    elif path:
        span = expression.range(path[-1].start, path[-1].end)
    else:
        span = expression.span
    return AtFormula(entry, expression, formula, index, path, word, span)


def _at_schema(entry: Entry, name: Scalar, offset: int) -> AtSchema:
    schema = schema_of(entry)
    index = decoded_index(entry, name, offset)
    operator, whole = entry.name_span, entry.place(name)
    if index is None or schema is None:
        return AtSchema(entry, schema, None, whole)
    if operator.start <= offset <= operator.end:
        return AtSchema(entry, schema, None, operator)
    for part in schema_parts(schema):
        spans = [span for span in (part.type_span, part.name_span) if span is not None]
        if spans and spans[0].start <= index <= spans[-1].end:
            return AtSchema(entry, schema, part, part_span(entry, part) or whole)
    return AtSchema(entry, schema, None, whole)
