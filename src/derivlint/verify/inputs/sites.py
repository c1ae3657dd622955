"""The branches of formulas: conditions and masks in their syntax trees, and the values they compare with."""

from __future__ import annotations

import ast

from msgspec import Struct

from derivlint.analysis.scalar_evaluation.bounds import bounds_in, called_name
from derivlint.formula import Call, Conditional, Expr, String, parse_formula, walk
from derivlint.operators import Book

_MASK_FIRST, _MASK_SECOND = Book.by_hand("mask-first"), Book.by_hand("mask-second")


class Site(Struct, frozen=True):
    """A condition with two arms, or a mask that selects elements.

    Attributes:
        start: its offset in the formula.
        end: the offset after it.
        text: the condition.
        is_mask: whether the condition is a tensor.
    """

    start: int
    end: int
    text: str
    is_mask: bool = False


class Decisions(Struct, frozen=True):
    """The branches of a formula.

    Attributes:
        sites: its conditions and masks, none within another.
        bounds: the numbers in its comparisons.
        words: the strings in its comparisons.
    """

    sites: tuple[Site, ...] = ()
    bounds: tuple[float, ...] = ()
    words: tuple[str, ...] = ()


def decisions_of(text: str) -> Decisions:
    """Collect the branches of a formula; none if it cannot be parsed."""
    tree = parse_formula(text).tree
    if tree is None:
        return Decisions()
    sites: list[Site] = []
    for node in walk(tree):
        candidate = _site(node, text) if isinstance(node, Expr) else None
        if candidate is not None and not any(
            site.start < candidate.end and candidate.start < site.end for site in sites
        ):
            sites.append(candidate)
    words = {ast.literal_eval(node.text) for node in walk(tree) if isinstance(node, String)}
    return Decisions(tuple(sites), tuple(sorted(bounds_in(tree))), tuple(sorted(words)))


def instrumented(text: str, sites: tuple[Site, ...], function: int) -> str:
    """Instrument a formula so that it records taken branches; its line numbers stay the same.

    Args:
        text: the formula.
        sites: its conditions and masks.
        function: the number of its function.
    """
    order = sorted(enumerate(sites), key=lambda item: -item[1].start)
    for index, site in order:
        name = "derivlint_verify::mask" if site.is_mask else "derivlint_verify::arm"
        text = f"{text[: site.start]}{name}({function}, {index}, {text[site.start : site.end]}){text[site.end :]}"
    return text


def _site(node: Expr, text: str) -> Site | None:
    if isinstance(node, Conditional):
        condition = node.condition
        return Site(condition.start, condition.end, text[condition.start : condition.end])
    if not isinstance(node, Call):
        return None
    name, is_method = called_name(node)
    name = name.removesuffix("_")
    if name not in _MASK_FIRST | _MASK_SECOND:
        return None
    # a method's tensor is its first argument, except in "self.where(condition, other)"
    place = int(name in _MASK_SECOND and not is_method)
    if len(node.args) <= place:
        return None
    mask = node.args[place]
    return Site(mask.start, mask.end, text[mask.start : mask.end], is_mask=True)
