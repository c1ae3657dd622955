"""What was found in one entry, and where that is in a later text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from derivlint.lint.diagnostic import Diagnostic
from derivlint.lint.engine.precedence import Claim, Premises, base_of, resting_on_others
from derivlint.lint.engine.run import Asked
from derivlint.model.query import Read
from derivlint.source import Span
from derivlint.source.lazy import cached_property

#: Says which findings are left of the claims about an entry.
Settle = Callable[[tuple[Claim, ...], Premises], Iterable[Diagnostic]]
#: The place of what is at another place, in another text; None where it is gone.
Move = Callable[[Span], Span | None]


class Found(Struct, frozen=True, dict=True):
    """What was found in one entry, or in the file as a whole, where no check crashed.

    Attributes:
        claims: what rules say, before findings yield to others, at its places in the text that it was found in.
        asked: what was looked up meanwhile.
        start: where the piece of the entry began in that text.
        is_inside: whether all places lie in the piece, so that they move with it.
    """

    claims: tuple[Claim, ...]
    asked: tuple[Asked, ...]
    start: int = 0
    is_inside: bool = False

    @classmethod
    def of(cls, claims: tuple[Claim, ...], asked: tuple[Asked, ...], piece: Span) -> Found:
        """What was found in the entry whose piece this is."""
        # what is at the end may come after what is found in the next piece
        inside = all(piece.contains(place) and place.start < piece.end for claim in claims for place in _places(claim))
        return cls(claims, asked, piece.start, inside)

    @property
    def reads(self) -> Iterator[Read]:
        """All that was looked up; some of it more than once."""
        return chain.from_iterable(each.reads for each in self.asked)

    def to_ask(self, touched: set[Read]) -> frozenset[int]:
        """The positions of the rules that looked up something of this."""
        found: frozenset[int] = frozenset()
        for each in self.asked:
            if not touched.isdisjoint(each.reads):
                found |= each.rules
        return found

    def claims_at(self, start: int) -> tuple[Claim, ...]:
        """The claims in a text in which the piece begins there."""
        found = self if start == self.start else self.moved(_by(start - self.start), start)
        assert found is not None, "what lies in the piece moves with it"
        return found.claims

    def entry(self, name_of_all: Callable[[tuple[Claim, ...]], str | None]) -> str | None:
        """The entry that all claims are of, if they lie in its piece, and nothing said of others explains them.

        Args:
            name_of_all: says so of claims; it is asked once.
        """
        if "_entry" not in self.__dict__:
            self.__dict__["_entry"] = name_of_all(self.claims) if self.is_inside else None
        name: str | None = self.__dict__["_entry"]
        return name

    @cached_property
    def rests_on(self) -> frozenset[str]:
        """The base names of the other entries that claims rest on."""
        return frozenset(base_of(operator) for *_, operator in self._resting)

    @cached_property
    def _resting(self) -> tuple[tuple[int, Diagnostic, str], ...]:
        return tuple(resting_on_others(self.claims))

    @cached_property
    def rules(self) -> frozenset[str]:
        """The rules that say something."""
        return frozenset(claim.diagnostic.rule for claim in self.claims)

    def left(self, premises: Premises, settle: Settle) -> tuple[Diagnostic, ...]:
        """The findings that are left of the claims about such an entry, where they were found.

        Args:
            premises: what is wrong with the entries that findings rest on.
            settle: says which are left; it is asked once for each set of claims that rest on others in vain.
        """
        known: dict[frozenset[int], tuple[Diagnostic, ...]] = self.__dict__.setdefault("_left", {})
        rejected = premises.rejected(self._resting)
        found = known.get(rejected)
        if found is None:
            found = known[rejected] = tuple(sorted(settle(self.claims, premises), key=Diagnostic.identity))
        return found

    def placed(self, findings: Iterable[Diagnostic], start: int) -> tuple[Diagnostic, ...]:
        """Findings that are left of the claims in a text in which the piece begins there."""
        return moved_findings(findings, start - self.start)

    def moved(self, move: Move, start: int) -> Found | None:
        """The same in a text in which the piece begins there; None where something is gone that a claim speaks of."""
        claims = tuple(moved_claim(claim, move) for claim in self.claims)
        there = tuple(claim for claim in claims if claim is not None)
        return Found(there, self.asked, start, self.is_inside) if len(there) == len(claims) else None


def moved_claim(claim: Claim, move: Move) -> Claim | None:
    """A claim where its places are in another text; None where one of them is gone."""
    there = moved_diagnostic(claim.diagnostic, move)
    about = move(claim.about) if claim.about is not None else None
    if there is None or (about is None and claim.about is not None):
        return None
    is_here = there is claim.diagnostic and about == claim.about
    return claim if is_here else replace(claim, diagnostic=there, about=about)


def moved_diagnostic(item: Diagnostic, move: Move) -> Diagnostic | None:
    """A finding where its places are in another text; None where one of them is gone."""
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


def _places(claim: Claim) -> Iterator[Span]:
    yield from places_of(claim.diagnostic)
    if claim.about is not None:
        yield claim.about


def moved_findings(findings: Iterable[Diagnostic], offset: int) -> tuple[Diagnostic, ...]:
    """Findings in a text in which all of their places are so many characters later."""
    return tuple([_later(item, offset) for item in findings] if offset else findings)


def _later(item: Diagnostic, offset: int) -> Diagnostic:
    if not item.related and item.fix is None:
        return replace(item, span=item.span.shift(offset))
    found = moved_diagnostic(item, _by(offset))
    assert found is not None, "no place is gone where all move alike"
    return found


def _by(offset: int) -> Move:
    return lambda span: span.shift(offset)
