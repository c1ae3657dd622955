"""Hover texts."""

from __future__ import annotations

from msgspec import Struct

from derivlint.analysis.interpretation.degree import Degree
from derivlint.formula import Call, Expr, Member, Name
from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.lsp.features import describe
from derivlint.lsp.features.describe import code, names, paragraphs
from derivlint.lsp.features.facts import Callee, FormulaFacts, Variable, VariableKind, variable
from derivlint.lsp.features.locate import (
    AtDispatchKey,
    AtEntry,
    AtEntryKey,
    AtFormula,
    AtKey,
    AtKeyword,
    AtSchema,
    AtSuppression,
    locate,
    return_index,
)
from derivlint.model import DerivativeFormula, Entry, Model, Role
from derivlint.model.keys import ENTRY_KEYS, NAME
from derivlint.schema import Argument
from derivlint.source import Span

_DEGREES = {
    Degree.ZERO: "zero",
    Degree.CONSTANT: "without {what}",
    Degree.LINEAR: "linear in the {what}",
    Degree.AFFINE: "affine in the {what}: a term has none",
    Degree.NONLINEAR: "not linear in the {what}",
}
#: The maximum length of a quoted expression.
_LONG = 120


class Hover(Struct, frozen=True):
    """The hover text for an offset.

    Attributes:
        markdown: the text.
        span: the range that editors highlight.
    """

    markdown: str
    span: Span


def hover(analysis: DocumentAnalysis, offset: int) -> Hover | None:
    """Return the hover text for an offset, or None."""
    at = locate(analysis, offset)
    text = ""
    model = analysis.model
    if isinstance(at, AtFormula):
        text = _formula(analysis, at)
    elif isinstance(at, AtKeyword):
        text = describe.formula_text(model, at.written)
    elif isinstance(at, AtKey):
        text = _key(analysis, at)
    elif isinstance(at, AtSchema):
        text = _schema(analysis, at)
    elif isinstance(at, AtDispatchKey):
        lines = ", ".join(f"`{formula.key_text}`" for formula in at.body.formulas)
        text = paragraphs([f"dispatch key `{at.body.key}` with formulas for {lines or 'nothing'}", _node(model, at)])
    elif isinstance(at, AtEntryKey):
        about = ENTRY_KEYS.get(at.key.value)
        is_name = at.key.value == NAME
        text = paragraphs([about, describe.entry_text(model, at.entry) if is_name else None, _outputs(at)])
    elif isinstance(at, AtSuppression):
        text = _suppression(at)
    elif isinstance(at, AtEntry):
        return None
    return Hover(text, at.span) if at is not None and text else None


def _node(model: Model, at: AtDispatchKey) -> str | None:
    op = model.node_name(at.body.info) if at.body.info is not None else None
    return f"autograd node: `{op}`" if op is not None else None


def _outputs(at: AtEntryKey) -> str | None:
    declared, function = at.entry.output_differentiability, at.entry.function
    if declared is None or at.key is not declared.key or function is None:
        return None
    if declared.conditions is not None:
        return f"differentiable where `{declared.conditions[0]}`"
    flags = declared.values or ()
    shown = [
        f"- `{output.name}`: {'differentiable' if flag else 'not differentiable'}"
        for output, flag in zip(function.outputs, flags, strict=False)
    ]
    return "\n".join(shown)


def _suppression(at: AtSuppression) -> str:
    if at.name is None:
        return "silences findings of the named rules; the text after the brackets is the reason"
    from derivlint.formats.rule_page import rule_page
    from derivlint.formats.text import rule_url
    from derivlint.rules import NAMES, RENAMED, load_rule

    name = RENAMED.get(at.name.text, at.name.text)
    if name not in NAMES:
        return f"no rule is called `{at.name.text}`"
    # the messages of its cases are on the page only
    page, _, _ = rule_page(load_rule(name)).partition("\n## Messages")
    return paragraphs([page.rstrip(), f"[documentation]({rule_url(name)})"])


# ---- keys and schemas


def _key(analysis: DocumentAnalysis, at: AtKey) -> str:
    about = None
    if at.name is not None:
        formula_variable = _named_by_key(at.written, at.name.text)
        about = formula_variable.about if formula_variable is not None else None
        about = f"`{at.name.text}`: {about}" if about is not None else None
    return paragraphs([about, describe.formula_text(analysis.model, at.written)])


def _named_by_key(formula: DerivativeFormula, name: str) -> Variable | None:
    formula_variable = variable(formula, name)
    if formula_variable is not None:
        return formula_variable
    function = formula.entry.function
    output = function.resolve(name).output if function is not None else None
    return variable(formula, output.name) if output is not None else None


def _schema(analysis: DocumentAnalysis, at: AtSchema) -> str:
    entry = at.entry
    if at.part is None or entry.function is None:
        return describe.entry_text(analysis.model, entry)
    function = entry.function
    if isinstance(at.part, Argument):
        name = at.part.name
        binding = function.argument(name)
        cpp = f"C++ type `{binding.cpp_type}`" if binding is not None else None
        return paragraphs([code(str(at.part), "text"), cpp, _argument_use(entry, name)])
    index = return_index(at.schema, at.part) if at.schema is not None else None
    output = function.outputs[index] if index is not None and index < len(function.outputs) else None
    if output is None:
        return code(str(at.part), "text")
    tangents = [
        formula for formula in entry.formulas if formula.role is Role.FORWARD and output.key_name in _key_names(formula)
    ]
    forward = f"tangent: {_formulas(tangents)}" if tangents else "no forward formula"
    return paragraphs([code(str(at.part), "text"), f"output {index}, `{output.name}` in formulas", forward])


