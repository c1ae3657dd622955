"""Inlay hints: the names of parameters in calls, and what a formula saves."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from derivlint.formula import Call, Expr, Name, walk
from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.lsp.features.facts import FormulaFacts
from derivlint.model import DerivativeFormula, Entry
from derivlint.model.generated.saved import without_repetition
from derivlint.source import Span


class InlayHint(Struct, frozen=True):
    """A text that an editor shows between the characters.

    Attributes:
        offset: where.
        label: the text.
        kind: a name of the protocol's ``InlayHintKind``.
        tooltip: more of it.
        before: whether a blank goes before it, else after it.
    """

    offset: int
    label: str
    kind: str
    tooltip: str = ""
    before: bool = False


def inlay_hints(analysis: DocumentAnalysis, span: Span) -> tuple[InlayHint, ...]:
    """The hints for the entries that have a part in a range, those in the range, in file order."""
    hints = []
    for entry in analysis.model.entries:
        if entry.span.end >= span.start and entry.span.start <= span.end:
            hints += [hint for hint in _hints(analysis, entry) if span.start <= hint.offset <= span.end]
    return tuple(sorted(hints, key=lambda hint: hint.offset))


def _hints(analysis: DocumentAnalysis, entry: Entry) -> Iterator[InlayHint]:
    for formula in entry.formulas:
        if formula.is_expression and formula.is_exact():
            yield from _parameters(FormulaFacts(analysis.model, formula), formula)
            yield from _saved(formula)


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
            if parameter.name and not _is_named_like(argument, parameter.name):
                offset = formula.range(argument.start, argument.end).start
                yield InlayHint(offset, f"{parameter.name}:", "Parameter", str(parameter))


def _is_named_like(argument: Expr, parameter: str) -> bool:
    """Whether an argument is called like its parameter."""
    return isinstance(argument, Name) and argument.simple == parameter


def _saved(formula: DerivativeFormula) -> Iterator[InlayHint]:
    derivative = formula.derivative
    if derivative is None:
        return
    saved = without_repetition([*derivative.saved_inputs, *derivative.saved_outputs])
    if saved:
        label = f"saves {', '.join(item.name for item in saved)}"
        tooltip = "\n".join(f"{item.type} {item.name} = {item.expr}" for item in saved)
        yield InlayHint(formula.value_span.end, label, "Type", tooltip, before=True)
