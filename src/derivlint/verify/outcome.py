"""What a run found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any

from derivlint.source.records import dataclass
from derivlint.verify.functions import Collected, FormulaFunction


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of an operator.

    Attributes:
        points: the inputs that could be judged.
        compared: the comparisons.
        unjudged: those that could not be made: no smooth point, no finite numbers.
        functions: the numbers of the functions whose derivative was compared.
        nonzero: those of them whose derivative was not always zero.
        reason: why there was no point, empty where there was one.
    """

    points: int
    compared: int = 0
    unjudged: int = 0
    functions: tuple[int, ...] = ()
    nonzero: tuple[int, ...] = ()
    reason: str = ""


@dataclass(slots=True)
class Outcome:
    """What a run found.

    Attributes:
        collected: the formulas.
        functions: the functions that were made of them.
        refused: what the compiler says of formulas that it refuses, by the number of the function.
        left_out: why no function was made of a formula, by its number.
        checked: what became of each operator.
        failures: the messages about failures, as the server wrote them.
        deaths: the operators at which a child died, with the number of the function and the reason.
    """

    collected: Collected
    functions: tuple[FormulaFunction, ...] = ()
    refused: dict[int, str] = field(default_factory=dict)
    left_out: dict[int, str] = field(default_factory=dict)
    checked: dict[str, Checked] = field(default_factory=dict)
    failures: list[dict[str, Any]] = field(default_factory=list)
    deaths: list[dict[str, Any]] = field(default_factory=list)

    def take(self, messages: Iterable[dict[str, Any]]) -> None:
        """Take what the process that checks says."""
        for message in messages:
            if "failure" in message:
                self.failures.append(message)
            elif "died" in message:
                self.deaths.append(message)
                self.checked[message["died"]] = Checked(0, reason=f"the process ended: {message['reason']}")
            elif "checked" in message:
                self.checked[message["checked"]] = Checked(
                    message["points"],
                    message["compared"],
                    message["unjudged"],
                    tuple(message["functions"]),
                    tuple(message["nonzero"]),
                    message["reason"],
                )
