"""The draft of an entry: a model of the item being written, for the names in scope of its formula."""

from __future__ import annotations

from msgspec import Struct

from derivlint.cpp.cpp_type import CppType
from derivlint.cpp.library import Library
from derivlint.cpp.scope import Scope
from derivlint.formula import Token, tokens
from derivlint.formula.parsing.angles import mark_angles
from derivlint.formula.vocabulary import TRIVIA
from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.lsp.features.completions.context import CompletionContext, DraftPair, decoded
from derivlint.lsp.features.facts import FormulaFacts
from derivlint.model import DerivativeFormula, Entry, Model, build_model
from derivlint.model.keys import NAME, OUTPUT_DIFFERENTIABILITY
from derivlint.model.resolve import EntryFunction
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

_OPENING = {"RPAR": "LPAR", "RSQB": "LSQB", "RBRACE": "LBRACE", "TEMPLATE_CLOSE": "TEMPLATE_OPEN"}
_NAMES = frozenset({"IDENT"})
_JOINTS = frozenset({"ACCESS", "SCOPE"})


class Draft(Struct, frozen=True):
    """An entry being written, with a valid formula under the key at the cursor.

    Attributes:
        entry: the entry.
        written: the formula.
        facts: the types and functions in it.
    """

    entry: Entry
    written: DerivativeFormula
    facts: FormulaFacts

    @property
    def library(self) -> Library:
        """The declarations that formulas can name."""
        return self.facts.library

    @property
    def scope(self) -> Scope:
        """The scope of the formula."""
        return self.facts.scope


def draft_of(analysis: DocumentAnalysis, context: CompletionContext, formula: str) -> Draft | None:
    """Return the draft with a formula in place of the one at the cursor, or None if the entry has no function."""
    pair = context.pair
    if pair is None:
        return None
    model = _model(analysis.natives, context, formula, whole=True)
    source_formula = _line(model, pair)
    if source_formula is None:
        model = _model(analysis.natives, context, formula, whole=False)
        source_formula = _line(model, pair)
    if source_formula is None or source_formula.entry.function is None:
        return None
    return Draft(source_formula.entry, source_formula, FormulaFacts(model, source_formula))


def function_being_written(analysis: DocumentAnalysis, context: CompletionContext) -> EntryFunction | None:
    """Return the function of the entry being written, or None."""
    text = f"- name: {_quoted(context.schema)}\n"
    entries = build_model(SourceFile(analysis.source.path, text), analysis.natives).entries
    return entries[0].function if entries else None


def _model(natives: NativeFunctions, context: CompletionContext, formula: str, *, whole: bool) -> Model:
    """Build the model of the item alone; if not ``whole``, with the key at the cursor only."""
    pair = context.pair
    assert pair is not None
    lines = [f"- name: {_quoted(context.schema)}"]
    for sibling in context.pairs:
        if sibling is not pair and not whole:
            continue
        raw = context.text[sibling.value.start : sibling.value.end]
        if sibling.key == OUTPUT_DIFFERENTIABILITY and not sibling.path and sibling is not pair:
            lines.append(f"  {sibling.key}: {raw.strip().partition(chr(10))[0].strip()}")
        elif sibling.is_formula and sibling.path == pair.path and sibling.key != NAME:
            # formulas of other dispatch keys do not matter
            value = formula if sibling is pair else decoded(raw)
            lines.append(f"  {_quoted(sibling.key)}: {_quoted(value)}")
    return build_model(SourceFile("", "\n".join(lines) + "\n"), natives)


def _line(model: Model, pair: DraftPair) -> DerivativeFormula | None:
    formulas = [formula for entry in model.entries for formula in entry.formulas]
    return next((formula for formula in formulas if formula.key_text == pair.key), None)


def _quoted(text: str) -> str:
    """Format a text as a quoted YAML scalar."""
    inside = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(char if char.isprintable() else " " for char in inside) + '"'


# ---- the formula up to the cursor


