"""Findings about possibly undefined values that an operator reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.undefined_tensors import UnguardedRead
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.formula import Binary, Unary
from derivlint.lint.diagnostic import Finding
from derivlint.lint.option import Options
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model


def unguarded_findings(
    entry: Entry,
    model: Model,
    options: Options,
    reads: Callable[[Model, Interpretation], Iterable[UnguardedRead]],
    *,
    when: str,
    otherwise: str,
) -> Iterator[Finding]:
    """A finding for each read without a guard, except of operators in the option ``operators``.

    Args:
        entry: the entry.
        model: the model of its file.
        options: the options of the rule; ``operators`` accept undefined values.
        reads: finds the reads in a formula.
        when: the condition under which the value is undefined, the end of the message.
        otherwise: the formula for the undefined case.
    """
    for interpretation in analyses_of(model).interpretations(entry):
        formula = interpretation.formula
        for read in reads(model, interpretation):
            if not options.lists("operators", read.operator):
                yield Finding(
                    formula.span_of(read.node),
                    f"{_use(read)}, {when}",
                    help=f'guard it: "{read.name}.defined() ? ... : {otherwise}"',
                    at=formula.written,
                )


def _use(read: UnguardedRead) -> str:
    if not read.operator and isinstance(read.reader, (Binary, Unary)):
        return f"{quoted(read.reader.op)} is applied to {quoted(read.name)}"
    return f"{quoted(read.operator) if read.operator else 'an operator'} is passed {quoted(read.name)}"
