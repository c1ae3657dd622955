"""Definitions and references, in the file and in C++ headers and sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from derivlint.cpp.declarations.declaration_tokens import Tokens
from derivlint.cpp.operator_signatures import without_symint
from derivlint.formula import Index, Name, Number, Word, whole_number
from derivlint.lsp.analysis import DocumentAnalysis, FileSpan
from derivlint.lsp.features.describe import entries_serving
from derivlint.lsp.features.facts import Callee, FormulaFacts, Variable, operators_of, variable
from derivlint.lsp.features.hover import callee_at
from derivlint.lsp.features.locate import (
    AtEntryKey,
    AtFormula,
    AtKey,
    AtSchema,
    Located,
    locate,
    part_span,
    return_index,
    schema_of,
)
from derivlint.model import DerivativeFormula, Entry, Model
from derivlint.model.generated.gradients import GRAD_INPUT_MASK, GRADS
from derivlint.model.keys import NAME
from derivlint.schema import Argument, NativeFunction
from derivlint.schema.syntax.arguments import Return
from derivlint.source import SourceError, SourceFile, Span

#: The tokens that precede a declared name, never a called one.
_BEFORE_DECLARED = frozenset({"IDENT", "BUILTIN", "CV", "GREATER", "POINTER"})
_SUFFIXES = (".cpp", ".cc", ".cxx")


def function_places(headers: tuple[Path, ...], name: str) -> tuple[FileSpan, ...]:
    """Return the declarations of a name in headers, and its definitions in the sources next to them.

    Files that cannot be read are skipped.
    """
    paths = dict.fromkeys(path for header in headers for path in (header, *map(header.with_suffix, _SUFFIXES)))
    return tuple(
        FileSpan(file.source, span, whole)
        for path in paths
        if (file := _read(path)) is not None
        for span, whole in file.functions.get(name, ())
    )


class _File:
    """A C++ file with the functions that it declares at the outermost level or in namespaces."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.functions: dict[str, list[tuple[Span, Span]]] = {}
        tokens = Tokens(source.text)
        items, closing = tokens.items, tokens.closing
        index = 0
        begin = 0
        while index < len(items):
            token = items[index]
            if token.type in ("SEMICOLON", "RBRACE"):
                begin = index + 1
            elif token.type == "LBRACE":
                opens_namespace = any(item.type == "NAMESPACE" for item in items[begin:index])
                if not opens_namespace:
                    index = closing.get(index, len(items) - 1)
                begin = index + 1
            elif token.type == "LPAR":
                close = closing.get(index, len(items) - 1)
                name = items[index - 1] if index else token
                if name.type == "IDENT" and index - 1 > begin and items[index - 2].type in _BEFORE_DECLARED:
                    whole = Span(items[begin].start, items[close].end)
                    self.functions.setdefault(name.text, []).append((Span(name.start, name.end), whole))
                index = close
            index += 1


def _read(path: Path) -> _File | None:
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return None
    return _read_version(path, changed)


@lru_cache(maxsize=32)
def _read_version(path: Path, changed: int) -> _File | None:
    """Read a version of a file, once."""
    try:
        return _File(SourceFile.read(path))
    except SourceError:
        return None


# ---- definitions


def definition(analysis: DocumentAnalysis, offset: int) -> tuple[FileSpan, ...]:
    """Return the declarations of the name at an offset.

    A variable of a formula is declared in the schema of ``name:``; an operator in native_functions.yaml and in the
    entry with its derivative; a helper in the headers. Bundled operators are in no file.
    """
    at = locate(analysis, offset)
    if isinstance(at, AtSchema):
        return _of_schema(analysis, at)
    if isinstance(at, AtEntryKey) and at.key.value == NAME:
        return _of_entry(analysis, at.entry)
    if isinstance(at, AtKey) and at.name is not None:
        part = _part_of_key(at.written, at.name.text)
        return _of_part(analysis, at.entry, part)
    if isinstance(at, AtFormula) and at.written is not None:
        return _of_formula(analysis, at, at.written)
    return ()


def _of_schema(analysis: DocumentAnalysis, at: AtSchema) -> tuple[FileSpan, ...]:
    natives = _of_entry(analysis, at.entry)
    span = at.part.name_span if isinstance(at.part, Argument) else None
    if span is None or at.schema is None:
        return natives
    places = []
    for place in natives:
        whole = place.whole
        if whole is not None and place.source.slice(whole) == at.schema.text:
            place = FileSpan(place.source, span.shift(whole.start), whole)
        places.append(place)
    return tuple(places)


