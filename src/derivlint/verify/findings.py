"""The failures of a run as diagnostics at the spans of their formulas."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from derivlint.compiler.diagnostics import COMPILER_ERROR
from derivlint.lint import Confidence, Diagnostic, Severity
from derivlint.lint.wording import counted
from derivlint.model import Model
from derivlint.verify.base import corresponds
from derivlint.verify.code.functions import BACKWARD, FormulaFunction
from derivlint.verify.comparison.failures import (
    CRASH,
    INCONSISTENT,
    MASK_IGNORED,
    NOT_FINITE,
    OTHER_CONVENTION,
    WRONG_JVP,
    WRONG_SECOND,
    WRONG_SHAPE,
    WRONG_VJP,
)
from derivlint.verify.comparison.verdicts import FindingVerdict
from derivlint.verify.known import explanation_of
from derivlint.verify.outcome import RunOutcome
from derivlint.verify.unchecked import SkipReason


class JudgedFinding(Struct, frozen=True):
    """A finding with its verdict.

    Attributes:
        diagnostic: the finding. A finding that is gone is reported at the formula in place of the wrong one, or at the
            entry.
        verdict: the verdict, or None without an earlier version.
        failure: the message of the checking process; empty for findings made without running a formula.
    """

    diagnostic: Diagnostic
    verdict: FindingVerdict | None
    failure: dict[str, Any] = field(default_factory=dict)


def judged_findings(model: Model, outcome: RunOutcome) -> list[JudgedFinding]:
    """Return all findings by span, each with its verdict."""
    functions = {function.spec.number: function for function in outcome.functions}
    findings = []
    refused: set[int] = set()
    for function in outcome.collected.functions:
        message = outcome.refused.get(function.spec.number)
        if message is None or id(function.written) in refused:
            # formulas of foreach operators are reported at the entry
            continue
        refused.add(id(function.written))
        user = "" if _is_of_entry(function) else f' for "{function.spec.operator}"'
        text = f"the compiler rejects the code generated from this{user}: {message}"
        verdict = _verdict_of_refusal(function, outcome)
        findings.append(JudgedFinding(_found(model, function, COMPILER_ERROR, text, None, Severity.ERROR), verdict))
    successors = _successors(outcome)
    wrong = {
        id(functions[failure["failure"]].written.body)
        for failure in outcome.failures
        if failure["rule"] in (WRONG_VJP, OTHER_CONVENTION, NOT_FINITE, CRASH) and failure["failure"] in functions
    }
    own = [(successors[failure["failure"]], failure) for failure in outcome.failures]
    reported = {(id(function.written), failure["verdict"]) for function, failure in own if _is_of_entry(function)}
    for function, failure in own:
        if failure["failure"] in functions and function.written.auto is not None and id(function.written.body) in wrong:
            # an automatic forward formula is derived from the backward formula, which is reported already
            continue
        if not _is_of_entry(function) and (id(function.written), failure["verdict"]) in reported:
            # formulas of foreach operators are reported at the entry
            continue
        rule = failure["rule"]
        verdict = FindingVerdict(failure["verdict"]) if failure["verdict"] else None
        severity = Severity.WARNING if rule == NOT_FINITE or verdict is FindingVerdict.NEW else Severity.INFO
        severity = severity if rule in (OTHER_CONVENTION, NOT_FINITE) else Severity.ERROR
        message = _message(failure, function)
        help = _help(failure, function, verdict)
        findings.append(JudgedFinding(_found(model, function, rule, message, help, severity), verdict, failure))
    for death in outcome.deaths:
        if death["why"] != SkipReason.CRASHED.value:
            # not known to be the formula's fault
            continue
        of_operator = [function for function in functions.values() if function.spec.operator == death["died"]]
        function = functions.get(death["function"], of_operator[0])
        text = f"checking this ended the process: {death['reason']}"
        verdict = FindingVerdict(death["verdict"]) if death.get("verdict") else None
        where = f"with the input {death['inputs']}" if death["inputs"] else ""
        help = _explained(where, function, CRASH, verdict)
        findings.append(JudgedFinding(_found(model, function, CRASH, text, help or None, Severity.ERROR), verdict))
    return sorted(findings, key=lambda item: item.diagnostic)


def _is_of_entry(function: FormulaFunction) -> bool:
    return function.spec.operator == function.written.entry.operator


def _verdict_of_refusal(function: FormulaFunction, outcome: RunOutcome) -> FindingVerdict | None:
    """The verdict on a compiler error: whether the earlier version has one, too."""
    if outcome.base is None:
        return None
    earlier = outcome.base.get(function.spec.operator, ())
    is_known = any(
        earlier_function.number in outcome.refused and corresponds(earlier_function, function.spec)
        for earlier_function in earlier
    )
    return FindingVerdict.UNCHANGED if is_known else FindingVerdict.NEW


def _successors(outcome: RunOutcome) -> dict[int, FormulaFunction]:
    """The functions by number; for those of the earlier version the ones that replaced them."""
    successors = {function.spec.number: function for function in outcome.collected.functions}
    for operator, functions in (outcome.base or {}).items():
        own = [function for function in outcome.collected.functions if function.spec.operator == operator]
        for function in functions:
            if function.number not in successors:
                successors[function.number] = next(
                    (candidate for candidate in own if corresponds(candidate.spec, function)), own[0]
                )
    return successors


def _found(
    model: Model, function: FormulaFunction, rule: str, message: str, help: str | None, severity: Severity
) -> Diagnostic:
    formula = function.written
    return Diagnostic(
        path=model.source.path,
        span=formula.value_span,
        rule=rule,
        message=message,
        severity=severity,
        confidence=Confidence.HIGH,
        help=help,
        entry=formula.entry.operator or function.spec.operator,
        dispatch=formula.body.key,
        key=formula.key_text,
    )


def _message(failure: dict[str, Any], function: FormulaFunction) -> str:
    """The fact, with both values."""
    key = function.written.key_text
    rule, target, detail = failure["rule"], failure["what"], failure["said"]
    expected, actual = _number(failure["expected"]), _number(failure["found"])
    if rule == CRASH:
        return f"evaluating this raises an error: {detail}"
    if rule == WRONG_SECOND:
        subject = f"the derivative of this {detail}".rstrip()
        return f"{subject} along a direction is {actual}, by finite differences of it {expected}"
    if rule == OTHER_CONVENTION and detail:
        return f'the {"gradient" if function.spec.kind == BACKWARD else "tangent"} of "{target}" {detail}'
    if detail:
        kind = "gradient" if function.spec.kind == BACKWARD else "tangent"
        text = f'the {kind} of "{target}" is wrong: {detail}'
        return detail if rule == WRONG_SHAPE else text
    if rule == WRONG_VJP:
        return f'the gradient of "{target}" along a direction is {actual}, by finite differences {expected}'
    if rule == WRONG_JVP:
        subject = f'the tangent of "{target}"' if target == key else f'the tangent with respect to "{target}"'
        return f"{subject} is {actual} along a direction, by finite differences {expected}"
    if rule == NOT_FINITE:
        kind = "gradient" if function.spec.kind == BACKWARD else "tangent"
        return f'the {kind} of "{target}" is NaN or infinite where the installed PyTorch has a finite number'
    if rule == OTHER_CONVENTION:
        kind = "gradient" if function.spec.kind == BACKWARD else "tangent"
        return (
            f'the {kind} of "{target}" along a direction is {actual}, in the installed PyTorch {expected}, '
            "where finite differences cannot tell"
        )
    if rule == INCONSISTENT:
        return f"the forward formula gives {actual} where the backward formulas give {expected}"
    if rule == MASK_IGNORED:
        return f'the gradient of "{target}" has the norm {actual} when no other is needed, else {expected}'
    return f'the gradient of "{target}" has the norm {actual} with an undefined gradient, {expected} with zeros'


def _help(failure: dict[str, Any], function: FormulaFunction, verdict: FindingVerdict | None) -> str:
    times = f"{failure['count']} of {counted(failure['points'], 'input')}"
    before = f", at {failure['before']} more as before" if failure["before"] else ""
    text = f"at {times}{before}, the smallest ({failure['label']}): {failure['inputs']}"
    if not _is_of_entry(function):
        text = f'run as "{function.spec.operator}"; {text}'
    return _explained(text, function, failure["rule"], verdict)


def _explained(text: str, function: FormulaFunction, rule: str, verdict: FindingVerdict | None) -> str:
    """A help text after the explanation of the finding, if it is known and not new."""
    if verdict is FindingVerdict.NEW:
        return text
    # a list operator has the explanations of the entry that it shares
    operator = function.written.entry.operator or function.spec.operator
    explanation = explanation_of(operator, function.written.key_text, rule)
    return "; ".join(filter(None, (explanation, text)))


def _number(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.6g}"
