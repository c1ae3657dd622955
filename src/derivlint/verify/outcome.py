"""The outcome of a run: results by operator, failures, what was not checked, and the coverage of formulas.

Coverage counts the branches of conditions and masks and the states of arguments that inputs reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct, convert, field

from derivlint.verify.code.functions import CollectedFunctions, FormulaFunction, FunctionSpec
from derivlint.verify.inputs.arguments import expected_states
from derivlint.verify.unchecked import SkipReason, Unchecked

#: The bit of each branch, and its labels for conditions and for masks.
_ARMS = ((1, "true", "selects"), (2, "false", "leaves out"))


class OperatorResult(Struct, frozen=True):
    """The result of checking an operator.

    Attributes:
        points: the number of judged inputs.
        compared: the number of comparisons.
        unjudged: the number of comparisons that could not be made: no smooth point, no finite values.
        functions: the numbers of the functions whose derivative was compared.
        nonzero: those with a nonzero derivative.
        arms: the taken branches of each function's sites, by its number, as bits: 1 for the first, 2 for the second.
        states: the states of arguments (:func:`derivlint.verify.inputs.arguments.argument_states`).
        refused: the states of arguments at inputs that the operator rejects.
        why: the kind of reason why it was not checked, or None.
        reason: the text of the reason.
    """

    points: int
    compared: int = 0
    unjudged: int = 0
    functions: tuple[int, ...] = ()
    nonzero: tuple[int, ...] = ()
    arms: dict[int, list[int]] = field(default_factory=dict)
    states: dict[str, list[str]] = field(default_factory=dict)
    refused: dict[str, list[str]] = field(default_factory=dict)
    why: SkipReason | None = None
    reason: str = ""


class RunOutcome(Struct):
    """The outcome of a run.

    Attributes:
        collected: the formulas.
        functions: their functions.
        refused: the compiler errors of formulas, by the number of the function.
        left_out: the reasons why formulas have no function, by number.
        newer: the reasons why formulas (by number) and entries (by operator) need a newer PyTorch.
        checked: the result of each operator.
        failures: the server's messages about failures.
        deaths: the operators on which a child crashed, with the number of the function and the reason.
        is_broken_off: whether the user interrupted the run.
        measures: the server's messages about the precision of formulas.
        base: the functions of the earlier version of the file, by operator, or None without one.
    """

    collected: CollectedFunctions
    functions: tuple[FormulaFunction, ...] = ()
    refused: dict[int, str] = field(default_factory=dict)
    left_out: dict[int, str] = field(default_factory=dict)
    newer: dict[int | str, str] = field(default_factory=dict)
    checked: dict[str, OperatorResult] = field(default_factory=dict)
    failures: list[dict[str, Any]] = field(default_factory=list)
    deaths: list[dict[str, Any]] = field(default_factory=list)
    is_broken_off: bool = False
    measures: list[dict[str, Any]] = field(default_factory=list)
    base: dict[str, tuple[FunctionSpec, ...]] | None = None

    def take(self, messages: Iterable[dict[str, Any]]) -> None:
        """Record messages of the checking process."""
        for message in messages:
            if "precision" in message:
                self.measures.append(message)
            elif "failure" in message:
                self.failures.append(message)
            elif "died" in message:
                self.deaths.append(message)
                self.checked[message["died"]] = OperatorResult(
                    0, why=SkipReason(message["why"]), reason=message["reason"]
                )
            elif "checked" in message:
                # JSON keys are strings, and numbers of functions are keys
                self.checked[message["checked"]] = convert(message, OperatorResult, str_keys=True)

    def give_up(self, why: SkipReason, reason: str) -> None:
        """Mark all operators without a result as not checked."""
        for operator in self._requested():
            self.checked.setdefault(operator, OperatorResult(0, why=why, reason=reason))

    def unchecked(self) -> list[Unchecked]:
        """Return the unchecked entries, and unchecked formulas of partly checked entries."""
        whole = [
            Unchecked(name, "", state.why, state.reason)
            for name, state in self.checked.items()
            if state.why is not None
        ]
        silent = {item.operator for item in whole}
        unchecked = [
            Unchecked(name, "", SkipReason.FAILED, "the run ended before it was reported")
            for name in self._requested()
            if name not in self.checked
        ]
        unchecked += [
            Unchecked(name, "", SkipReason.NOT_IN_TORCH, reason)
            for name, reason in self.newer.items()
            if isinstance(name, str) and name not in self.checked
        ]
        return whole + unchecked + list(self._formulas(silent | {item.operator for item in unchecked}))

    def _requested(self) -> list[str]:
        """Return the operators to check: those of the functions, or of all formulas before functions exist."""
        return list(dict.fromkeys(function.spec.operator for function in self.functions))

    def _formulas(self, silent: set[str]) -> Iterator[Unchecked]:
        """The unchecked formulas of partly checked entries."""
        for formula, reason in self.collected.left_out:
            yield Unchecked(formula.entry.operator or "", formula.key_text, SkipReason.NO_FUNCTION, reason)
        failed = {failure["failure"] for failure in self.failures}
        for function in self.collected.functions:
            of = function.spec
            if of.number in self.refused or of.operator in silent:
                continue
            reason = self.left_out.get(of.number, "")
            if of.number in self.newer:
                yield Unchecked(of.operator, of.key, SkipReason.NOT_IN_TORCH, self.newer[of.number])
            elif reason:
                yield Unchecked(of.operator, of.key, SkipReason.NOT_CALLABLE, reason)
            elif of.number not in failed and of.number not in self.checked[of.operator].functions:
                yield Unchecked(
                    of.operator, of.key, SkipReason.NOT_COMPARED, "at no input it can be compared with anything"
                )


class FormulaCoverage(Struct, frozen=True):
    """The coverage of a formula.

    Attributes:
        operator: the operator of the entry.
        key: the key of the formula.
        items: the number of items to reach, including the formula itself.
        missing: descriptions of the items that were not reached.
    """

    operator: str
    key: str
    items: int
    missing: tuple[str, ...]


def coverage(outcome: RunOutcome) -> list[FormulaCoverage]:
    """Compute the coverage of each formula with a function, in the order of the file."""
    return [_reached(function, outcome.checked.get(function.spec.operator)) for function in outcome.collected.functions]


def figure(reached: Sequence[FormulaCoverage]) -> tuple[int, int]:
    """The number of reached items, and of all items."""
    items = sum(formula.items for formula in reached)
    return items - sum(len(formula.missing) for formula in reached), items


def _reached(function: FormulaFunction, state: OperatorResult | None) -> FormulaCoverage:
    of = function.spec
    items = [*_reachable(function, state)]
    missing = tuple(name for name, is_reached in items if not is_reached)
    if state is None or of.number not in state.functions:
        return FormulaCoverage(of.operator, of.key, len(items) + 1, ("it was compared with nothing", *missing))
    return FormulaCoverage(of.operator, of.key, len(items) + 1, missing)


def _reachable(function: FormulaFunction, state: OperatorResult | None) -> Iterator[tuple[str, bool]]:
    """Yield the labels of branches and states, each with whether it was reached."""
    of = function.spec
    arms = state.arms.get(of.number, []) if state is not None else []
    for index, site in enumerate(of.sites):
        taken = arms[index] if index < len(arms) else 0
        for bit, holds, selects in _ARMS:
            label = f'"{site.text}" {selects} elements' if site.is_mask else f'"{site.text}" is {holds}'
            yield label, bool(taken & bit)
    for argument in of.arguments:
        # the argument, or the source of a derived variable
        parts = (f"{argument.name}_", f"{argument.name}.")
        variables = function.evaluation.variables
        if argument.name not in variables and not any(variable.startswith(parts) for variable in variables):
            continue
        reached = (state.states if state is not None else {}).get(argument.name, ())
        refused = (state.refused if state is not None else {}).get(argument.name, ())
        for expected in expected_states(of, argument):
            # the states of strings are the strings
            is_reached = expected in reached or (expected == "present" and any(item != "absent" for item in reached))
            if is_reached or expected not in refused:
                yield f'"{argument.name}" is {expected.lower()}', is_reached
