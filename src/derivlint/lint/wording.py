"""Wording that messages of rules share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache


def distance(a: str, b: str, limit: int) -> int:
    """The edit distance of two words, counting a swap of neighbours as one; ``limit + 1`` where it is larger."""
    far = limit + 1
    if abs(len(a) - len(b)) > limit:
        return far
    before: list[int] = []
    previous = [min(j, far) for j in range(len(b) + 1)]
    for i, char in enumerate(a, 1):
        # whatever is farther from the diagonal than the limit takes more edits than that
        first, last = max(1, i - limit), min(len(b), i + limit)
        current = [far] * (len(b) + 1)
        current[0] = min(i, far)
        least = current[0]
        for j in range(first, last + 1):
            other = b[j - 1]
            cost = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (char != other), far)
            if i > 1 and j > 1 and char == b[j - 2] and a[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            current[j] = cost
            least = min(least, cost)
        if least > limit:
            return far
        before, previous = previous, current
    return previous[-1]


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that a misspelt name most probably means, or None where none is near.

    A third of the letters may differ, at most three. Of equally near ones that with the same letters wins ("sihn" is
    "sinh" rather than "sign"), then the first in alphabetical order.
    """
    limit = min(3, max(1, len(name) // 3))
    lowered, letters = _letters(name)
    # thousands of names are compared where nothing fits: what a glance rules out is not looked at again
    by_length = _by_length(candidates) if isinstance(candidates, tuple) else _arranged(candidates)
    near = [
        (other_letters != letters, candidate, other, other_letters)
        for length in range(len(lowered) - limit, len(lowered) + limit + 1)
        for candidate, other, other_letters in by_length.get(length, ())
        if (letters & ~other_letters).bit_count() <= limit
        and (other_letters & ~letters).bit_count() <= limit
        and candidate != name
    ]
    best: str | None = None
    for _, candidate, other, other_letters in sorted(near):
        if (letters & ~other_letters).bit_count() > limit or (other_letters & ~letters).bit_count() > limit:
            # a nearer one was found since
            continue
        found = distance(lowered, other, limit)
        if found <= limit:
            best, limit = candidate, found - 1
            if not found:
                break
    return best


def _arranged(candidates: Iterable[str]) -> dict[int, list[tuple[str, str, int]]]:
    """Names by their length in small letters, each with those and the set of them."""
    arranged: dict[int, list[tuple[str, str, int]]] = {}
    for candidate in set(candidates):
        lowered, letters = _letters(candidate)
        arranged.setdefault(len(lowered), []).append((candidate, lowered, letters))
    return arranged


#: The names of all operators are asked for again and again.
_by_length = lru_cache(maxsize=4)(_arranged)


@lru_cache(maxsize=8192)
def _letters(name: str) -> tuple[str, int]:
    """A name in small letters, and the set of these as bits; each edit removes at most one from the set."""
    lowered = name.lower()
    bits = 0
    for char in lowered:
        bits |= 1 << (ord(char) & 63)
    return lowered, bits


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """The question "did you mean ...", or None where nothing is near."""
    found = closest(name, candidates)
    return f'did you mean "{found}"?' if found is not None else None


def quoted(name: str) -> str:
    """A name in the quotes that all messages use."""
    return f'"{name}"'


def quoted_list(names: Sequence[str], word: str = "and") -> str:
    """Names in quotes as a list in prose: ``"a", "b" and "c"``."""
    quotes = [quoted(name) for name in names]
    if len(quotes) < 2:
        return "".join(quotes)
    return f"{', '.join(quotes[:-1])} {word} {quotes[-1]}"


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun: ``1 output``, ``2 outputs``."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def listed(noun: str, names: Sequence[str]) -> str:
    """What there is of something: ``the outputs are "a" and "b"``, or ``there is no output``."""
    if not names:
        return f"there is no {noun}"
    return f"the {noun} is {quoted(names[0])}" if len(names) == 1 else f"the {noun}s are {quoted_list(names)}"
