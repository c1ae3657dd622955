"""Semantic tokens inside formulas, and inlay hints: parameter names in calls, and saved variables."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from msgspec import Struct

from derivlint.cpp.library import library_of
from derivlint.cpp.lookup import EntityKind, qualified_entity
from derivlint.cpp.operator_signatures import without_symint
from derivlint.cpp.scope import BACKWARD_LEVELS, FORWARD_LEVELS, Scope
from derivlint.formula import Call, Name, tokens, walk
from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.lsp.features.facts import FormulaFacts, VariableKind, variable
from derivlint.model import DerivativeFormula, Entry, Model, Role
from derivlint.model.entry import Expression
from derivlint.model.generated.saved import without_repetition
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile, Span

#: The types of tokens, by the names of the protocol's ``SemanticTokenTypes``.
TYPES = (
    "namespace", "type", "parameter", "variable", "property", "function", "method", "keyword", "string", "number",
    "comment",
)  # fmt: skip
#: The modifiers: ``readonly`` for variables of the generated code, such as gradients, ``defaultLibrary`` for operators.
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
        span: its range.
        type: one of ``TYPES``.
        modifiers: some of ``MODIFIERS``.
    """

    span: Span
    type: str
    modifiers: tuple[str, ...] = ()


#: The tokens of entries by their text, with spans relative to its start; an edit changes few entries. Each set of
#: operators, on which the meaning of names depends, has its own.
_CACHES: WeakKeyDictionary[NativeFunctions, dict[str, tuple[SemanticToken, ...]]] = WeakKeyDictionary()
#: The maximum number of cached entries: a few large files with their edits.
_MAX_TEXTS = 8192


def _relative_tokens(model: Model, entry: Entry) -> tuple[SemanticToken, ...]:
    by_text = _CACHES.setdefault(model.natives, {})
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
    """Return the tokens of the formulas, in file order.

    Args:
        analysis: the file.
        span: a range; entries outside of it are skipped.
    """
    model = analysis.model
    result: list[SemanticToken] = []
    end = 0
    for entry in model.all_entries:
        if span is not None and (entry.span.end < span.start or entry.span.start > span.end):
            continue
        start = entry.span.start
        if start < end:
            # aliased formulas have been reported at their anchor
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
    """Yield the start of the last word of each qualified name, with its token type."""
    forward = expression.written is None or expression.written.role is Role.FORWARD
    scope = Scope({}, FORWARD_LEVELS if forward else BACKWARD_LEVELS, "")
    library = library_of(model.natives)
    tree = expression.parsed.tree
    for node in walk(tree) if tree is not None else ():
        if isinstance(node, Name) and len(node.parts) > 1:
            kind = _KINDS.get(qualified_entity(library, scope, node).kind)
            if kind is not None:
                part = node.parts[-1]
                is_operator = kind == "function" and model.natives.named(without_symint(part.identifier))
                yield part.start, (kind, ("defaultLibrary",) if is_operator else ())


_KINDS = {EntityKind.FUNCTION: "function", EntityKind.TYPE: "type", EntityKind.VARIABLE: "variable"}
_TOKENS = {"NUMBER": "number", "STRING": "string", "CHAR": "string", "COMMENT": "comment", "LINE_COMMENT": "comment"}


def _word(
    model: Model, formula: DerivativeFormula | None, text: str, role: str, *, is_last: bool, called: bool
) -> tuple[str, tuple[str, ...]]:
    """Return the type and modifiers of a word, or None."""
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
        # not an expression: the type of a lambda's parameter
        return "type", ()
    kind = "method" if role == "member" else "function"
    return kind, ("defaultLibrary",) if model.natives.named(without_symint(text)) else ()


def _split(source: SourceFile, span: Span, kind: str, modifiers: tuple[str, ...]) -> Iterator[SemanticToken]:
    """Split a token into its lines, without surrounding blanks."""
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


class InlayHint(Struct, frozen=True):
    """A text that editors show within the line.

    Attributes:
        offset: the offset of the hint.
        label: the text.
        kind: a name of the protocol's ``InlayHintKind``.
        tooltip: the details.
        before: whether a blank precedes it; else one follows it.
    """

    offset: int
    label: str
    kind: str
    tooltip: str = ""
    before: bool = False


def inlay_hints(analysis: DocumentAnalysis, span: Span) -> tuple[InlayHint, ...]:
    """Return the hints in a range, in file order."""
    hints: list[InlayHint] = []
    for entry in analysis.model.entries:
        if entry.span.end < span.start or entry.span.start > span.end:
            continue
        for formula in entry.formulas:
            if formula.is_expression and formula.is_exact():
                hints += [*_parameters(FormulaFacts(analysis.model, formula), formula), *_saved(formula)]
    return tuple(
        sorted((hint for hint in hints if span.start <= hint.offset <= span.end), key=lambda hint: hint.offset)
    )


def _parameters(facts: FormulaFacts, formula: DerivativeFormula) -> Iterator[InlayHint]:
    tree = formula.parsed.tree
    if tree is None:
        return
    for node in walk(tree):
        if not isinstance(node, Call) or len(node.args) < 2:
            continue
        callee = facts.callee(node)
        if callee is None:
            continue
        function = callee.chosen
        if function is None and len(callee.overloads) == 1:
            function = callee.overloads[0]
        if function is None:
            continue
        for parameter, argument in zip(function.parameters, node.args, strict=False):
            if parameter.name and not (isinstance(argument, Name) and argument.simple == parameter.name):
                offset = formula.range(argument.start, argument.end).start
                yield InlayHint(offset, f"{parameter.name}:", "Parameter", str(parameter))


def _saved(formula: DerivativeFormula) -> Iterator[InlayHint]:
    derivative = formula.derivative
    if derivative is None:
        return
    saved = without_repetition([*derivative.saved_inputs, *derivative.saved_outputs])
    if saved:
        label = f"saves {', '.join(item.name for item in saved)}"
        tooltip = "\n".join(f"{item.type} {item.name} = {item.expr}" for item in saved)
        yield InlayHint(formula.value_span.end, label, "Type", tooltip, before=True)