def _of_entry(analysis: DocumentAnalysis, entry: Entry) -> tuple[FileSpan, ...]:
    return native_places(analysis, [entry.function.declared]) if entry.function is not None else ()


def native_places(analysis: DocumentAnalysis, natives: Iterable[NativeFunction]) -> tuple[FileSpan, ...]:
    """Return the entries of operators in native_functions.yaml; for a generated operator, that of its origin."""
    sources = {source.path: source for source in analysis.native_sources}
    places: dict[tuple[str, Span], FileSpan] = {}
    for native in natives:
        written = native.generated_from or native
        if written.source is None or written.source[0] not in sources:
            continue
        path, span = written.source
        name = str(written.name)
        start = sources[path].text.find(name, span.start, span.end)
        place = Span(start, start + len(name)) if start >= 0 else span
        places.setdefault((path, span), FileSpan(sources[path], place, span))
    return tuple(places.values())


def _of_part(analysis: DocumentAnalysis, entry: Entry, part: Argument | Return | None) -> tuple[FileSpan, ...]:
    schema = schema_of(entry)
    if part is None or schema is None or entry.name is None:
        return ()
    # the part belongs to the canonical function, but the entry may name another variant of it
    own: Argument | Return | None
    if isinstance(part, Argument):
        own = schema.arguments.by_name(part.name)
    else:
        function = entry.function
        index = return_index(function.schema, part) if function is not None else None
        own = schema.returns[index] if index is not None and index < len(schema.returns) else None
    span = part_span(entry, own) if own is not None else None
    return (FileSpan(analysis.source, span, entry.place(entry.name)),) if span is not None else ()


def _part_of_key(formula: DerivativeFormula, name: str) -> Argument | Return | None:
    function = formula.entry.function
    if function is None:
        return None
    resolved = function.resolve(name)
    if resolved.argument is not None:
        return resolved.argument.argument
    return function.schema.returns[resolved.output.index] if resolved.output is not None else None


def _of_formula(analysis: DocumentAnalysis, at: AtFormula, formula: DerivativeFormula) -> tuple[FileSpan, ...]:
    facts = FormulaFacts(analysis.model, formula)
    callee = callee_at(facts, at)
    if callee is not None:
        return _of_callee(analysis, callee)
    formula_variable = variable_at(at, formula)
    if formula_variable is None:
        from derivlint.lsp.features.rename import local_words

        words = local_words(at)
        return (FileSpan(analysis.source, formula.range(words[0].start, words[0].end)),) if words else ()
    part = formula_variable.part
    if formula_variable.name == GRAD_INPUT_MASK:
        # the index counts the names of the key
        return (FileSpan(analysis.source, formula.key_span),)
    if formula_variable.name == GRADS:
        part = _indexed_return(at, formula) or part
    return _of_part(analysis, formula.entry, part)


def _of_callee(analysis: DocumentAnalysis, callee: Callee) -> tuple[FileSpan, ...]:
    natives = operators_of(analysis.model, callee)
    places = list(native_places(analysis, natives))
    if not callee.is_method:
        places += function_places(analysis.headers, callee.name)
        bodies = analysis.model.natives.bodies
        if bodies is not None and bodies.is_shown:
            declared = {(place.source.path, place.span) for place in places}
            places += [
                FileSpan(bodies.source, body.name_span, body.span)
                for body in bodies.functions.get(callee.name, ())
                if (bodies.source.path, body.name_span) not in declared
            ]
    places += [
        FileSpan(analysis.source, entry.name_span, entry.span) for entry in entries_serving(analysis.model, natives)
    ]
    return tuple(places)


def variable_at(at: AtFormula, formula: DerivativeFormula) -> Variable | None:
    """Return the variable of the generated code whose name is at an offset of a formula, or None."""
    word = at.word
    return variable(formula, word.text) if word is not None and word.role == "variable" else None


def _indexed_return(at: AtFormula, formula: DerivativeFormula) -> Return | None:
    """Return the return whose gradient is ``grads[i]``."""
    function = formula.entry.function
    index = next((node for node in reversed(at.path) if isinstance(node, Index)), None)
    if index is None or function is None or formula.body.info is None or not isinstance(index.object, Name):
        return None
    number = whole_number(index.args[0].text) if len(index.args) == 1 and isinstance(index.args[0], Number) else None
    returns = function.schema.returns
    flags = formula.body.info.output_differentiability
    if flags is not None:
        returns = tuple(item for item, flag in zip(returns, flags, strict=False) if flag)
    return returns[number] if number is not None and number < len(returns) else None


# ---- references


