"""The missing formulas of a file, those that can be written, and the reasons why others cannot."""

from __future__ import annotations

from collections.abc import Container, Iterator

from msgspec import Struct
from msgspec.structs import replace

from derivlint.analysis.differentiability.coverage import Aspect, Coverage, coverage_of
from derivlint.analysis.differentiability.operators import Way
from derivlint.model import Model
from derivlint.model.differentiable import Differentiability
from derivlint.repair.candidates import Target
from derivlint.repair.derivation import derivation_of
from derivlint.repair.judge import Judge
from derivlint.repair.suggest import Suggestion, suggest


class Missing(Struct, frozen=True):
    """The formulas that an entry lacks.

    Attributes:
        coverage: the operator, with its verdicts.
        targets: the formulas that can be asked for, one for each output or argument.
        reason: why there is none, or empty.
    """

    coverage: Coverage
    targets: tuple[Target, ...] = ()
    reason: str = ""


def missing_formulas(model: Model, aspect: Aspect) -> Iterator[Missing]:
    """Yield what the entries of a file lack, in file order."""
    coverage = coverage_of(model)
    for entry in model.entries:
        if entry.function is None:
            continue
        for row in coverage.of(entry.function.canonical):
            body = row.body
            if body is None or body.entry is not entry or row.way is not Way.FORMULA or not row.lacks(aspect):
                continue
            if aspect is Aspect.FORWARD:
                yield Missing(row, _outputs(model, row))
                continue
            names = _arguments(model, row) if aspect is Aspect.BACKWARD else ()
            reasons = "; ".join(reason.text for reason in row.verdicts[aspect].reasons)
            targets = tuple(Target(body, name) for name in names)
            yield Missing(row, targets or (Target(body, body.formulas[0].key_text),), "" if targets else reasons)


def _arguments(model: Model, row: Coverage) -> tuple[str, ...]:
    """The differentiable arguments without backward formula, beside some that have one."""
    match = model.match(row.function)
    if row.body is None or row.body.key not in match.infos:
        return ()
    return tuple(value.name for value in Differentiability(match, row.body.key).refused_inputs)


def _outputs(model: Model, row: Coverage) -> tuple[Target, ...]:
    """The differentiable outputs without forward formula."""
    body = row.body
    match = model.match(row.function)
    if body is None or body.key not in match.infos:
        return ()
    resolved = Differentiability(match, body.key)
    written = {name.text for formula in body.formulas for name in formula.names}
    names = [value.name for value in resolved.outputs or ()]
    if resolved.is_inplace:
        names = ["result"]
    return tuple(Target(body, name) for name in names if name not in written)


def write_missing(judge: Judge, aspect: Aspect, names: Container[str] | None = None) -> Iterator[Suggestion]:
    """Yield a suggestion for each missing formula: one that the judge accepts, or the reason why there is none.

    Args:
        judge: the judge of the file.
        aspect: what is missing: backward or forward formulas, or gradients of gradients.
        names: the full names of the operators that are asked about; by default all.
    """
    for missing in missing_formulas(judge.model, aspect):
        if names is not None and missing.coverage.name not in names:
            continue
        suggestions = []
        for bare in missing.targets:
            target = replace(bare, findings=judge.findings(bare.body.entry))
            reason = missing.reason
            suggestion = Suggestion(target, unsolved=reason) if reason else suggest(judge, target)
            if not (suggestion.candidates or suggestion.error or reason):
                suggestion = replace(suggestion, unsolved=_reason(judge, target))
            suggestions.append(replace(suggestion, candidates=suggestion.candidates[:1]))
        unsolved = next((item.unsolved for item in suggestions if item.unsolved), "")
        # an output alone is not written: the others would lose their tangents silently
        yield from (replace(item, candidates=(), unsolved=unsolved) if unsolved else item for item in suggestions)


def _reason(judge: Judge, target: Target) -> str:
    """The reason why nothing could be derived, or that nothing derived passes the checks."""
    derivation = derivation_of(target, judge.model)
    if derivation is None:
        return "its operator is not known"
    candidates = list(derivation.formulas(target.key))
    return "no derived formula passes the checks" if candidates else derivation.reasons[-1]
