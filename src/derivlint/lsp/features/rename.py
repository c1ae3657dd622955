"""Rename of lambda parameters; other names in an entry belong to schemas, headers and the generated code."""

from __future__ import annotations

from msgspec import Struct

from derivlint.cpp.operator_signatures import without_symint
from derivlint.formula import Lambda, Node, Word, walk
from derivlint.formula.vocabulary import SPECIAL_WORDS
from derivlint.lint import TextEdit
from derivlint.lint.edits import formula_edit
from derivlint.lint.wording import quoted
from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.lsp.features.facts import FormulaFacts, VariableKind, variable
from derivlint.lsp.features.hover import callee_at
from derivlint.lsp.features.locate import AtFormula, AtKey, AtSchema, AtSuppression, Located, locate
from derivlint.model import DerivativeFormula
from derivlint.source import Span


class Refusal(Struct, frozen=True):
    """The reason why a name cannot be renamed."""

    reason: str


def prepare_rename(analysis: DocumentAnalysis, offset: int) -> Span | Refusal:
    """Return the range of the name to rename at an offset, or a refusal."""
    at = locate(analysis, offset)
    if isinstance(at, AtFormula) and at.word is not None and local_words(at):
        return at.span
    return Refusal(_reason(analysis, at))


def rename(analysis: DocumentAnalysis, offset: int, name: str) -> tuple[TextEdit, ...] | Refusal:
    """Return the edits that rename the name at an offset, or a refusal."""
    at = locate(analysis, offset)
    words = local_words(at) if isinstance(at, AtFormula) else ()
    if not isinstance(at, AtFormula) or at.written is None or not words:
        return Refusal(_reason(analysis, at))
    if not (name.isascii() and name.isidentifier()) or name in SPECIAL_WORDS:
        return Refusal(f"{quoted(name)} is not a name in C++")
    if name != words[0].text and any(word.text == name for word in at.formula.words):
        return Refusal(f"{quoted(name)} is used in the formula already")
    edits_of_words = [formula_edit(at.written, word.start, word.end, name) for word in words]
    edits = tuple(edit for edit in edits_of_words if edit is not None)
    if len(edits) != len(edits_of_words):
        return Refusal("the formula's YAML cannot be edited in place")
    return edits


def local_words(at: AtFormula) -> tuple[Word, ...]:
    """Return the lambda parameter at an offset and its uses; empty for any other name."""
    word, formula = at.word, at.written
    if word is None or word.role != "lambda" or formula is None or at.formula.tree is None:
        return ()
    lambdas = [
        node
        for node in walk(at.formula.tree)
        if isinstance(node, Lambda) and any(param.name == word.text for param in node.params)
    ]
    owner = next((node for node in reversed(lambdas) if node.start <= word.start < node.end), None)
    if owner is None:
        return ()
    inner = [node for node in lambdas if node is not owner and owner.start <= node.start and node.end <= owner.end]
    return tuple(
        item
        for item in at.formula.words
        if item.text == word.text
        and item.role == "lambda"
        and _holds(owner, item)
        and not any(_holds(node, item) for node in inner)
    )


def _holds(node: Node, word: Word) -> bool:
    return node.start <= word.start < node.end


# ---- why not


def _reason(analysis: DocumentAnalysis, at: Located | None) -> str:
    if isinstance(at, AtFormula) and at.written is not None and at.word is not None:
        return _in_formula(analysis, at, at.written, at.word)
    if isinstance(at, AtKey) and at.name is not None:
        return _of_schema(at.name.text)
    if isinstance(at, AtSchema):
        name = at.part.name if at.part is not None else at.entry.operator
        return _of_schema(name or "the schema")
    if isinstance(at, AtSuppression):
        return "rules keep their names"
    return "nothing here can be renamed"


def _of_schema(name: str) -> str:
    return f"{quoted(name)} belongs to the schema in native_functions.yaml"


def _in_formula(analysis: DocumentAnalysis, at: AtFormula, formula: DerivativeFormula, word: Word) -> str:
    callee = callee_at(FormulaFacts(analysis.model, formula), at)
    if callee is not None:
        if analysis.natives.named(without_symint(callee.name)):
            return f"{quoted(callee.name)} is an operator of native_functions.yaml"
        return f"{quoted(callee.name)} is declared in C++"
    formula_variable = variable(formula, word.text) if word.role == "variable" else None
    if formula_variable is None:
        return f"{quoted(word.text)} is declared in C++"
    if formula_variable.kind in (VariableKind.ARGUMENT, VariableKind.PRIMAL, VariableKind.TANGENT):
        return _of_schema(formula_variable.part.name or word.text if formula_variable.part is not None else word.text)
    if (
        formula_variable.kind is VariableKind.OUTPUT
        and formula_variable.part is not None
        and formula_variable.part.name is not None
    ):
        return _of_schema(formula_variable.part.name)
    return f"{quoted(word.text)} is named by the generated code"
