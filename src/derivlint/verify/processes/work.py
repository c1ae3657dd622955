"""Checks one operator in a child: its points, its formulas, and the smallest failing inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from derivlint.verify.base import is_unchanged
from derivlint.verify.code.functions import FunctionSpec
from derivlint.verify.comparison.checks import OperatorChecker
from derivlint.verify.comparison.failures import FIRST_ORDER, INCONSISTENT, OTHER_CONVENTION, Failure
from derivlint.verify.comparison.precision import measured
from derivlint.verify.comparison.verdicts import FindingVerdict, Referee
from derivlint.verify.inputs.arguments import argument_states
from derivlint.verify.inputs.inputs import points_for
from derivlint.verify.inputs.layouts import is_plain
from derivlint.verify.inputs.points import SamplePoint, is_available, overload_of
from derivlint.verify.outcome import OperatorResult
from derivlint.verify.reproduction import reproduction, written_arguments
from derivlint.verify.unchecked import SkipReason

Send = Callable[[dict[str, Any]], None]

#: The maximum number of elements of a tensor in messages; larger tensors are shown by shape.
MAX_SHOWN = 4


class CheckContext(Struct, frozen=True):
    """The context of the checks of all operators.

    Attributes:
        namespace: the namespace of the functions.
        inputs: the recorded inputs by dtype.
        task: the extent of the checks.
        arms: returns the taken branches of a site of a function, 1 for the first and 2 for the second; None if unknown.
        base: the functions of an earlier version of the file, by operator, or None without one.
    """

    namespace: Any
    inputs: Mapping[str, Any]
    task: Mapping[str, Any]
    base: Mapping[str, Sequence[FunctionSpec]] | None = None
    arms: Callable[[int, int], int] | None = None


class _FailureGroup(Struct):
    """Failures of one kind and function: the one with the smallest input, and the number of failing inputs.

    Attributes:
        failure: the failure with the smallest input.
        point: its input.
        place: the dtype of the input, and its index.
        points: the failing inputs.
    """

    failure: Failure
    point: SamplePoint
    place: tuple[str, int]
    points: set[tuple[str, int]] = field(default_factory=set)


#: The groups by number of the function, rule and verdict.
_FailureGroups = dict[tuple[int, str, FindingVerdict | None], _FailureGroup]


def not_checked(operator: str, why: SkipReason, reason: str) -> dict[str, Any]:
    """The message that an operator could not be checked."""
    return _result(operator, OperatorResult(0, why=why, reason=reason))


def _result(operator: str, result: OperatorResult) -> dict[str, Any]:
    content: dict[str, Any] = to_builtins(result)
    return {"checked": operator, **content}


def points_of(
    spec: FunctionSpec,
    recorded: Any,
    dtype: str,
    task: Mapping[str, Any],
    refused: Callable[[SamplePoint], None] = lambda point: None,
) -> Iterator[SamplePoint]:
    """The inputs of a formula's operator that a task requests."""
    return points_for(
        spec,
        recorded,
        dtype,
        seed=task["seed"],
        count=task["points"],
        hardened=task["hardened"],
        variants=task["variants"],
        special=task["special"],
        refused=refused,
    )


