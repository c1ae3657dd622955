"""What a run found, as diagnostics at the formulas' own places."""

from __future__ import annotations

from typing import Any

from derivlint.compiler.diagnostics import COMPILER_ERROR
from derivlint.lint import Confidence, Diagnostic, Severity
from derivlint.lint.wording import counted
from derivlint.model import Model
from derivlint.verify.failures import (
    CRASH,
    INCONSISTENT,
    MASK_IGNORED,
    OTHER_CONVENTION,
    WRONG_JVP,
    WRONG_SECOND,
    WRONG_SHAPE,
    WRONG_VJP,
)
from derivlint.verify.functions import BACKWARD, FormulaFunction
from derivlint.verify.outcome import Outcome
from derivlint.verify.unchecked import Why

Place = tuple[str, str, str, str]


def places_and_diagnostics(model: Model, outcome: Outcome) -> list[tuple[Place, Diagnostic]]:
    """All findings, each with the operator, the key, the rule and the formula that a deviation could name."""
    functions = {each.described.number: each for each in outcome.functions}
    found = []
    for number, message in outcome.refused.items():
        function = next(each for each in outcome.collected.functions if each.described.number == number)
        said = f"the compiler refuses the code that is made of this: {message}"
        found.append(_found(model, function, COMPILER_ERROR, said, None, Severity.ERROR))
    wrong = {
        id(functions[each["failure"]].line.body)
        for each in outcome.failures
        if each["rule"] in (WRONG_VJP, OTHER_CONVENTION)
    }
    for failure in outcome.failures:
        function = functions[failure["failure"]]
        if function.line.auto is not None and id(function.line.body) in wrong:
            # an automatic forward formula is derived from the backward formula, which is reported already
            continue
        rule = failure["rule"]
        severity = Severity.INFO if rule == OTHER_CONVENTION else Severity.ERROR
        message = _message(failure, function)
        found.append(_found(model, function, rule, message, _help(failure), severity))
    for death in outcome.deaths:
        if death["why"] != Why.CRASHED.value:
            # nothing that is known to be the formula's fault
            continue
        of_operator = [each for each in functions.values() if each.described.operator == death["died"]]
        function = functions.get(death["function"], of_operator[0])
        said = f"checking this ended the process: {death['reason']}"
        found.append(_found(model, function, CRASH, said, None, Severity.ERROR))
    return sorted(found, key=lambda item: item[1])


def _found(
    model: Model, function: FormulaFunction, rule: str, message: str, help: str | None, severity: Severity
) -> tuple[Place, Diagnostic]:
    line = function.line
    operator = line.entry.operator or function.described.operator
    diagnostic = Diagnostic(
        path=model.source.path,
        span=line.value.span,
        rule=rule,
        message=message,
        severity=severity,
        confidence=Confidence.HIGH,
        help=help,
        entry=operator,
        dispatch=line.body.key,
        key=line.key_text,
    )
    return (operator, line.key_text, rule, line.text or ""), diagnostic


def _message(failure: dict[str, Any], function: FormulaFunction) -> str:
    """The fact, with both numbers."""
    key = function.line.key_text
    rule, what, said = failure["rule"], failure["what"], failure["said"]
    expected, given = _number(failure["expected"]), _number(failure["found"])
    if rule == CRASH:
        return f"evaluating this raises an error: {said}"
    if said:
        text = f'the gradient of "{what}" is wrong: {said}'
        return said if rule == WRONG_SHAPE else text
    if rule == WRONG_VJP:
        return f'the gradient of "{what}" along a direction is {given}, by finite differences {expected}'
    if rule == WRONG_JVP:
        subject = f'the tangent of "{what}"' if what == key else f'the tangent with respect to "{what}"'
        return f"{subject} is {given} along a direction, by finite differences {expected}"
    if rule == OTHER_CONVENTION:
        kind = "gradient" if function.described.kind == BACKWARD else "tangent"
        return (
            f'the {kind} of "{what}" along a direction is {given}, in the installed PyTorch {expected}, '
            "where finite differences cannot tell"
        )
    if rule == INCONSISTENT:
        return f"the forward formula gives {given} where the backward formulas give {expected}"
    if rule == WRONG_SECOND:
        return f"the derivative of this along a direction is {given}, by finite differences of it {expected}"
    if rule == MASK_IGNORED:
        return f'the gradient of "{what}" has the norm {given} when no other is needed, else {expected}'
    return f'the gradient of "{what}" has the norm {given} with an undefined gradient, {expected} with zeros'


def _help(failure: dict[str, Any]) -> str:
    times = f"{failure['count']} of {counted(failure['points'], 'input')}"
    return f"at {times}, the smallest ({failure['label']}): {failure['inputs']}"


def _number(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.6g}"
