"""Compiler errors as diagnostics at the spans of formulas."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from derivlint.compiler.gxx import Toolchain
from derivlint.compiler.judge import CompilerRefusal, refusals
from derivlint.lint import Confidence, Diagnostic, Severity
from derivlint.model import DerivativeFormula, Model
from derivlint.model.generated.evaluation import Origin
from derivlint.model.generated.typing import is_checkable
from derivlint.source import Span

#: The rule name of compiler findings.
COMPILER_ERROR = "compiler-error"


def compiler_diagnostics(
    model: Model,
    toolchain: Toolchain,
    reported: Collection[tuple[str | None, str | None, str | None]],
    *,
    includes: Sequence[Path] = (),
    progress: Callable[[str], None] = lambda message: None,
) -> list[Diagnostic]:
    """Compile the formulas; yields one diagnostic for each compiler error in a formula.

    Args:
        model: the model.
        toolchain: the compiler and the headers.
        reported: the entries, dispatch keys and keys of formulas with errors already.
        includes: headers of the user.
        progress: called with the current step.

    Raises:
        CompilerError: the compiler fails.
    """
    evaluations = [
        evaluation
        for entry in model.entries
        for evaluation in model.evaluations(entry)
        if is_checkable(evaluation.written)
    ]
    first: dict[DerivativeFormula, CompilerRefusal] = {}
    for refusal in refusals(toolchain, evaluations, includes=includes, progress=progress):
        formula = refusal.evaluation.written
        earlier = first.get(formula)
        if earlier is None or (
            earlier.evaluation.origin is not Origin.YAML and refusal.evaluation.origin is Origin.YAML
        ):
            first[formula] = refusal
    diagnostics = [_diagnostic(model, refusal) for formula, refusal in first.items() if not is_made_of(formula, first)]
    return sorted(item for item in diagnostics if (item.entry, item.dispatch, item.key) not in reported)


def is_made_of(formula: DerivativeFormula, refused: Collection[DerivativeFormula]) -> bool:
    """Whether a formula is automatic and derived from one with an error."""
    return formula.auto is not None and any(
        source in refused for source in formula.body.formulas if source.auto is None
    )


def _diagnostic(model: Model, refusal: CompilerRefusal) -> Diagnostic:
    evaluation = refusal.evaluation
    formula = evaluation.written
    message = f"the compiler rejects this formula: {refusal.message}"
    if evaluation.origin is not Origin.YAML:
        message = f'the compiler rejects this formula as rewritten for "{evaluation.function.name}": {refusal.message}'
    return Diagnostic(
        path=model.source.path,
        span=_place(refusal),
        rule=COMPILER_ERROR,
        message=message,
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        help=None,
        entry=formula.entry.operator,
        dispatch=formula.body.key,
        key=formula.key_text,
    )


def _place(refusal: CompilerRefusal) -> Span:
    """The word at the compiler's position, or the whole formula."""
    formula, offset = refusal.evaluation.written, refusal.offset
    if offset is None:
        return formula.value_span
    text = refusal.evaluation.text
    end = offset
    while end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    written = refusal.evaluation.written_range(offset, max(end, min(offset + 1, len(text))))
    return formula.range(*written) if written is not None else formula.value_span