def references(analysis: DocumentAnalysis, offset: int, *, include_declaration: bool = True) -> tuple[FileSpan, ...]:
    """Return the uses of the name at an offset.

    Variables are searched in their entry, operators and helpers in all formulas of the file.
    """
    at = locate(analysis, offset)
    places = {(analysis.source.path, span): FileSpan(analysis.source, span) for span in _uses(analysis, at)}
    declared = _declarations(analysis, at, offset)
    for place in declared:
        key = (place.source.path, place.span)
        if include_declaration:
            places.setdefault(key, FileSpan(place.source, place.span))
        else:
            places.pop(key, None)
    return tuple(sorted(places.values(), key=lambda place: (place.source is not analysis.source, place.span)))


def _declarations(analysis: DocumentAnalysis, at: Located | None, offset: int) -> tuple[FileSpan, ...]:
    """Return the declarations to exclude from references: those in the schema of an entry."""
    if isinstance(at, AtSchema) and at.part is not None:
        return (FileSpan(analysis.source, at.span),)
    return definition(analysis, offset)


def highlights(analysis: DocumentAnalysis, offset: int) -> tuple[Span, ...]:
    """Return the uses in the same entry."""
    at = locate(analysis, offset)
    if at is None or not hasattr(at, "entry"):
        return ()
    entry = at.entry.span
    places = references(analysis, offset)
    return tuple(p.span for p in places if p.source is analysis.source and entry.contains(p.span))


def _uses(analysis: DocumentAnalysis, at: Located | None) -> Iterator[Span]:
    if isinstance(at, AtFormula) and at.written is not None:
        callee = callee_at(FormulaFacts(analysis.model, at.written), at)
        if callee is not None:
            yield from _calls(analysis.model, without_symint(callee.name))
            return
        formula_variable = variable_at(at, at.written)
        if formula_variable is not None and formula_variable.part is None:
            yield from _words(at.written.entry, frozenset({formula_variable.name}))
        elif formula_variable is not None:
            yield from _part_uses(at.written.entry, formula_variable.part)
        else:
            from derivlint.lsp.features.rename import local_words

            yield from (at.written.range(word.start, word.end) for word in local_words(at))
    elif isinstance(at, AtKey) and at.name is not None:
        yield from _part_uses(at.entry, _part_of_key(at.written, at.name.text))
    elif isinstance(at, AtSchema) and at.part is not None:
        yield from _part_uses(at.entry, _canonical_part(at, at.part))
    elif isinstance(at, AtSchema | AtEntryKey) and at.entry.function is not None:
        yield at.entry.name_span
        yield from _calls(analysis.model, at.entry.function.canonical.name.name_without_overload)


def _canonical_part(at: AtSchema, part: Argument | Return) -> Argument | Return | None:
    """Return the part of the canonical schema that corresponds to a part of ``name:``."""
    function = at.entry.function
    if function is None or at.schema is None:
        return None
    if isinstance(part, Argument):
        return function.schema.arguments.by_name(part.name)
    index = return_index(at.schema, part)
    returns = function.schema.returns
    return returns[index] if index is not None and index < len(returns) else None


def _part_uses(entry: Entry, part: Argument | Return | None) -> Iterator[Span]:
    """Yield the uses of an argument or output in an entry, as value, primal, tangent or gradient."""
    function = entry.function
    if function is None or part is None:
        return
    for formula in entry.formulas:
        for name in formula.names:
            if _part_of_key(formula, name.text) is part:
                yield formula.name_span(name)
        if not formula.is_expression:
            continue
        for word in formula.parsed.words:
            if word.role != "variable":
                continue
            formula_variable = variable(formula, word.text)
            if formula_variable is not None and formula_variable.part is part:
                yield formula.span_of(word)


def _words(entry: Entry, names: frozenset[str]) -> Iterator[Span]:
    for formula in entry.formulas:
        if formula.is_expression:
            yield from (formula.span_of(w) for w in formula.parsed.words if w.text in names and w.role == "variable")


def _calls_by_name(model: Model) -> dict[str, list[tuple[DerivativeFormula, Word]]]:
    """Map each name that formulas may call, without ``_symint``, to the words that call it."""
    calls: dict[str, list[tuple[DerivativeFormula, Word]]] = {}
    for formula in (formula for entry in model.all_entries for formula in entry.formulas if formula.is_expression):
        text = formula.parsed.text
        for word in formula.parsed.words:
            if word.role in ("callee", "member") or (word.role == "qualified" and not text.startswith("::", word.end)):
                calls.setdefault(without_symint(word.text), []).append((formula, word))
    return calls


def _calls(model: Model, name: str) -> Iterator[Span]:
    return (formula.span_of(word) for formula, word in model.ask(_calls_by_name, model).get(name, ()))
