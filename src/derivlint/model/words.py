r"""The names in a formula, as C++ variables and as matches of torchgen's patterns.

torchgen finds names with the pattern ``(^|\W)name($|\W)``: it matches every run of word characters, including those in
string literals, after a dot and in ``at::name``. The pattern consumes one character on both sides, so of two uses
separated by a single character it replaces only the first. The model needs both readings.

This module also finds calls of ``sizes()``, which would specialize symbolic sizes when PyTorch traces backward
formulas. Follows load_derivatives.py, ``saved_variables``, which rejects the text ``.sizes()``, ``.size(<number>)`` and
``.strides()`` anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby

from msgspec import Struct

from derivlint.formula import Call, Edit, Formula, Member, Name, Number, Unary, Word, apply_edits, parse_formula

#: The roles of words that are not uses of a variable.
NOT_A_VARIABLE = frozenset({"string", "comment", "member", "qualified", "type", "lambda"})


def occurrences(formula: Formula, name: str) -> tuple[Word, ...]:
    """The occurrences of a name in the formula, in any role."""
    return formula.words_by_text.get(name, ())


def mentions(formula: Formula, name: str) -> bool:
    """Whether torchgen's pattern matches ``name`` in the formula."""
    return name in formula.words_by_text


def variable_uses(formula: Formula, name: str) -> tuple[Word, ...]:
    """The uses of the C++ variable ``name``, without members, qualified names, strings and comments."""
    return tuple(word for word in occurrences(formula, name) if word.role not in NOT_A_VARIABLE)


def replaced_occurrences(formula: Formula, name: str) -> tuple[Word, ...]:
    """The occurrences that torchgen's ``re.sub`` and ``re.findall`` match, in source order.

    A match consumes one character on each side of the name, so the second use in ``self*self`` is missed.
    """
    seen: list[Word] = []
    taken = 0
    for word in occurrences(formula, name):
        if word.start == 0 or word.start - 1 >= taken:
            seen.append(word)
            taken = word.end + 1
    return tuple(seen)


class Substitution(Struct, frozen=True):
    """A text after replacements, with its words."""

    text: str
    words: frozenset[str]


def substitute(text: str, replacements: Mapping[str, str]) -> Substitution:
    """Apply torchgen's ``re.sub`` for one identifier after the other.

    One pass suffices as long as no replacement contains a later name.
    """
    formula = parse_formula(text)
    edits: list[Edit] = []
    words = set(formula.words_by_text)
    new_words: set[str] = set()
    for name, replacement in replacements.items():
        replaced = replaced_occurrences(formula, name)
        if replaced:
            edits.extend(Edit(word.start, word.end, replacement) for word in replaced)
            new_words.update(word.text for word in parse_formula(replacement).words)
            if len(replaced) == len(occurrences(formula, name)):
                words.discard(name)
    if not edits:
        return Substitution(text, frozenset(words))
    return Substitution(apply_edits(text, edits), frozenset(words | new_words))


def rewrite_words(text: str, rewrite: Callable[[str], str]) -> tuple[str, list[tuple[Word, str]]]:
    """Rewrite each word of a text; return the new text, and the changed words with their new forms.

    A special case is ``str.replace`` of a fragment of word characters.
    """
    formula = parse_formula(text)
    changed: list[tuple[Word, str]] = []
    for word in formula.words:
        new = rewrite(word.text)
        if new != word.text:
            changed.append((word, new))
    if not changed:
        return text, changed
    return apply_edits(text, [Edit(word.start, word.end, new) for word, new in changed]), changed


class WordReplacer:
    """A text under successive ``str.replace`` of fragments of words.

    The text is split into words once.
    """

    def __init__(self, text: str) -> None:
        formula = parse_formula(text)
        self._pieces: list[str] = []
        # the roles of words, None for text in between
        self._roles: list[str | None] = []
        end = 0
        for word in formula.words:
            self._pieces += (text[end : word.start], word.text)
            self._roles += (None, word.role)
            end = word.end
        self._pieces.append(text[end:])
        self._roles.append(None)

    @property
    def text(self) -> str:
        """The text after all replacements."""
        return "".join(self._pieces)

    def replace(self, old: str, new: str) -> list[tuple[str, str]]:
        """Replace a fragment of word characters.

        Returns:
            The changed words with their new forms, without the fragment itself and words in strings and comments.
        """
        containing = [
            index for index, piece in enumerate(self._pieces) if old in piece and self._roles[index] is not None
        ]
        changed: list[tuple[str, str]] = []
        for index in reversed(containing):
            word, role = self._pieces[index], self._roles[index]
            became = word.replace(old, new)
            if became == word:
                continue
            if word != old and role not in ("string", "comment"):
                changed.append((word, became))
            parts = ["".join(part) for _, part in groupby(became, lambda char: char == "_" or char.isalnum())]
            self._pieces[index : index + 1] = parts
            self._roles[index : index + 1] = [role if part[0] == "_" or part[0].isalpha() else None for part in parts]
        return changed[::-1]


def replace_in_words(text: str, old: str, new: str) -> str:
    """Compute ``text.replace(old, new)``, word by word, for an ``old`` of word characters."""
    return rewrite_words(text, lambda word: word.replace(old, new))[0]


#: The symbolic form of each method.
SYMBOLIC = {"sizes": "sym_sizes", "size": "sym_size", "strides": "sym_strides"}


class PlainSize(Struct, frozen=True):
    """A call of ``sizes()``, ``size(<number>)`` or ``strides()``.

    Attributes:
        call: the call.
        method: the span of the method's name.
        receiver: the receiver if it is a variable, or None.
    """

    call: Call
    method: Word
    receiver: str | None


def plain_sizes(formula: Formula) -> list[PlainSize]:
    """The calls for plain sizes in a formula, in source order."""
    calls: list[PlainSize] = []
    if formula.tree is None or not any(mentions(formula, name) for name in SYMBOLIC):
        return calls
    for node in formula.nodes:
        if isinstance(node, Call) and isinstance(node.callee, Member) and node.callee.name in SYMBOLIC:
            callee = node.callee
            if _is_literal(node) if callee.name == "size" else not node.args:
                receiver = callee.object.simple if isinstance(callee.object, Name) else None
                calls.append(PlainSize(node, Word(callee.name, callee.name_start, callee.name_end, "member"), receiver))
    calls.sort(key=lambda item: item.method.start)
    return calls


def _is_literal(call: Call) -> bool:
    """Whether the only argument is an integer literal, possibly negative."""
    if len(call.args) != 1:
        return False
    argument = call.args[0]
    if isinstance(argument, Unary) and argument.op == "-":
        argument = argument.operand
    return isinstance(argument, Number) and argument.text.isdecimal()


def sizes_in_text(formula: Formula) -> list[Word]:
    """The words in strings and comments that torchgen takes for such a call."""
    words = []
    for name in SYMBOLIC:
        for word in occurrences(formula, name):
            if word.role in ("string", "comment"):
                text = formula.text
                behind = text[word.end :]
                digits = behind[1:].removeprefix("-").partition(")")[0]
                is_call = behind[:1] == "(" and ")" in behind
                fits = digits.isdecimal() if name == "size" else behind.startswith("()")
                if is_call and fits and text[: word.start].endswith((".", "->")):
                    words.append(word)
    return sorted(words, key=lambda word: word.start)
