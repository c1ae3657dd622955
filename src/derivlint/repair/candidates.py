"""Targets of repairs, and the candidates for them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from derivlint.formula import Edit
from derivlint.lint.diagnostic import Diagnostic
from derivlint.model import DerivativeFormula, DispatchBody

How = Literal["edit", "derivation"]


class Target(Struct, frozen=True):
    """A formula to repair, or a key whose formula is missing.

    Attributes:
        body: the formulas of its dispatch key.
        key: the key: an argument, ``result``, or several names.
        formula: the wrong formula, or None if it is missing.
        findings: the findings about it.
    """

    body: DispatchBody
    key: str
    formula: DerivativeFormula | None = None
    findings: tuple[Diagnostic, ...] = ()


class Candidate(Struct, frozen=True):
    """A formula that may be right.

    Attributes:
        text: the formula.
        how: its source.
        cost: the improbability that it is meant, by which candidates are ranked.
        edits: the edits of the present formula; empty if it is replaced as a whole.
        cause: a description of the mistake that the edits fix, ``the factor 2 is missing``; empty for a derivation.
        is_guess: whether it has nothing of the formula and of the operator's name: only its values can prove it.
    """

    text: str
    how: How
    cost: float
    edits: tuple[Edit, ...] = ()
    cause: str = ""
    is_guess: bool = False