class Fragment(Struct, frozen=True):
    """The end of an incomplete formula.

    Attributes:
        prefix: the beginning of a word, possibly empty.
        joint: ``.``, ``->`` or ``::`` before it, or empty.
        owner: the expression or the namespace before the joint.
        tokens: the tokens without blanks.
    """

    prefix: str
    joint: str
    owner: str
    tokens: tuple[Token, ...]


def fragment(text: str) -> Fragment | None:
    """Return the end of a formula, or None inside strings, comments and numbers."""
    everything = tokens(text)
    if everything and everything[-1].type in ("UNCLOSED_STRING", "UNCLOSED_COMMENT", "LINE_COMMENT", "NUMBER"):
        return None
    significant = mark_angles([token for token in everything if token.type not in TRIVIA])
    ahead = list(significant)
    prefix = ""
    if ahead and ahead[-1].end == len(text) and (ahead[-1].type == "IDENT" or ahead[-1].text.isidentifier()):
        prefix = ahead.pop().text
    if not ahead or ahead[-1].type not in _JOINTS:
        return Fragment(prefix, "", "", tuple(ahead))
    joint = ahead.pop()
    if joint.type == "SCOPE":
        first = len(ahead)
        while first and ahead[first - 1].type == ("IDENT" if (len(ahead) - first) % 2 == 0 else "SCOPE"):
            first -= 1
        owner = "".join(token.text for token in ahead[first:])
        return Fragment(prefix, joint.text, owner.removeprefix("::"), tuple(ahead))
    start = _operand(ahead)
    owner = text[ahead[start].start : ahead[-1].end] if start < len(ahead) else ""
    return Fragment(prefix, joint.text, owner, tuple(ahead))


def _operand(items: list[Token]) -> int:
    """Return the index where the trailing postfix expression begins: ``f(x).y[0]`` of ``1 + f(x).y[0]``."""
    index = len(items)
    while index:
        last = items[index - 1]
        if last.type in _OPENING:
            index = _opening(items, index - 1)
            if not index or items[index - 1].type not in (*_NAMES, *_OPENING):
                return index
        elif last.type in _NAMES or last.type in ("NUMBER", "STRING"):
            index -= 1
            if not index or items[index - 1].type not in _JOINTS:
                return index
            index -= 1
        else:
            return index
    return index


def _opening(items: list[Token], closing: int) -> int:
    """Return the index of the bracket that a closing one matches."""
    depth = 0
    for index in range(closing, -1, -1):
        if items[index].type in _OPENING:
            depth += 1
        elif items[index].type in _OPENING.values():
            depth -= 1
            if depth == 0:
                return index
    return closing


class OpenCall(Struct, frozen=True):
    """A call whose arguments are being written.

    Attributes:
        callee: the text of the called expression.
        argument: the index of the argument.
        name: the last word of the callee.
    """

    callee: str
    argument: int
    name: str


def open_call(text: str) -> OpenCall | None:
    """Return the innermost open call at the end of a formula, or None."""
    items = mark_angles([token for token in tokens(text) if token.type not in TRIVIA])
    depth = commas = 0
    for index in range(len(items) - 1, -1, -1):
        kind = items[index].type
        if kind in _OPENING:
            depth += 1
        elif kind in _OPENING.values():
            if depth:
                depth -= 1
                continue
            if kind == "LPAR" and index:
                start = _operand(items[:index])
                if start < index and items[index - 1].type in ("IDENT", "TEMPLATE_CLOSE"):
                    if start and items[start - 1].type == "SCOPE":
                        start -= 1
                    name = next(token.text for token in reversed(items[:index]) if token.type == "IDENT")
                    return OpenCall(text[items[start].start : items[index - 1].end], commas, name)
            # a braced list, a subscript or parentheses: continue with the enclosing call
            commas = 0
        elif kind == "COMMA" and not depth:
            commas += 1
    return None


def type_of(analysis: DocumentAnalysis, context: CompletionContext, expression: str) -> CppType | None:
    """Return the C++ type of an expression in the draft, or None if it is unknown."""
    draft = draft_of(analysis, context, expression)
    if draft is None or draft.written.parsed.tree is None:
        return None
    return draft.facts.type_of(draft.written.parsed.tree)
