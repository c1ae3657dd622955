"""Expressions with tangents, as text."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from derivlint.formula.edits import ATOM, BINARY, CONDITIONAL, OR, UNARY, Text, enclosed
from derivlint.operators import Book

NO_VALUE = "::std::nullopt"
TRUTHS = {"true": "false", "false": "true"}
ZERO: Text = ("0", 0)


class UnsupportedError(Exception):
    """A definition has no tangent as a formula."""


class RefusedCaseError(UnsupportedError):
    """The definition rejects a case."""


class DualText(Struct, frozen=True):
    """An expression with its tangent.

    Attributes:
        primal: the expression, or None for an absent value.
        tangent: the tangent, or None if it is zero.
        items: the items of a list or tuple.
        symbolic: whether it consists of symbolic sizes.
        may_be_absent: whether it is an optional argument, or its tangent.
        is_scalar: whether it is a ``Scalar``, which has no arithmetic in C++.
        is_number: whether it is calculated of numbers.
    """

    primal: Text | None
    tangent: Text | None = None
    items: tuple[DualText, ...] | None = None
    symbolic: bool = False
    may_be_absent: bool = False
    is_scalar: bool = False
    is_number: bool = False

    @property
    def is_moving(self) -> bool:
        """Whether anything in it has a tangent."""
        return self.tangent is not None or any(item.is_moving for item in self.items or ())

    @property
    def is_plain(self) -> bool:
        """Whether it is a number, a list of numbers or absent."""
        text = self.primal[0] if self.primal is not None else ""
        return not text or text[0] in '0123456789-{"' or text in TRUTHS

    @property
    def passed(self) -> Text:
        """The expression as an argument of a call."""
        return self.primal or (NO_VALUE, ATOM)


ABSENT = DualText(None)
TWO = DualText(("2", ATOM))


def as_optional(name: str, operator: str) -> Text:
    """The primal or tangent of an optional argument, as an optional argument of an operator.

    Without the argument both are undefined tensors, which are values for an operator. A tangent of zeros has no memory.
    """
    value = f"{name}.clone()" if operator in Book.by_hand("reads-optional-memory") else name
    return f"{name}.defined() ? std::optional<Tensor>({value}) : {NO_VALUE}", CONDITIONAL


def default_value(text: str | None) -> DualText:
    """The value of a default as the schema writes it."""
    if text is None or text == "None":
        return ABSENT
    return DualText((text.lower() if text in ("True", "False") else text.replace("[", "{").replace("]", "}"), ATOM))


class TangentText:
    """Expressions that are made of others.

    Attributes:
        _made: gives an expression of a text and its precedence.
    """

    _made: Callable[..., Text]

    def _negative(self, text: Text) -> Text:
        return self._made("-" + enclosed(text, UNARY), UNARY)

    def _binary(self, op: str, left: Text, right: Text) -> Text:
        if op not in BINARY:
            raise UnsupportedError(f'the operator "{op}" is not followed')
        precedence = BINARY[op]
        if op == "+" and right[0].startswith("-") and right[1] >= UNARY:
            op, right = "-", (right[0][1:], right[1])
        inner = precedence if op == "+" or (op == "*" and "/" not in right[0]) else precedence + 1
        return self._made(f"{enclosed(left, precedence)} {op} {enclosed(right, inner)}", precedence)

    def _times(self, tangent: Text | None, factor: Text) -> Text | None:
        return None if tangent is None else self._binary("*", tangent, factor)

    def sum(self, left: Text | None, right: Text | None) -> Text | None:
        """The sum of two tangents; either may be zero."""
        if left is None or right is None:
            return right if left is None else left
        return self._binary("+", left, right)

    def _choice(self, condition: Text, then: Text, otherwise: Text) -> Text:
        parts = f"{enclosed(condition, OR)} ? {enclosed(then, OR)} : {enclosed(otherwise, CONDITIONAL)}"
        return self._made(parts, CONDITIONAL)

    def _zeros(self, like: Text | None) -> Text:
        if like is None or like[0] == "Tensor()":
            return "Tensor()", ATOM
        return self._made(f"at::zeros_like({like[0]})")
