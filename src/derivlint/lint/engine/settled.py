"""What is left of what was found in a text, kept for the next one: only what an edit concerns is settled again.

What is left of the findings in an entry depends on what is said of it and, where that rests on other entries, on what
is wrong with those (:class:`~derivlint.lint.engine.precedence.Premises`). Of most entries only one part of the text
says something; what is said of the others is settled together.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from msgspec import Struct

from derivlint.lint.diagnostic import Diagnostic
from derivlint.lint.engine.found import Found, moved_findings
from derivlint.lint.engine.precedence import Claim, Premises
from derivlint.lint.engine.result import Result
from derivlint.lint.engine.run import Checker, Raw

#: What is left of the findings in one entry; None where they are settled together with others.
Left = tuple[Diagnostic, ...] | None


class FoundText(Struct, frozen=True):
    """What was found in a text.

    Attributes:
        starts: where the piece of each entry begins.
        found: what was found in each; None where a check crashed.
        whole: what was said of the file as a whole, and of entries on which checks crashed.
    """

    starts: Sequence[int]
    found: Sequence[Found | None]
    whole: Sequence[Raw]

    @property
    def said(self) -> list[Claim]:
        """What was said of the file as a whole, and of entries on which checks crashed."""
        return [claim for raw in self.whole for claim in raw.claims]

    def at(self, positions: Iterable[int]) -> list[Found]:
        """What was found in some entries."""
        return [found for at in positions if (found := self.found[at]) is not None]


class Settled(Struct, frozen=True):
    """What is left of what was found in a text.

    Attributes:
        text: what was found.
        claimed: the positions of entries in which something was found.
        left: what is left of that in each.
        parts: how many parts of the text say something of the entry with a name; who speaks of several counts twice.
        bases: the base names of other entries that findings rest on, or did in earlier texts.
        premises: what is wrong with the entries that findings rest on.
        result: what is left of everything.
    """

    text: FoundText
    claimed: list[int]
    left: list[Left]
    parts: Counter[str | None]
    bases: frozenset[str]
    premises: Premises
    result: Result

    @property
    def joint(self) -> list[int]:
        """The positions of entries whose findings are settled together; what is outside of its piece is in these."""
        return [at for at, left in zip(self.claimed, self.left, strict=True) if left is None]


def settle(
    checker: Checker,
    text: FoundText,
    others: Sequence[int],
    same: Iterable[tuple[int, int, int]] = (),
    before: Settled | None = None,
) -> Settled:
    """Find out what is left.

    Args:
        checker: knows the rules.
        text: what was found.
        others: the positions of entries in which something else may be found than in an earlier text, in order.
        same: the runs of entries that are in that one as well.
        before: what was left there.
    """
    claimed: list[int] = []
    left: list[Left] = []
    gone: list[Found] = []
    if before is not None:
        after = 0
        for old, new, size in (*_without(same, others), (len(before.text.found), 0, 0)):
            first, last = bisect_left(before.claimed, old), bisect_left(before.claimed, old + size)
            gone += before.text.at(before.claimed[after:first])
            after = last
            if first < last:
                there, findings = before.claimed[first:last], before.left[first:last]
                offset = text.starts[new] - before.text.starts[old]
                claimed += [at + new - old for at in there] if old != new else there
                left += [each and moved_findings(each, offset) for each in findings] if offset else findings
    concerned = {at for at in others if any(each.claims for each in text.at([at]))}
    for at in sorted(concerned):
        index = bisect_left(claimed, at)
        claimed.insert(index, at)
        left.insert(index, None)

    new_ones, said, said_before = text.at(concerned), text.said, before.text.said if before is not None else []
    premises = checker.premises(
        chain(said, *(each.claims for each in new_ones)),
        chain(said_before, *(each.claims for each in gone)),
        before.premises if before is not None else None,
    )
    parts = before.parts.copy() if before is not None else Counter()
    more = _parts(checker, said, new_ones)
    more.subtract(_parts(checker, said_before, gone))
    turned = {name for name, number in more.items() if (parts[name] < 2) != (parts[name] + number < 2)}
    for name, number in more.items():
        parts[name] += number
        if not parts[name]:
            del parts[name]
    bases = frozenset(before.bases if before is not None else ()).union(*(each.rests_on for each in new_ones))
    touched = premises.concerned(bases)
    if turned or touched:
        for at, each in zip(claimed, text.at(claimed), strict=True):
            if not touched.isdisjoint(each.rests_on) or (turned and each.entry(checker.name_of_all) in turned):
                concerned.add(at)

    for at, each in zip(concerned, text.at(concerned), strict=True):
        name = each.entry(checker.name_of_all)
        is_joint = name is None or parts[name] > 1
        left[bisect_left(claimed, at)] = (
            each.placed(each.left(premises, checker.left), text.starts[at]) if not is_joint else None
        )
    rest = said
    for at, settled in zip(claimed, left, strict=True):
        if settled is None:
            rest += (claim for each in text.at([at]) for claim in each.claims_at(text.starts[at]))
    far = checker.reaching(rest)
    beside = (
        claim for each in text.at(claimed if far else ()) if not far.isdisjoint(each.rules) for claim in each.claims
    )
    ordered = [item for settled in left if settled for item in settled]
    result = checker.result(text.whole, checker.left(rest, premises, beside), ordered)
    return Settled(text, claimed, left, parts, bases, premises, result)


def _without(runs: Iterable[tuple[int, int, int]], others: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Runs of entries without those at some positions."""
    for old, new, size in runs:
        start = new
        for at in (*others[bisect_left(others, new) : bisect_left(others, new + size)], new + size):
            if start < at:
                yield old + start - new, start, at - start
            start = at + 1


def _parts(checker: Checker, said: Iterable[Claim], found: Iterable[Found]) -> Counter[str | None]:
    """How many parts say something of the entry with a name; who speaks of several counts twice."""
    parts: Counter[str | None] = Counter()
    said = [*said]
    for each in found:
        name = each.entry(checker.name_of_all)
        if name is not None:
            parts[name] += 1
        else:
            said += each.claims
    for claim in said:
        parts[claim.diagnostic.entry] += 2
    return parts
