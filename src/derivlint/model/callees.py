"""Functions and methods that formulas call by a name that is one slip away from a declared one.

Which functions exist is declared in headers, of which only the names are known here: those of operators and, where the
operators come with them, of the helpers in FunctionsManual.h. So a name that is merely unknown says nothing; a name
that is unknown and one letter away from a known one is a slip.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from derivlint.formula import Call, Member, Name, Word, walk
from derivlint.model.entry import KeyedFormula
from derivlint.model.torch_lists import CPP_FUNCTIONS, CPP_METHODS
from derivlint.schema import NativeFunctions

SYMINT = "_symint"
#: Shorter names have too many neighbours.
SHORTEST = 4


@dataclass(frozen=True, slots=True)
class MisspeltCallee:
    """A call of a name that nothing declares.

    Attributes:
        word: the name.
        meant: the declared name that is one slip away.
        is_method: whether it is called as a method.
    """

    word: Word
    meant: str
    is_method: bool


class Callees:
    """The names that formulas can call, each found by what it becomes when one letter is left out.

    Two words are one slip apart (a letter too many, too few, another one, or two swapped) only if they share such a
    shortened form.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)

    @cached_property
    def _by_form(self) -> dict[str, list[str]]:
        """The names by their shortened forms; made for the first unknown name, and most files have none."""
        forms: dict[str, list[str]] = {}
        for name in sorted(self.names):
            if len(name) >= SHORTEST:
                for form in {name, *_shortened(name)}:
                    forms.setdefault(form, []).append(name)
        return forms

    def meant(self, name: str) -> str | None:
        """The known name that is one slip away from an unknown one, or None."""
        if name in self.names or len(name) < SHORTEST:
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
    rest, other = a[start:], b[start:]
    if len(rest) == len(other):
        return rest[1:] == other[1:] or (rest[:2] == other[:2][::-1] and rest[2:] == other[2:])
    return rest[1:] == other if len(rest) == len(other) + 1 else rest == other[1:]


@lru_cache(maxsize=8)
def known_functions(natives: NativeFunctions) -> Callees:
    """The functions that formulas can call without qualification or as ``at::name``."""
    names = {*natives.operator_names(), *natives.helpers, *CPP_FUNCTIONS}
    return Callees(names | {name + SYMINT for name in natives.operator_names()})


@lru_cache(maxsize=8)
def known_methods(natives: NativeFunctions) -> Callees:
    """The methods that formulas can call: operators that are methods, and what C++ classes declare."""
    names = {function.name.name_without_overload for function in natives.written if "method" in function.variants}
    return Callees(names | {name + SYMINT for name in names} | CPP_METHODS)


def misspelt_callees(line: KeyedFormula, natives: NativeFunctions) -> list[MisspeltCallee]:
    """The calls of a formula whose name is one slip away from a declared one."""
    if not line.is_expression or line.formula.tree is None or not natives.helpers:
        return []
    found: list[MisspeltCallee] = []
    for node in walk(line.formula.tree):
        if not isinstance(node, Call):
            continue
        callee = node.callee
        if isinstance(callee, Member):
            meant = known_methods(natives).meant(callee.name)
            word = Word(callee.name, callee.name_start, callee.name_end, "member")
        elif isinstance(callee, Name) and (callee.simple is not None or callee.spelling.startswith("at::")):
            part = callee.parts[-1]
            if len(callee.parts) > 2:
                continue
            meant = known_functions(natives).meant(part.identifier)
            word = Word(part.identifier, part.start, part.start + len(part.identifier), "callee")
        else:
            continue
        if meant is not None:
            found.append(MisspeltCallee(word, meant, isinstance(callee, Member)))
    return sorted(found, key=lambda item: item.word.start)
