"""Expressions with tangents, as text."""

from __future__ import annotations

from msgspec import Struct

from derivlint.formula.edits import ATOM, CONDITIONAL, Text
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
    """

    primal: Text | None
    tangent: Text | None = None
    items: tuple[DualText, ...] | None = None
    symbolic: bool = False
    may_be_absent: bool = False

    @property
    def is_moving(self) -> bool:
        """Whether anything in it has a tangent."""
        return self.tangent is not None or any(item.is_moving for item in self.items or ())

    @property
    def is_plain(self) -> bool:
        """Whether it is a number, a list of numbers or absent."""
        text = self.primal[0] if self.primal is not None else ""
        return not text or text[0] in '0123456789-{"' or text in TRUTHS


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