def check_operator(functions: Sequence[FunctionSpec], work: CheckContext, send: Send) -> None:
    """Check the formulas of an operator, and send one message for each kind of failure."""
    base = None if work.base is None else work.base.get(functions[0].operator, ())
    # the bounds and strings of all versions of all formulas determine the inputs
    versions = [*(base or ()), *functions]
    bounds = dict.fromkeys(bound for function in versions for bound in function.bounds)
    words = dict.fromkeys(word for function in versions for word in function.words)
    first = replace(functions[0], bounds=tuple(bounds), words=tuple(words))
    task = work.task
    missing = _schema_problem(first)
    if missing is None and not is_available(task["device"]):
        missing = SkipReason.NO_DEVICE, f'the machine has no device "{task["device"]}"'
    if missing is not None:
        send(not_checked(first.operator, *missing))
        return
    if task["precision"]:
        _measure(functions, work, send)
        return
    groups: _FailureGroups = {}
    points = run = compared = unjudged = 0
    judged: set[int] = set()
    states: dict[str, set[str]] = {}
    refused: dict[str, set[str]] = {}
    nonzero: set[int] = set()
    reason, refusal = "no inputs are known", ""
    for dtype, recorded in work.inputs.items():
        checker = _checker(functions, work, send, complete=bool(base))
        referee = _referee(functions, base, checker, work, send)
        made = points_of(first, recorded, dtype, task, partial(_record_states, refused, first))
        for number, point in enumerate(made):
            send({"at": first.number, "inputs": f"({point.label}): {described_inputs(first, point)}"})
            failures = list(referee(point, number))
            for failure, verdict in failures:
                _add_to_group(groups, failure, verdict, point, (dtype, number))
            invalid = checker.invalid
            run += bool(failures) or not invalid
            if invalid:
                reason = invalid.splitlines()[0][:200]
            else:
                points += 1
                _record_states(states, first, point)
        refusal = checker.refusal or refusal
        compared += checker.tally.compared
        unjudged += checker.tally.unjudged
        judged |= checker.tally.functions
        nonzero |= checker.tally.nonzero
    why = None
    if not points:
        why = SkipReason.NO_INPUTS
    elif not compared and not groups:
        why, reason = SkipReason.NOT_COMPARED, refusal or "no comparison is possible at any input"
    for message in _messages([*functions, *(base or ())], groups, run):
        send(message)
    result = OperatorResult(
        points,
        compared,
        unjudged,
        tuple(sorted(judged)),
        tuple(sorted(nonzero)),
        {
            function.number: [work.arms(function.number, site) for site in range(len(function.sites))]
            for function in functions
            if work.arms is not None
        },
        _listed(states),
        _listed(refused),
        why,
        "" if why is None else reason,
    )
    send(_result(first.operator, result))


def _measure(functions: Sequence[FunctionSpec], work: CheckContext, send: Send) -> None:
    """Measure and send the precision of an operator's formulas."""
    first = functions[0]
    base = (work.base or {}).get(first.operator, ())
    measures = [
        message
        for recorded in work.inputs.values()
        for message in measured(functions, base, recorded, work.namespace, work.task["device"])
    ]
    for message in measures:
        send(message)
    if not measures:
        send(not_checked(first.operator, SkipReason.NO_INPUTS, "no elementwise inputs in low precision are known"))
        return
    numbers = tuple(sorted({message["precision"] for message in measures}))
    send(_result(first.operator, OperatorResult(len(measures), functions=numbers, nonzero=numbers)))


def _record_states(states: dict[str, set[str]], spec: FunctionSpec, point: SamplePoint) -> None:
    """Record the states of arguments at a point."""
    for name, state in argument_states(spec, point):
        states.setdefault(name, set()).add(state)


def _listed(states: Mapping[str, set[str]]) -> dict[str, list[str]]:
    return {name: sorted(values) for name, values in states.items()}


def _checker(functions: Sequence[FunctionSpec], work: CheckContext, send: Send, *, complete: bool) -> OperatorChecker:
    task = work.task
    made = OperatorChecker(
        functions,
        work.namespace,
        task["seed"],
        order=task["order"],
        directions=task["directions"],
        complete=complete,
        device=task["device"],
    )
    made.before = lambda number: send({"at": number})
    return made


def _referee(
    functions: Sequence[FunctionSpec],
    base: Sequence[FunctionSpec] | None,
    checker: OperatorChecker,
    work: CheckContext,
    send: Send,
) -> Callable[[SamplePoint, int], Iterator[tuple[Failure, FindingVerdict | None]]]:
    """Return a function that checks a point and yields failures with verdicts, None without an earlier version."""
    if base and not is_unchanged(functions, base):
        return Referee(functions, base, checker, _checker(base, work, send, complete=True)).check
    verdict = None if base is None else FindingVerdict.UNCHANGED if base else FindingVerdict.NEW

    def check(point: SamplePoint, number: int) -> Iterator[tuple[Failure, FindingVerdict | None]]:
        for failure in checker.check(point, number):
            yield failure, verdict

    return check


