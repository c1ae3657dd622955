"""Wording that messages of rules share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def distance(a: str, b: str, limit: int) -> int:
    """The edit distance of two words, counting a swap of neighbours as one; ``limit + 1`` where it is larger."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    previous = list(range(len(b) + 1))
    for i, char in enumerate(a, 1):
        current = [i]
        for j, other in enumerate(b, 1):
            cost = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (char != other))
            if i > 1 and j > 1 and char == b[j - 2] and a[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        before, previous = previous, current
    return previous[-1]


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that a misspelt name most probably means, or None where none is near.

    A third of the letters may differ, at most three; of equally near ones the first in alphabetical order wins.
    """
    limit = min(3, max(1, len(name) // 3))
    best: tuple[int, str] | None = None
    for candidate in sorted(set(candidates)):
        if candidate == name:
            continue
        lowered = distance(name.lower(), candidate.lower(), limit)
        if lowered <= limit and (best is None or lowered < best[0]):
            best = (lowered, candidate)
    return best[1] if best is not None else None


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
