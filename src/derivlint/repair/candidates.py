"""Targets of repairs, and the candidates for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from derivlint.formula import Edit
from derivlint.lint.diagnostic import Diagnostic, TextEdit
from derivlint.model import DerivativeFormula, DispatchBody

How = Literal["edit", "derivation"]


class Target(Struct, frozen=True):
    """A formula to repair, or a key whose formula is missing.

    Attributes:
        body: the formulas that it is one of, or will be.
        key: the key: an argument, ``result``, or several names.
        formula: the formula that is wrong, or None if there is none yet.
        findings: the findings that say so.
    """

    body: DispatchBody
    key: str
    formula: DerivativeFormula | None = None
    findings: tuple[Diagnostic, ...] = ()


class Candidate(Struct, frozen=True):
    """A formula that may be right.

    Attributes:
        text: the formula.
        how: the source of it.
        cost: how unlikely it is to be meant; candidates are ranked by it.
        edits: the changes of the formula that stands there; empty if it replaces the whole.
        cause: the slip that the edits undo, in words, ``the factor 2 is missing``; empty for a derivation.
    """

    text: str
    how: How
    cost: float
    edits: tuple[Edit, ...] = ()
    cause: str = ""


def edited(text: str, edits: Iterable[TextEdit]) -> str:
    """A text after edits of the file."""
    for edit in sorted(edits, key=lambda edit: (edit.span, edit.text), reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text