def _messages(functions: Sequence[FunctionSpec], groups: _FailureGroups, points: int) -> Iterator[dict[str, Any]]:
    """Yield one message for each function and kind of failure."""
    verdicts: dict[tuple[int, str], set[FindingVerdict | None]] = {}
    for number, rule, verdict in groups:
        verdicts.setdefault((number, rule), set()).add(verdict)
    wrong = {(number, verdict) for number, rule, verdict in groups if rule != OTHER_CONVENTION}
    are_wrong = {verdict for _, rule, verdict in groups if rule in FIRST_ORDER}
    unjudged = {(number, rule) for number, rule, verdict in groups if verdict is FindingVerdict.UNJUDGED}
    for (number, rule, verdict), group in groups.items():
        if verdict is FindingVerdict.UNJUDGED or (verdict is FindingVerdict.GONE and (number, rule) in unjudged):
            # unknown whether the finding is still there
            continue
        if rule == OTHER_CONVENTION and (number, verdict) in wrong:
            # implied by another wrong value
            continue
        if rule == INCONSISTENT and verdict in are_wrong:
            # the wrong formula contradicts the other one, even if it alone cannot be judged
            continue
        if verdict is FindingVerdict.UNCHANGED and FindingVerdict.NEW in verdicts[number, rule]:
            # reported with the new finding
            continue
        before = groups.get((number, rule, FindingVerdict.UNCHANGED)) if verdict is FindingVerdict.NEW else None
        yield _message(functions, group, verdict, 0 if before is None else len(before.points), points)


def _add_to_group(
    groups: _FailureGroups, failure: Failure, verdict: FindingVerdict | None, point: SamplePoint, place: tuple[str, int]
) -> None:
    key = failure.function, failure.rule, verdict
    group = groups.get(key)
    if group is None:
        group = groups[key] = _FailureGroup(failure, point, place)
    group.points.add(place)
    if _rank(point) < _rank(group.point):
        group.failure, group.point, group.place = failure, point, place


def _rank(point: SamplePoint) -> tuple[bool, int]:
    """The sort key of an input by size; one without elements comes last."""
    return not point.size, point.size


def _message(
    functions: Sequence[FunctionSpec], group: _FailureGroup, verdict: FindingVerdict | None, before: int, points: int
) -> dict[str, Any]:
    failure, point = group.failure, group.point
    return {
        "failure": failure.function,
        "rule": failure.rule,
        "what": failure.target,
        "expected": failure.expected,
        "found": failure.actual,
        "said": failure.message,
        "label": point.label,
        "inputs": described_inputs(functions[0], point),
        "count": len(group.points),
        "verdict": verdict.value if verdict is not None else "",
        "before": before,
        "points": points,
        "dtype": group.place[0],
        "number": group.place[1],
        "turn": max(failure.turn, 0),
        "is_meant": point.is_meant,
        "operator": functions[0].operator,
        "arguments": written_arguments(functions[0], point),
        "script": reproduction(
            next(function for function in functions if function.number == failure.function),
            point,
            failure.rule,
            failure.target,
        ),
    }


def _schema_problem(spec: FunctionSpec) -> tuple[SkipReason, str] | None:
    """The reason why the installed PyTorch lacks an operator with exactly these arguments, or None."""
    try:
        schema = overload_of(spec.operator)._schema
    except AttributeError:
        return SkipReason.NOT_IN_TORCH, "the installed PyTorch has no such operator"
    if [argument.name for argument in schema.arguments] == [argument.name for argument in spec.arguments]:
        return None
    return SkipReason.OTHER_SCHEMA, "another schema is installed"


def numbers(value: Any) -> str:
    """Values as nested lists."""
    if isinstance(value, list):
        return f"[{', '.join(map(numbers, value))}]"
    return repr(value)


def described_inputs(spec: FunctionSpec, point: SamplePoint) -> str:
    """A short description of inputs: the values of small tensors, shapes of others, and other values."""
    import torch

    def words(value: Any) -> str:
        if isinstance(value, torch.Tensor):
            kind = str(value.dtype).removeprefix("torch.")
            if value.is_nested:
                return f"nested {kind}{[list(part.shape) for part in value.unbind()]}"
            layout = "" if is_plain(value) else f"{str(value.layout).removeprefix('torch.')} "
            if is_plain(value) and 0 < value.numel() <= MAX_SHOWN:
                return f"{kind}({numbers(value.tolist())})"
            return f"{layout}{kind}{list(value.shape)}"
        if isinstance(value, list):
            return f"[{', '.join(map(words, value))}]"
        return repr(value)

    pairs = zip(spec.arguments, point.values, strict=True)
    return ", ".join(f"{argument.name}={words(value)}" for argument, value in pairs)
