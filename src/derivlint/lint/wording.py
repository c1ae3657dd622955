"""Formatting of names and lists in messages, and suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

#: The maximum number of suggestions for a misspelt name.
MANY_NEAR = 4
#: The minimum size of tuples of names that are indexed and cached, such as all operators or functions.
MANY = 1000
#: The maximum length of words that are treated as misspelt names.
LONGEST = 1000


def distance(a: str, b: str, limit: int) -> int:
    """Return the edit distance, or ``limit + 1`` if it is larger; swapping adjacent letters is one edit."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    if not a:
        return len(b)
    # a column of the distance table is represented by bit vectors of its differences (Hyyro, "A bit-vector algorithm
    # for computing Levenshtein and Damerau edit distances", 2003)
    places: dict[str, int] = {}
    for i, char in enumerate(a):
        places[char] = places.get(char, 0) | 1 << i
    every, last = (1 << len(a)) - 1, 1 << len(a) - 1
    rises, falls, diagonal, before, result = every, 0, 0, 0, len(a)
    for char in b:
        same = places.get(char, 0)
        swapped = (~diagonal & same) << 1 & before
        diagonal = ((((same & rises) + rises) ^ rises) | same | falls | swapped) & every
        more, less = falls | ~(diagonal | rises), diagonal & rises
        if more & last:
            result += 1
        elif less & last:
            result -= 1
        more = more << 1 | 1
        rises = (less << 1 | ~(diagonal | more)) & every
        falls = diagonal & more
        before = same
    return min(result, limit + 1)


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The first of the candidates nearest to a misspelt name, or None."""
    return next(iter(nearest_names(name, candidates)), None)


def nearest_names(name: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """The candidates nearest to a misspelt name: first those without new letters, then alphabetically.

    At most a third of the letters may differ, and at most three. Among equally near names, anagrams win ("sihn" is
    "sinh" rather than "sign").
    """
    if len(name) > LONGEST:
        return ()
    limit = min(3, max(1, len(name) // 3))
    lowered, letters = _letters(name)
    if isinstance(candidates, tuple) and len(candidates) >= MANY:
        by_length = _by_length(candidates)
    else:
        by_length = _arranged(candidates)
    near = [
        ((other_letters ^ letters) & FIRST != 0, candidate, lowered_candidate, other_letters != letters)
        for length in range(len(lowered) - limit, len(lowered) + limit + 1)
        for candidate, lowered_candidate, other_letters in by_length.get(length, ())
        if (letters & ~other_letters).bit_count() <= limit
        and (other_letters & ~letters).bit_count() <= limit
        and candidate != name
    ]
    nearest: list[str] = []
    best = (limit + 1, False)
    for _, candidate, lowered_candidate, differs in sorted(near):
        rank = distance(lowered, lowered_candidate, limit), differs
        if rank < best:
            nearest, best, limit = [], rank, rank[0]
        if rank == best and rank[0] <= limit:
            nearest.append(candidate)
    # drop the in-place form of an operator, which is equally near
    return tuple(candidate for candidate in nearest if candidate[-1:] != "_" or candidate[:-1] not in nearest)


def _arranged(candidates: Iterable[str]) -> dict[int, list[tuple[str, str, int]]]:
    """Group names by length of their lower-case form, each with that form and its letters."""
    arranged: dict[int, list[tuple[str, str, int]]] = {}
    for candidate in set(candidates):
        lowered, letters = _letters(candidate)
        arranged.setdefault(len(lowered), []).append((candidate, lowered, letters))
    return arranged


_by_length = lru_cache(maxsize=4)(_arranged)


#: The bits for one occurrence of each letter.
FIRST = (1 << 64) - 1
#: The bits for a third occurrence of each letter.
THIRD = FIRST << 128


@lru_cache(maxsize=8192)
def _letters(name: str) -> tuple[str, int]:
    """The lower-case form of a name and its letters as bits, up to three of each: an edit removes at most one."""
    lowered = name.lower()
    bits = 0
    for char in lowered:
        bit = 1 << (ord(char) & 63)
        while bits & bit & ~THIRD:
            bit <<= 64
        bits |= bit
    return lowered, bits


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """The question "did you mean ...", or None if no candidate is near."""
    near = nearest_names(name, candidates)
    return f"did you mean {quoted_list(near[:MANY_NEAR], 'or')}?" if near else None


def unknown_name(fact: str, name: str, candidates: Iterable[str], otherwise: str = "") -> str:
    """Append to the fact about an unknown name the nearest candidates, or else ``otherwise``."""
    advice = did_you_mean(name, candidates) or otherwise
    return f"{fact}; {advice}" if advice else fact


def quoted(name: str) -> str:
    """Quote a name as all messages do."""
    return f'"{name}"'


def quoted_list(names: Sequence[str], word: str = "and") -> str:
    """Format a list of quoted names: ``"a", "b" and "c"``."""
    quotes = [quoted(name) for name in names]
    if len(quotes) < 2:
        return "".join(quotes)
    return f"{', '.join(quotes[:-1])} {word} {quotes[-1]}"


def once_in_each_term(names: Sequence[str]) -> str:
    """Format the help for what is not linear in gradients or tangents."""
    if len(names) == 1:
        return f"use {quoted(names[0])} once in each term, as a factor"
    return f"use only one of {quoted_list(names)} in each term, as a factor"


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Format a number with its noun: ``1 output``, ``2 outputs``."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def listed(noun: str, names: Sequence[str]) -> str:
    """Format names as a sentence: ``the outputs are "a" and "b"``, or ``there is no output``."""
    if not names:
        return f"there is no {noun}"
    return f"the {noun} is {quoted(names[0])}" if len(names) == 1 else f"the {noun}s are {quoted_list(names)}"
