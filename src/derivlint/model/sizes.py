"""Calls for sizes or strides as plain integers, which backward formulas must not contain.

PyTorch traces backward formulas with symbolic sizes; ``sizes()`` would specialize them. Follows load_derivatives.py,
``saved_variables``, which rejects the text ``.sizes()``, ``.size(<number>)`` and ``.strides()`` anywhere.
"""

from __future__ import annotations

from msgspec import Struct

from derivlint.formula import Call, Formula, Member, Name, Number, Unary, Word
from derivlint.model.words import mentions, occurrences

#: The symbolic form of each method.
SYMBOLIC = {"sizes": "sym_sizes", "size": "sym_size", "strides": "sym_strides"}


class PlainSize(Struct, frozen=True):
    """One call of ``sizes()``, ``size(<number>)`` or ``strides()``.

    Attributes:
        call: the call.
        method: the span of the method's name.
        receiver: the variable it is called on, if it is one.
    """

    call: Call
    method: Word
    receiver: str | None


def plain_sizes(formula: Formula) -> list[PlainSize]:
    """The calls for plain sizes in a formula, from left to right."""
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
    """The words in strings and comments that torchgen mistakes for such a call."""
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
