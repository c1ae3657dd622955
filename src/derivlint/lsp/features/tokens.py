"""Semantic tokens inside formulas."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from msgspec import Struct

from derivlint.cpp.library import library_of
from derivlint.cpp.lookup import EntityKind, qualified_entity
from derivlint.cpp.scope import BACKWARD_LEVELS, FORWARD_LEVELS, Scope
from derivlint.formula import Name, tokens, walk
from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.lsp.features.facts import operator_name
from derivlint.lsp.features.variables import VariableKind, variable
from derivlint.model import DerivativeFormula, Entry, Model, Role
from derivlint.model.entry import Expression
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile, Span

#: The types of tokens, by the names of the protocol's ``SemanticTokenTypes``.
TYPES = (
    "namespace", "type", "parameter", "variable", "property", "function", "method", "keyword", "string", "number",
    "comment",
)  # fmt: skip
#: The modifiers: ``readonly`` for what the generated code makes, such as gradients, ``defaultLibrary`` for operators.
MODIFIERS = ("declaration", "readonly", "defaultLibrary")

_WORDS = {"true", "false", "nullptr", "this"}
_VARIABLES = {
    VariableKind.ARGUMENT: ("parameter", ()),
    VariableKind.OUTPUT: ("variable", ()),
    VariableKind.GRADIENT: ("variable", ("readonly",)),
    VariableKind.GRADIENTS: ("variable", ("readonly",)),
    VariableKind.PRIMAL: ("parameter", ("readonly",)),
    VariableKind.TANGENT: ("parameter", ("readonly",)),
    VariableKind.GENERATED: ("variable", ("readonly",)),
}


class SemanticToken(Struct, frozen=True):
    """A token of a formula, on one line.

    Attributes:
        span: its place.
        type: one of ``TYPES``.
        modifiers: some of ``MODIFIERS``.
    """

    span: Span
    type: str
    modifiers: tuple[str, ...] = ()


class _TokenCache:
    """The tokens of entries by their text: an edit changes few of them.

    Attributes:
        by_text: the tokens of an entry of this text, with spans from its first character.
    """

    def __init__(self) -> None:
        self.by_text: dict[str, tuple[SemanticToken, ...]] = {}


#: The caches by operators, since the meaning of names in an entry depends on them.
_CACHES: WeakKeyDictionary[NativeFunctions, _TokenCache] = WeakKeyDictionary()
#: The number of cached texts of entries: those of a few large files with their edits.
_MAX_TEXTS = 8192


def _relative_tokens(model: Model, entry: Entry) -> tuple[SemanticToken, ...]:
    by_text = _CACHES.setdefault(model.natives, _TokenCache()).by_text
    text = model.source.slice(entry.span)
    relative = by_text.get(text)
    if relative is None:
        if len(by_text) >= _MAX_TEXTS:
            by_text.clear()
        start = entry.span.start
        tokens = sorted(_entry_tokens(model, entry), key=lambda token: token.span)
        relative = by_text[text] = tuple(
            SemanticToken(token.span.shift(-start), token.type, token.modifiers) for token in tokens
        )
    return relative


def semantic_tokens(analysis: DocumentAnalysis, span: Span | None = None) -> tuple[SemanticToken, ...]:
    """The tokens of the formulas, in file order.

    Args:
        analysis: the file.
        span: a range; only the entries that have a part in it are looked at.
    """
    model = analysis.model
    result: list[SemanticToken] = []
    end = 0
    for entry in model.all_entries:
        if span is not None and (entry.span.end < span.start or entry.span.start > span.end):
            continue
        start = entry.span.start
        if start < end:
            # what an alias repeats has been reported
            continue
        result += [
            SemanticToken(token.span.shift(start), token.type, token.modifiers)
            for token in _relative_tokens(model, entry)
        ]
        end = entry.span.end
    return tuple(result)


def _entry_tokens(model: Model, entry: Entry) -> Iterator[SemanticToken]:
    source = model.source
    for formula in entry.formulas:
        if formula.text is not None and not formula.is_expression and formula.is_exact():
            yield from _split(source, formula.value_span, "keyword", ())
    for expression in entry.expressions:
        if expression.is_exact():
            yield from _expression_tokens(model, source, expression)


def _expression_tokens(model: Model, source: SourceFile, expression: Expression) -> Iterator[SemanticToken]:
    formula = expression.parsed
    for token in tokens(formula.text):
        kind = _TOKENS.get(token.type)
        if kind is not None:
            yield from _split(source, expression.range(token.start, token.end), kind, ())
    qualified: dict[int, tuple[str, tuple[str, ...]]] | None = None
    for word in formula.words:
        if word.role in ("string", "comment"):
            continue
        if word.role == "qualified" and qualified is None:
            qualified = dict(_qualified(model, expression))
        if qualified is not None and word.start in qualified:
            kind, modifiers = qualified[word.start]
        else:
            is_last = not formula.text.startswith("::", word.end)
            called = formula.text.startswith("(", word.end)
            kind, modifiers = _word(model, expression.written, word.text, word.role, is_last=is_last, called=called)
        yield from _split(source, expression.range(word.start, word.end), kind, modifiers)


def _qualified(model: Model, expression: Expression) -> Iterator[tuple[int, tuple[str, tuple[str, ...]]]]:
    """Yield the start of the last word of each qualified name with the kind of its entity."""
    forward = expression.written is None or expression.written.role is Role.FORWARD
    scope = Scope({}, FORWARD_LEVELS if forward else BACKWARD_LEVELS, "")
    library = library_of(model.natives)
    tree = expression.parsed.tree
    for node in walk(tree) if tree is not None else ():
        if isinstance(node, Name) and len(node.parts) > 1:
            kind = _KINDS.get(qualified_entity(library, scope, node).kind)
            if kind is not None:
                part = node.parts[-1]
                is_operator = kind == "function" and model.natives.named(operator_name(part.identifier))
                yield part.start, (kind, ("defaultLibrary",) if is_operator else ())


_KINDS = {EntityKind.FUNCTION: "function", EntityKind.TYPE: "type", EntityKind.VARIABLE: "variable"}
_TOKENS = {"NUMBER": "number", "STRING": "string", "CHAR": "string", "COMMENT": "comment", "LINE_COMMENT": "comment"}


def _word(
    model: Model, formula: DerivativeFormula | None, text: str, role: str, *, is_last: bool, called: bool
) -> tuple[str, tuple[str, ...]]:
    """The type and modifiers of a word."""
    if role == "keyword" or text in _WORDS:
        return "keyword", ()
    if role == "variable":
        formula_variable = variable(formula, text) if formula is not None else None
        return _VARIABLES[formula_variable.kind] if formula_variable is not None else ("variable", ())
    if role == "lambda":
        return "variable", ("declaration",)
    if role == "type":
        return "type", ()
    if role == "qualified" and not is_last:
        return "namespace", ()
    if role == "member" and not called:
        return "property", ()
    if role == "qualified" and not called:
        # no expression has it: the type of a lambda's parameter
        return "type", ()
    kind = "method" if role == "member" else "function"
    return kind, ("defaultLibrary",) if model.natives.named(operator_name(text)) else ()


def _split(source: SourceFile, span: Span, kind: str, modifiers: tuple[str, ...]) -> Iterator[SemanticToken]:
    """A token, line by line without the blanks at either end."""
    text = source.slice(span)
    if "\n" not in text and "\r" not in text:
        yield SemanticToken(span, kind, modifiers)
        return
    offset = span.start
    for line in text.splitlines(keepends=True):
        stripped = line.strip()
        if stripped:
            start = offset + len(line) - len(line.lstrip())
            yield SemanticToken(Span(start, start + len(stripped)), kind, modifiers)
        offset += len(line)
