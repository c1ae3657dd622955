"""Coverage of formulas by inputs: arms of conditions, sides of masks, states of arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from derivlint.verify.code.functions import FormulaFunction
from derivlint.verify.outcome import OperatorResult, RunOutcome

#: The bit of each arm of a condition, and its label for conditions and for masks.
_ARMS = ((1, "true", "selects"), (2, "false", "leaves out"))


class FormulaCoverage(Struct, frozen=True):
    """The coverage of a formula.

    Attributes:
        operator: the operator of the entry.
        key: the key of the formula.
        items: how many things could be reached, the formula itself among them.
        missing: those that were not, in words.
    """

    operator: str
    key: str
    items: int
    missing: tuple[str, ...]


def coverage(outcome: RunOutcome) -> list[FormulaCoverage]:
    """Compute the coverage of each formula with a function, in the order of the file."""
    return [_reached(function, outcome.checked.get(function.spec.operator)) for function in outcome.collected.functions]


def figure(reached: Sequence[FormulaCoverage]) -> tuple[int, int]:
    """How many things were reached, and how many could be."""
    items = sum(formula.items for formula in reached)
    return items - sum(len(formula.missing) for formula in reached), items


def _reached(function: FormulaFunction, state: OperatorResult | None) -> FormulaCoverage:
    of = function.spec
    items = [*_items(function, state)]
    missing = tuple(name for name, is_reached in items if not is_reached)
    if state is None or of.number not in state.functions:
        return FormulaCoverage(of.operator, of.key, len(items) + 1, ("it was compared with nothing", *missing))
    return FormulaCoverage(of.operator, of.key, len(items) + 1, missing)


def _items(function: FormulaFunction, state: OperatorResult | None) -> Iterator[tuple[str, bool]]:
    """Yield the labels of arms and states, each with whether it was reached."""
    of = function.spec
    arms = state.arms.get(of.number, []) if state is not None else []
    for index, site in enumerate(of.sites):
        taken = arms[index] if index < len(arms) else 0
        for bit, holds, selects in _ARMS:
            label = f'"{site.text}" {selects} elements' if site.is_mask else f'"{site.text}" is {holds}'
            yield label, bool(taken & bit)
    states = state.states if state is not None else {}
    for argument in of.arguments:
        if argument.name not in function.evaluation.variables and not _is_named(function, argument.name):
            continue
        expected_states: tuple[str, ...] = ()
        if argument.type == "bool":
            expected_states = ("True", "False")
        elif argument.type.endswith("?") and argument.type != "Generator?":
            expected_states = ("present", "absent")
        for expected in expected_states:
            seen_states = states.get(argument.name, ())
            # of words the states are the words
            is_reached = (
                any(state != "absent" for state in seen_states) if expected == "present" else expected in seen_states
            )
            yield f'"{argument.name}" is {expected.lower()}', is_reached


def _is_named(function: FormulaFunction, name: str) -> bool:
    """Whether a variable of a formula is made of an argument."""
    return any(variable.startswith((f"{name}_", f"{name}.")) for variable in function.evaluation.variables)
