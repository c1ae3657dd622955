"""The outline of a file: symbols, folding and selection ranges."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.lsp.features.locate import AtFormula, AtSchema, entry_at, locate
from derivlint.model import DerivativeFormula, DispatchBody, Entry, Role
from derivlint.source import SourceFile, Span
from derivlint.yaml_reader import Mapping, Pair

#: The maximum number of workspace symbols.
MAX_SYMBOLS = 200
#: The minimum number of lines of a foldable comment.
COMMENT_LINES = 3


class Symbol(Struct, frozen=True):
    """A symbol of the file.

    Attributes:
        name: its name.
        kind: a name of the protocol's ``SymbolKind``.
        detail: one line of details.
        span: the range of the whole construct.
        selection: the range of its name.
        container: the enclosing symbol, if any.
        children: the nested symbols.
    """

    name: str
    kind: str
    detail: str
    span: Span
    selection: Span
    container: str = ""
    children: tuple[Symbol, ...] = field(default=())


class Fold(Struct, frozen=True):
    """A range of lines that can be folded; ``kind`` is a name of the protocol's ``FoldingRangeKind``, or empty."""

    span: Span
    kind: str = ""


# ---- symbols


def document_symbols(analysis: DocumentAnalysis) -> tuple[Symbol, ...]:
    """Return the entries with their dispatch keys and formulas."""
    # the nodes of an alias have no place of their own
    size = len(analysis.source.text)
    return tuple(
        _entry(entry) for entry in analysis.model.all_entries if 0 <= entry.span.start < entry.span.end <= size
    )


def workspace_symbols(analysis: DocumentAnalysis, query: str) -> tuple[Symbol, ...]:
    """Return the entries whose operator contains the letters of a query in order, the best matches first."""
    letters = query.lower()
    ranked = []
    for entry in analysis.model.all_entries:
        name = (entry.operator or "").lower()
        rank = 0 if name.startswith(letters) else 1 if letters in name else 2
        if name and (rank < 2 or _has_letters(name, letters)):
            ranked.append((rank, len(name), name, entry.span.start, entry))
    ranked.sort(key=lambda item: item[:4])
    return tuple(_entry(item[4], children=False) for item in ranked[:MAX_SYMBOLS])


def _has_letters(name: str, letters: str) -> bool:
    rest = iter(name)
    return all(letter in rest for letter in letters)


def _entry(entry: Entry, *, children: bool = True) -> Symbol:
    operator = entry.operator or (entry.name.value if entry.name is not None else "")
    name = operator or "entry without name"
    schema = entry.name.value if entry.name is not None else ""
    detail = schema.removeprefix(operator) if operator else ""
    span = entry.span
    selection = entry.name_span if span.contains(entry.name_span) else span
    inside = tuple(_children(entry, name)) if children else ()
    return Symbol(name, "Function", detail, span, selection, "", inside)


def _children(entry: Entry, container: str) -> Iterator[Symbol]:
    for body in entry.bodies:
        formulas = tuple(_formula(entry, formula, container) for formula in body.formulas)
        if body.key_node is None:
            yield from formulas
        else:
            key = entry.place(body.key_node)
            pair = next((pair for pair in _pairs(entry.mapping) if pair.key is body.key_node), None)
            span = entry.place(pair) if pair is not None else key
            yield Symbol(body.key, "Namespace", _keys(body), span, key, container, formulas)


def _keys(body: DispatchBody) -> str:
    return "; ".join(formula.key_text for formula in body.formulas)


_KINDS = {Role.BACKWARD: "Field", Role.FORWARD: "Property", Role.NON_DIFFERENTIABLE: "Constant"}


def _formula(entry: Entry, formula: DerivativeFormula, container: str) -> Symbol:
    kind = _KINDS.get(formula.role, "Variable")
    detail = " ".join((formula.text or "").split())
    span = entry.place(Pair(formula.key, formula.value))
    return Symbol(formula.key_text or '""', kind, detail, span, formula.key_span, container)


def _pairs(mapping: Mapping | None) -> Iterator[Pair]:
    """Yield the pairs of a mapping and of nested mappings."""
    if mapping is not None:
        for pair in mapping.pairs:
            yield pair
            if isinstance(pair.value, Mapping):
                yield from _pairs(pair.value)


# ---- folding


def folds(analysis: DocumentAnalysis) -> tuple[Fold, ...]:
    """Return the foldable ranges: entries, the formulas of a dispatch key, long values, comments."""
    source = analysis.source
    text = source.text
    candidates = list(_comments(source))
    for entry in analysis.model.all_entries:
        spans = [entry.span, *map(entry.place, _pairs(entry.mapping))]
        candidates += [Fold(span) for span in spans if any(text.find(end, *span) >= 0 for end in "\n\r")]
    by_start: dict[int, Fold] = {}
    for fold in candidates:
        # editors fold lines: of two ranges that begin on a line, keep the longer one
        line = source.position(fold.span.start).line
        longest = by_start.get(line)
        if longest is None or fold.span.end > longest.span.end:
            by_start[line] = fold
    return tuple(by_start[line] for line in sorted(by_start))


def _comments(source: SourceFile) -> Iterator[Fold]:
    """Yield blocks of comment lines."""
    starts = [*source.line_starts, len(source.text)]
    first: int | None = None
    for number in range(len(starts)):
        start = starts[number]
        end = starts[number + 1] if number + 1 < len(starts) else start
        if source.text[start:end].lstrip(" \t\ufeff").startswith("#"):
            first = number if first is None else first
            continue
        if first is not None and number - first >= COMMENT_LINES:
            last = source.text[starts[number - 1] : start]
            yield Fold(Span(starts[first], starts[number - 1] + len(last.rstrip("\r\n"))), "Comment")
        first = None


# ---- selection


def selections(analysis: DocumentAnalysis, offset: int) -> tuple[Span, ...]:
    """Return the ranges around an offset, from inner to outer: word, nodes of the formula, value, pair, entry."""
    at = locate(analysis, offset)
    spans: list[Span] = []
    if isinstance(at, AtFormula):
        spans.append(at.span)
        spans += [at.expression.range(node.start, node.end) for node in reversed(at.path)]
        spans.append(at.expression.range(0, len(at.formula.text)))
        spans.append(at.expression.span)
    elif isinstance(at, AtSchema):
        spans.append(at.span)
        if at.part is not None and at.part.type_span is not None and at.entry.name is not None:
            name = at.part.name_span or at.part.type_span
            spans.append(at.entry.place_in(at.entry.name, at.part.type_span.start, name.end))
        spans += [at.entry.place(at.entry.name)] if at.entry.name is not None else []
    elif at is not None:
        spans.append(at.span)
    entry = entry_at(analysis, offset)
    if entry is not None:
        around = [span for span in map(entry.place, _pairs(entry.mapping)) if _around(span, offset)]
        spans += sorted(around, key=lambda span: span.end - span.start)
        spans.append(entry.span)
    spans.append(Span(0, len(analysis.source.text)))
    nested: list[Span] = []
    for span in spans:
        if _around(span, offset) and (not nested or (span.contains(nested[-1]) and span != nested[-1])):
            nested.append(span)
    return tuple(nested)


def _around(span: Span, offset: int) -> bool:
    return span.start <= offset <= span.end
