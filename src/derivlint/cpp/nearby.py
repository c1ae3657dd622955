"""Names that are one slip away from a known one: a letter too many, too few or another one, or two swapped."""

from __future__ import annotations

from collections.abc import Iterable

from derivlint.source.lazy import cached_property

#: Shorter names have too many neighbours.
SHORTEST = 4
#: Longer names have too many shortened forms; PyTorch's longest have some 60 letters.
LONGEST = 200


class Neighbours:
    """Finds the known name that is one slip away, by what names become when one letter is left out.

    Two words are one slip apart only if they share such a shortened form.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)

    @cached_property
    def _by_form(self) -> dict[str, list[str]]:
        """The names by their shortened forms; made for the first unknown name, and most files have none."""
        forms: dict[str, list[str]] = {}
        for name in sorted(self.names):
            if SHORTEST <= len(name) <= LONGEST:
                for form in {name, *_shortened(name)}:
                    forms.setdefault(form, []).append(name)
        return forms

    def nearest(self, name: str) -> str | None:
        """The known name that is one slip away from an unknown one, or None."""
        if name in self.names or not SHORTEST <= len(name) <= LONGEST:
            return None
        for form in (name, *_shortened(name)):
            for candidate in self._by_form.get(form, ()):
                if is_one_slip(name, candidate):
                    return candidate
        return None


def _shortened(name: str) -> list[str]:
    return [name[:index] + name[index + 1 :] for index in range(len(name))]


def is_one_slip(a: str, b: str) -> bool:
    """Whether two different words differ by one letter inserted, dropped or replaced, or by two neighbours swapped."""
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    rest, other_rest = a[start:], b[start:]
    if len(rest) == len(other_rest):
        return rest[1:] == other_rest[1:] or (rest[:2] == other_rest[:2][::-1] and rest[2:] == other_rest[2:])
    return rest[1:] == other_rest if len(rest) == len(other_rest) + 1 else rest == other_rest[1:]
