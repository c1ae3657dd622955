"""Findings about arguments that are probably meant for another parameter."""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.calls.argument_order import (
    ArgumentMismatch,
    argument_mismatches,
    contradicted_flags,
    converted_flags,
    floating_masks,
    output_mismatches,
)
from derivlint.analysis.calls.properties import mistaken_properties, mixed_properties
from derivlint.lint.diagnostic import Finding, Fix, Severity
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model


def wrongly_passed(entry: Entry, model: Model) -> Iterator[ArgumentMismatch]:
    """The suspicious arguments in an entry that are inputs or outputs of operators, with one suspicion for each."""
    blamed: set[int] = set()
    for mismatches in (
        argument_mismatches,
        output_mismatches,
        floating_masks,
        converted_flags,
        contradicted_flags,
        mixed_properties,
        mistaken_properties,
    ):
        for problem in analyses_of(model).collect(entry, mismatches):
            # "keepdim" for "dim" is another argument, and a flag for an integer
            nodes = {id(argument.node) for argument in problem.arguments}
            if blamed.isdisjoint(nodes):
                blamed |= nodes
                yield problem


def parameter(problem: ArgumentMismatch, index: int = 0) -> str:
    """The quoted parameter that an argument is passed for; "another" if its name is unknown."""
    declared = problem.arguments[index].parameter
    return quoted(declared.name) if declared is not None else "another"


def passed(problem: ArgumentMismatch) -> str:
    """The quoted text of the blamed argument."""
    return quoted(problem.formula.source_of(problem.arguments[0].node))


def with_parameters(problem: ArgumentMismatch, *values: str) -> str:
    """Format values with their parameters, in argument order."""
    return ", and ".join(f"{value} for {parameter(problem, index)}" for index, value in enumerate(values))


def order_finding(problem: ArgumentMismatch, message: str, help: str, fix: Fix | None = None) -> Finding:
    """Make a finding about an argument, caused by the whole call.

    Args:
        problem: the mismatch.
        message: the message after the function's name.
        help: the cure.
        fix: the fix.
    """
    formula = problem.formula
    return Finding(
        formula.span_of(problem.arguments[0].node),
        f"{quoted(problem.call.spelling)} is passed {message}",
        help=help,
        fix=fix,
        at=formula.written,
        severity=Severity.ERROR if problem.is_certain else None,
        about=formula.span_of(problem.call.node),
        # an automatic formula relies on the backward formula
        rests_on=(formula.written.entry.operator or "",) if formula.written.auto is not None else (),
    )
