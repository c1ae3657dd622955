"""Changes of a formula that is not C++: of one token, or between two, so that it can be parsed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from derivlint.formula import Edit, Token, apply_edits, parse_formula, tokens
from derivlint.formula.vocabulary import TRIVIA
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula
from derivlint.repair.slips import Change, Slip

#: What is lost or typed for something else.
_MARKS = ("(", ")", ",", ".", "::", "*", "-", "+", "/", "_")
#: Longer formulas are not edited by tokens.
MAX_TOKENS = 150


def token_changes(formula: DerivativeFormula) -> Iterator[Change]:
    """The changes of one token that make a formula C++."""
    text = formula.text or ""
    for change in _changes(text):
        if parse_formula(apply_edits(text, [change.edit])).tree is not None:
            yield change


def _changes(text: str) -> Iterator[Change]:
    parts = [token for token in tokens(text) if token.type not in TRIVIA]
    if len(parts) > MAX_TOKENS:
        return
    for token in parts:
        yield Change(Slip.TOKEN, Edit(token.start, token.end, ""), f"{quoted(token.text)} is superfluous")
        if not _is_word(token):
            for mark in _MARKS:
                cause = f"{quoted(mark)} is meant, not {quoted(token.text)}"
                yield Change(Slip.TOKEN, Edit(token.start, token.end, mark), cause)
    for left, right in pairwise(parts):
        for mark in _MARKS:
            is_joint = mark in ("_", ".", "::")
            end = right.start if is_joint else left.end
            yield Change(
                Slip.TOKEN, Edit(left.end, end, mark if is_joint else _spaced(mark)), f"{quoted(mark)} is missing"
            )
    for mark in (")", "("):
        place = len(text) if mark == ")" else 0
        yield Change(Slip.TOKEN, Edit(place, place, mark), f"{quoted(mark)} is missing")


def _is_word(token: Token) -> bool:
    return token.text[:1].isalnum() or token.text[:1] in "_\"'"


def _spaced(mark: str) -> str:
    return f" {mark}" if mark in "*-+/" else mark
