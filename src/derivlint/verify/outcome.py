"""The outcome of a run: results by operator, failures, and what was not checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct, field

from derivlint.verify.code.functions import CollectedFunctions, FormulaFunction, FunctionSpec
from derivlint.verify.unchecked import SkipReason, Unchecked


class OperatorResult(Struct, frozen=True):
    """The result of checking an operator.

    Attributes:
        points: the inputs that could be judged.
        compared: the comparisons.
        unjudged: those that could not be made: no smooth point, no finite numbers.
        functions: the numbers of the functions whose derivative was compared.
        nonzero: those of them whose derivative was not always zero.
        arms: for each function, by its number, which arms of its sites were taken: 1 for the first, 2 for the second.
        states: the states that arguments had: of flags and words their values, else ``present`` and ``absent``.
        why: why it was not checked, None where it was.
        reason: that in words.
    """

    points: int
    compared: int = 0
    unjudged: int = 0
    functions: tuple[int, ...] = ()
    nonzero: tuple[int, ...] = ()
    arms: dict[int, list[int]] = field(default_factory=dict)
    states: dict[str, list[str]] = field(default_factory=dict)
    why: SkipReason | None = None
    reason: str = ""


class RunOutcome(Struct):
    """The outcome of a run.

    Attributes:
        collected: the formulas.
        functions: the functions that were made of them.
        refused: what the compiler says of formulas that it refuses, by the number of the function.
        left_out: why no function was made of a formula, by its number.
        newer: why a formula needs a newer PyTorch, by its number; an entry, by its operator.
        checked: the result of each operator.
        failures: the messages about failures, as the server wrote them.
        deaths: the operators at which a child died, with the number of the function and the reason.
        is_broken_off: whether the user had the run broken off.
        measures: how precise formulas are, as the server wrote it.
        base: the functions of the earlier version of the file, by operator; None where nothing is compared with one.
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
        """Record messages of the process that checks."""
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
                self.checked[message["checked"]] = OperatorResult(
                    message["points"],
                    message["compared"],
                    message["unjudged"],
                    tuple(message["functions"]),
                    tuple(message["nonzero"]),
                    {int(number): arms for number, arms in message["arms"].items()},
                    message["states"],
                    SkipReason(message["why"]) if message["why"] else None,
                    message["reason"],
                )

    def give_up(self, why: SkipReason, reason: str) -> None:
        """Mark all operators without a result as not checked."""
        for operator in self._wanted():
            self.checked.setdefault(operator, OperatorResult(0, why=why, reason=reason))

    def unchecked(self) -> list[Unchecked]:
        """Return the entries that were not checked, and single formulas of entries that were checked otherwise."""
        whole = [
            Unchecked(name, "", state.why, state.reason)
            for name, state in self.checked.items()
            if state.why is not None
        ]
        silent = {item.operator for item in whole}
        unchecked = [
            Unchecked(name, "", SkipReason.FAILED, "the run ended before it was reported")
            for name in self._wanted()
            if name not in self.checked
        ]
        unchecked += [
            Unchecked(name, "", SkipReason.NOT_IN_TORCH, reason)
            for name, reason in self.newer.items()
            if isinstance(name, str) and name not in self.checked
        ]
        return whole + unchecked + list(self._formulas(silent | {item.operator for item in unchecked}))

    def _wanted(self) -> list[str]:
        """The operators of the functions that were to be checked, of all formulas where there are no functions yet."""
        return list(dict.fromkeys(function.spec.operator for function in self.functions))

    def _formulas(self, silent: set[str]) -> Iterator[Unchecked]:
        """The formulas that were not checked, in entries that were checked in part."""
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
