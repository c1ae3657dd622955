"""Wording that messages of rules share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

#: As many names as these are those of all operators, or of all functions.
MANY = 1000
#: What is longer than the name of an operator will ever be is not a misspelt one.
LONGEST = 1000


def distance(a: str, b: str, limit: int) -> int:
    """The edit distance of two words, counting a swap of neighbours as one; ``limit + 1`` where it is larger."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    if not a:
        return len(b)
    # a column of the table of distances is as many bits, which say where it rises and falls (Hyyro, "A bit-vector
    # algorithm for computing Levenshtein and Damerau edit distances", 2003)
    places: dict[str, int] = {}
    for i, char in enumerate(a):
        places[char] = places.get(char, 0) | 1 << i
    every, last = (1 << len(a)) - 1, 1 << len(a) - 1
    rises, falls, diagonal, before, found = every, 0, 0, 0, len(a)
    for char in b:
        same = places.get(char, 0)
        swapped = (~diagonal & same) << 1 & before
        diagonal = ((((same & rises) + rises) ^ rises) | same | falls | swapped) & every
        more, less = falls | ~(diagonal | rises), diagonal & rises
        if more & last:
            found += 1
        elif less & last:
            found -= 1
        more = more << 1 | 1
        rises = (less << 1 | ~(diagonal | more)) & every
        falls = diagonal & more
        before = same
    return min(found, limit + 1)


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that a misspelt name most probably means, or None where none is near.

    A third of the letters may differ, at most three. Of equally near ones that with the same letters wins ("sihn" is
    "sinh" rather than "sign"), then the first in alphabetical order.
    """
    if len(name) > LONGEST:
        return None
    limit = min(3, max(1, len(name) // 3))
    lowered, letters = _letters(name)
    # thousands of names are compared where nothing fits: what a glance rules out is not looked at again
    if isinstance(candidates, tuple) and len(candidates) >= MANY:
        by_length = _by_length(candidates)
    else:
        by_length = _arranged(candidates)
    near = [
        ((other_letters ^ letters) & FIRST != 0, candidate, other)
        for length in range(len(lowered) - limit, len(lowered) + limit + 1)
        for candidate, other, other_letters in by_length.get(length, ())
        if (letters & ~other_letters).bit_count() <= limit
        and (other_letters & ~letters).bit_count() <= limit
        and candidate != name
    ]
    best: str | None = None
    for _, candidate, other in sorted(near):
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


#: The bits of letters that a name has at all.
FIRST = (1 << 64) - 1
#: The bits of those that it has for the third time, or more often.
THIRD = FIRST << 128


@lru_cache(maxsize=8192)
def _letters(name: str) -> tuple[str, int]:
    """A name in small letters, and as bits how often it has each, up to three times: an edit removes one at most."""
    lowered = name.lower()
    bits = 0
    for char in lowered:
        bit = 1 << (ord(char) & 63)
        while bits & bit & ~THIRD:
            bit <<= 64
        bits |= bit
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
