"""Edits of a formula that does not parse: of one token, or between two."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise

from derivlint.cpp.naming import NAMESPACES
from derivlint.formula import Edit, apply_edits, parse_formula, tokens
from derivlint.formula.vocabulary import TRIVIA
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula
from derivlint.model.scope import visible_names
from derivlint.repair.slips import Change, Slip

#: Tokens that are often lost or mistyped.
_MARKS = ("(", ")", ",", ".", "::", "*", "-", "+", "/", "_")
#: How much likelier a bracket is lost at the end than anywhere else.
AT_END = 4


def token_changes(formula: DerivativeFormula) -> Iterator[Change]:
    """The changes of one token that make a formula C++."""
    text = formula.text or ""
    for change in _changes(text, visible_names(formula)):
        if parse_formula(apply_edits(text, [change.edit])).tree is not None:
            yield change


def _changes(text: str, names: Collection[str]) -> Iterator[Change]:
    parts = [token for token in tokens(text) if token.type not in TRIVIA]
    in_namespace = {name.start for namespace, name in pairwise(parts) if namespace.text in NAMESPACES}
    for token in parts:
        yield Change(Slip.TOKEN, Edit(token.start, token.end, ""), f"{quoted(token.text)} is superfluous")
        if token.text[:1].isalnum() or token.text[:1] in "_\"'":
            for name in (*names, *map(str, range(4))):
                if token.text.endswith(name) and token.text != name:
                    place = token.end - len(name)
                    yield Change(Slip.TOKEN, Edit(place, place, "("), '"(" is missing')
        else:
            for mark in _MARKS:
                if mark == "::" and token.start not in in_namespace:
                    continue
                cause = f"{quoted(mark)} is meant, not {quoted(token.text)}"
                yield Change(Slip.TOKEN, Edit(token.start, token.end, mark), cause)
    for left, right in pairwise(parts):
        for mark in _MARKS:
            if mark == "::" and right.start not in in_namespace:
                continue
            is_joint = mark in ("_", ".", "::")
            end = right.start if is_joint else left.end
            inserted = f" {mark}" if mark in "*-+/" else mark
            yield Change(Slip.TOKEN, Edit(left.end, end, inserted), f"{quoted(mark)} is missing")
    yield Change(Slip.TOKEN, Edit(len(text), len(text), ")"), '")" is missing', AT_END)
    yield Change(Slip.TOKEN, Edit(0, 0, "("), '"(" is missing')
