"""Arguments that seem to be meant for another parameter, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from derivlint.lint.diagnostic import Finding
from derivlint.lint.typed_edits import passing_fix
from derivlint.lint.wording import quoted
from derivlint.meaning import meaning_of
from derivlint.meaning.passed_outputs import outputs_passed_wrongly
from derivlint.meaning.passing import Passed, PassedWrongly, passed_wrongly
from derivlint.model import Entry, Model


def passing_findings(entry: Entry, model: Model, kinds: Collection[Passed]) -> Iterator[Finding]:
    """The suspicious arguments of these kinds in an entry, inputs and outputs of operators alike."""
    meaning = meaning_of(model)
    for problem in (*meaning.found(entry, passed_wrongly), *meaning.found(entry, outputs_passed_wrongly)):
        if problem.kind in kinds:
            yield _finding(problem)


def _finding(problem: PassedWrongly) -> Finding:
    formula = problem.formula
    return Finding(
        formula.span_of(problem.arguments[0].node),
        _message(problem),
        help=_HELP[problem.kind],
        fix=passing_fix(problem),
        at=formula.line,
        about=formula.span_of(problem.call.node),
        # an automatic formula is made of the backward formula
        rests_on=(formula.line.entry.operator or "",) if formula.line.auto is not None else (),
    )


def _message(problem: PassedWrongly) -> str:
    function = quoted(problem.call.spelling)
    text = quoted(problem.formula.source_of(problem.arguments[0].node))
    parameters = [
        quoted(argument.parameter.name) if argument.parameter is not None else "another"
        for argument in problem.arguments
    ]
    kind, names = problem.kind, problem.names
    if kind is Passed.GRADIENT_ELSEWHERE:
        return (
            f"{function} is passed the gradient {text} for {parameters[0]}, and {quoted(names[0])} for {parameters[1]}"
        )
    if kind in (Passed.REPEATED_DIRECTION, Passed.REPEATED_VALUE):
        return f"{function} is passed {quoted(names[0])} for both {parameters[1]} and {parameters[0]}"
    if kind is Passed.NOT_DISCRETE:
        passed = f"{function} is passed {quoted(names[0])} for {parameters[0]}"
        return f"{passed}, and {quoted(names[1])} holds integers or a mask"
    if kind in (Passed.DISORDER, Passed.OUTPUT_DISORDER):
        return f"{function} is passed {quoted(names[0])} before {quoted(names[1])}"
    if kind is Passed.SWAPPED:
        return (
            f"{function} is passed {quoted(names[0])} for {parameters[0]}, and {quoted(names[1])} for {parameters[1]}"
        )
    return f"{function} is passed {text} for {parameters[0]}"


_HELP = {
    Passed.PRIMAL_AND_TANGENT: 'a name with "_p" is a primal, one with "_t" a tangent',
    Passed.GRADIENT_ELSEWHERE: "swap the two",
    Passed.REPEATED_DIRECTION: "pass the gradient of each output once",
    Passed.REPEATED_VALUE: "pass what the parameter is for",
    Passed.DISORDER: "helpers take the gradients in the order of the outputs",
    Passed.SWAPPED: "swap the two",
    Passed.OUTPUT_DISORDER: "helpers take the outputs in their order",
    Passed.NOT_DISCRETE: "pass the output that holds the indices",
    Passed.OTHER_ARGUMENT: "pass the argument of the parameter's name",
    Passed.RESULT_FOR_ARGUMENT: "pass the argument of the parameter's name",
}
