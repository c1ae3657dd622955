"""Findings about what formulas lose in half precision, one for each cause and formula."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from derivlint.analysis.half_precision.judgement import Lost, losses_of
from derivlint.analysis.half_precision.values import LossCause
from derivlint.lint.diagnostic import Finding
from derivlint.model import Entry, Model


def lost_by(
    cause: LossCause, model: Model, entry: Entry, message: Callable[[Lost], str], help_: str
) -> Iterator[Finding]:
    """The losses of an entry that have one cause, each at the part of the formula that has it."""
    for lost in losses_of(model, entry):
        if lost.loss.cause is cause and lost.loss.node is not None:
            yield Finding(lost.formula.span_of(lost.loss.node), message(lost), help=help_, at=lost.formula.written)
