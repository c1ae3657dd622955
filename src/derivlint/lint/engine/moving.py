"""Findings at other places: in a text in which their entry, or one that they point to, has moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from derivlint.lint.diagnostic import Diagnostic
from derivlint.lint.engine.precedence import Claim
from derivlint.source import Span

#: Maps a place to another text; None where it is gone.
Move = Callable[[Span], Span | None]


def moved_claim(claim: Claim, move: Move) -> Claim | None:
    """A claim at its places in another text; None where one of them is gone."""
    there = moved_diagnostic(claim.diagnostic, move)
    about = move(claim.about) if claim.about is not None else None
    if there is None or (about is None and claim.about is not None):
        return None
    is_here = there is claim.diagnostic and about == claim.about
    return claim if is_here else replace(claim, diagnostic=there, about=about)


def moved_diagnostic(item: Diagnostic, move: Move) -> Diagnostic | None:
    """A finding at its places in another text; None where one of them is gone."""
    span = move(item.span)
    if span is None:
        return None
    fix = item.fix
    if not item.related and fix is None:
        return item if span == item.span else replace(item, span=span)
    related = []
    for part in item.related:
        place = part.span if part.path not in (None, item.path) else move(part.span)
        if place is None:
            return None
        related.append(replace(part, span=place))
    if fix is not None:
        edits = []
        for edit in fix.edits:
            place = move(edit.span)
            if place is None:
                return None
            edits.append(replace(edit, span=place))
        fix = replace(fix, edits=tuple(edits))
    return replace(item, span=span, related=tuple(related), fix=fix)


def places_of(item: Diagnostic) -> Iterator[Span]:
    """The places in the file that a finding speaks of."""
    yield item.span
    yield from (part.span for part in item.related if part.path in (None, item.path))
    yield from (edit.span for edit in (item.fix.edits if item.fix is not None else ()))


def places_of_claim(claim: Claim) -> Iterator[Span]:
    """The places in the file that a claim speaks of."""
    yield from places_of(claim.diagnostic)
    if claim.about is not None:
        yield claim.about
