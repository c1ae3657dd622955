"""Numerical checks of suggestions in the installed PyTorch, with each candidate in place of its formula."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from derivlint.lint import Severity
from derivlint.lint.edits import edited
from derivlint.model import Model
from derivlint.model.model import build_models
from derivlint.repair.candidates import Target
from derivlint.repair.judge import Accepted, TorchRun
from derivlint.repair.suggest import Suggestion
from derivlint.source import SourceFile
from derivlint.verify.findings import judged_findings
from derivlint.verify.known import explanation_of
from derivlint.verify.outcome import RunOutcome
from derivlint.verify.runner import Progress, RunOptions, verify


def run_suggestions(
    model: Model, suggestions: Sequence[Suggestion], options: RunOptions, progress: Progress = lambda message: None
) -> Iterator[Suggestion]:
    """Run the candidates for formulas of a file, and drop those that finite differences refute.

    Args:
        model: the file without suggestions.
        suggestions: the suggestions.
        options: the options of each run; the candidates of one rank run together.
        progress: called with the current step.

    Raises:
        VerifyError: a requirement of the run is missing.
    """
    ranks = range(max((len(item.candidates) for item in suggestions), default=0))
    outcomes = [_outcome(model, suggestions, rank, options, progress) for rank in ranks]
    for item in suggestions:
        verdicts = [
            _verdict(*outcome, item.target, accepted)
            for outcome, accepted in zip(outcomes, item.candidates, strict=False)
        ]
        accepted = tuple(verdict for verdict in verdicts if isinstance(verdict, Accepted))
        refuted = tuple(verdict for verdict in verdicts if not isinstance(verdict, Accepted))
        unsolved = "" if accepted else item.unsolved or "PyTorch refutes every candidate"
        yield replace(item, candidates=accepted, refuted=refuted, unsolved=unsolved)


def _outcome(
    model: Model, suggestions: Sequence[Suggestion], rank: int, options: RunOptions, progress: Progress
) -> tuple[Model, RunOutcome]:
    """Check the file with all candidates of one rank in place; a formula without one gets its best candidate."""
    ranked = [item.candidates[rank if rank < len(item.candidates) else 0] for item in suggestions if item.candidates]
    text = edited(model.source.text, {edit for accepted in ranked for edit in accepted.edits})
    source = SourceFile(model.source.path, text, model.source.undecodable)
    after = build_models(source, model.natives, model.layout, model.version)[0]
    operators = {item.target.body.entry.operator or "" for item in suggestions if len(item.candidates) > rank}
    return after, verify(after, operators, options, progress)


def _verdict(model: Model, outcome: RunOutcome, target: Target, accepted: Accepted) -> Accepted | tuple[str, str]:
    """Return the candidate with its run, or its text with the finding that refutes it."""
    operator, key = target.body.entry.operator or "", target.key
    for finding in judged_findings(model, outcome):
        item = finding.diagnostic
        is_own = (item.entry, item.dispatch, item.key) == (operator, target.body.key, key)
        if is_own and item.severity is Severity.ERROR and not explanation_of(operator, key, item.rule):
            return accepted.candidate.text, item.message
    reasons = [item.reason for item in outcome.unchecked() if item.operator == operator and item.key in ("", key)]
    n_inputs = outcome.checked[operator].points if operator in outcome.checked and not reasons else 0
    return replace(accepted, run=TorchRun(n_inputs, reasons[0] if reasons else ""))