def _key_names(formula: DerivativeFormula) -> list[str]:
    return [name.text for name in formula.names]


def _argument_use(entry: Entry, name: str) -> str:
    """Describe the derivatives of an argument and the formulas that save it."""
    own = [formula for formula in entry.formulas if name in _key_names(formula) and formula.role is not Role.FORWARD]
    if any(formula.role is Role.NON_DIFFERENTIABLE for formula in own):
        gradient = "declared non-differentiable"
    elif own:
        gradient = f"gradient: {_formulas(own)}"
    else:
        gradient = "no gradient"
    saved = [
        f"{describe.saved_line(item)}, for {names(_key_names(formula))}"
        for formula in entry.formulas
        if formula.derivative is not None
        for item in formula.derivative.saved_inputs
        if item.name == name or _mentions(item.expr, name)
    ]
    return paragraphs([gradient, "\n".join(["saved as:", *dict.fromkeys(saved)]) if saved else None])


def _mentions(expression: str, name: str) -> bool:
    from derivlint.formula import parse_formula

    return any(word.text == name and word.role == "variable" for word in parse_formula(expression).words)


def _formulas(formulas: list[DerivativeFormula]) -> str:
    return "; ".join(f"`{_short(formula.text or '')}`" for formula in formulas)


def _short(text: str) -> str:
    joined = " ".join(text.split())
    return joined if len(joined) <= _LONG else f"{joined[:_LONG]}…"


# ---- formulas


def _formula(analysis: DocumentAnalysis, at: AtFormula) -> str:
    formula = at.written
    if formula is None:
        return "C++ condition, evaluated in the kernel: the output is differentiable where it holds"
    facts = FormulaFacts(analysis.model, formula)
    callee = callee_at(facts, at)
    if callee is not None:
        calls = (node for node in reversed(at.expressions) if isinstance(node, Call) and node.callee is callee.node)
        call = next(calls, callee.node)
        return paragraphs([describe.callee_text(facts, callee), _value(facts, call, f"`{callee.name}(…)`")])
    node = at.expressions[-1] if at.expressions else None
    if at.word is not None:
        description = _word(facts, at, node)
        if description:
            return description
    if node is not None:
        text = _short(formula.parsed.text[node.start : node.end])
        return paragraphs([_value(facts, node, f"`{text}`"), describe.formula_text(analysis.model, formula)])
    return describe.formula_text(analysis.model, formula)


def callee_at(facts: FormulaFacts, at: AtFormula) -> Callee | None:
    """Return the called function whose name is at an offset of a formula, or None."""
    for node in reversed(at.expressions):
        if isinstance(node, Call):
            callee = facts.callee(node)
            if callee is not None and callee.start <= at.index <= callee.end:
                is_variable = isinstance(callee.node, Name) and callee.name in facts.scope.variables
                return None if is_variable else callee
    return None


def _value(facts: FormulaFacts, node: Expr, shown: str) -> str | None:
    """Describe the type and the degree of an expression."""
    type = facts.type_of(node)
    degree = facts.degree_of(node)
    parts = [f"is a `{type}`"] if type is not None else []
    if degree is not None:
        seeds = "gradients" if facts.written.role is Role.BACKWARD else "tangents"
        parts.append(_DEGREES[degree].format(what=seeds))
    return f"{shown} {', '.join(parts)}" if parts else None


def _word(facts: FormulaFacts, at: AtFormula, node: Expr | None) -> str | None:
    word = at.word
    assert word is not None
    if word.role == "lambda":
        return f"`{word.text}`: local to the lambda"
    if isinstance(node, Member) and node.name_start <= at.index <= node.name_end:
        owner = facts.type_of(node.object)
        of = f" of `{owner}`" if owner is not None else ""
        return paragraphs([f"member `{node.name}`{of}", describe.signatures_text(facts.methods(node))])
    if word.role not in ("variable", "callee", "qualified", "type"):
        return None
    if isinstance(node, Name) and node.simple is not None:
        formula_variable = variable(facts.written, node.simple)
        if formula_variable is not None:
            return _variable(facts, node, formula_variable)
    if isinstance(node, Name):
        return _named(facts, node)
    return f"`{word.text}`"


def _variable(facts: FormulaFacts, node: Name, formula_variable: Variable) -> str:
    declared = facts.variables.get(formula_variable.name) or facts.type_of(node)
    shown = code(f"{declared} {formula_variable.name}") if declared is not None else code(formula_variable.name)
    return paragraphs([shown, formula_variable.about, _saving(facts.written, formula_variable)])


def _saving(formula: DerivativeFormula, formula_variable: Variable) -> str | None:
    """Describe the saved variables that hold an argument or output, for a backward formula."""
    derivative = formula.derivative
    if derivative is None or formula_variable.kind not in (VariableKind.ARGUMENT, VariableKind.OUTPUT):
        return None
    saved = [
        item
        for item in (*derivative.saved_inputs, *derivative.saved_outputs)
        if item.name == formula_variable.name or _mentions(item.expr, formula_variable.name)
    ]
    return "\n".join(["saved as:", *map(describe.saved_line, saved)]) if saved else None


def _named(facts: FormulaFacts, node: Name) -> str:
    entity = facts.entity(node)
    if entity.functions.functions:
        function = Callee(
            node.parts[-1].identifier, node, node.start, node.end, False, None, entity.functions.functions
        )
        return describe.callee_text(facts, function)
    if entity.type is not None:
        return code(f"{entity.type} {node.spelling}" if entity.type.text != node.spelling else node.spelling)
    return paragraphs([code(node.spelling), _value(facts, node, f"`{node.spelling}`")])
