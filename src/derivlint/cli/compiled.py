"""Compiler messages about emitted files, mapped to the YAML by :mod:`derivlint.emit.places`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from msgspec import Struct

from derivlint.compiler.diagnostics import COMPILER_ERROR, is_made_of
from derivlint.compiler.messages import parse_message
from derivlint.formula import tokens
from derivlint.lint import Confidence, Diagnostic, Severity
from derivlint.model import DerivativeFormula, Model
from derivlint.source import Span


class CompilerMessages(Struct, frozen=True):
    """Compiler messages about emitted files.

    Attributes:
        diagnostics: the messages about formulas, without duplicates.
        unplaced: errors elsewhere, verbatim.
    """

    diagnostics: list[Diagnostic]
    unplaced: list[str]


def messages_of(model: Model, outputs: Iterable[str]) -> CompilerMessages:
    """Parse the errors in a compiler's output.

    Args:
        model: the model that the files were emitted from.
        outputs: the compiler's output for each file.
    """
    source = model.source
    name = PurePath(source.path).name
    formulas = [formula for body in model.bodies() for formula in body.formulas]
    by_place: dict[int, tuple[Diagnostic, DerivativeFormula | None]] = {}
    unplaced: list[str] = []
    for output in outputs:
        for text in output.splitlines():
            message = parse_message(text)
            if message is None or message.error is None:
                continue
            row = message.line
            if PurePath(message.file).name != name or not 0 < row <= len(source.line_starts):
                unplaced.append(text)
                continue
            offset = source.line_starts[row - 1] + message.column - 1
            formula = next((item for item in formulas if item.value_span.start <= offset < item.value_span.end), None)
            diagnostic = _diagnostic(model, formula, offset, message.error)
            before = by_place.get(diagnostic.span.start)
            # other variants are generated from the same formula, sometimes with longer type names
            if before is None or len(diagnostic.message) < len(before[0].message):
                by_place[diagnostic.span.start] = (diagnostic, formula)
    refused = [formula for _, formula in by_place.values() if formula is not None]
    remaining = (item for item, formula in by_place.values() if formula is None or not is_made_of(formula, refused))
    return CompilerMessages(sorted(remaining), unplaced)


def _diagnostic(model: Model, formula: DerivativeFormula | None, offset: int, message: str) -> Diagnostic:
    span = Span(offset, offset + 1)
    if formula is not None:
        # the token at the offset, else the whole formula
        spans = (formula.span_of(token) for token in tokens(formula.parsed.text)) if formula.is_expression else ()
        span = next((span for span in spans if span.start <= offset < span.end), formula.value_span)
    return Diagnostic(
        path=model.source.path,
        span=span,
        rule=COMPILER_ERROR,
        message=f"the compiler rejects the code generated from this: {message}",
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        help=None,
        entry=formula.entry.operator if formula is not None else None,
        dispatch=formula.body.key if formula is not None else None,
        key=formula.key_text if formula is not None else None,
    )
