"""Values that the forward call saves for backward formulas; the fields follow torchgen/api/autograd.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from derivlint.cpp.cpp_type import cpp_type
from derivlint.cpp.types import TENSORS, DeclaredType
from derivlint.source.comparison import KeyedEquality

if TYPE_CHECKING:
    from derivlint.formula import Word

TENSOR_VECTOR = cpp_type("vector<Tensor>")


class SavedAttribute(KeyedEquality, Struct, frozen=True):
    """A value that the forward call saves for the backward formula.

    Attributes:
        name: the member of the generated node, ``self`` or ``self_sym_sizes``.
        type: its C++ type.
        expr: the expression that is evaluated when it is saved.
        accidental: True when the formula does not use the value: its name occurs only in a string, a comment, as a
            member or as part of a qualified name, and torchgen's text matching saves it anyway.
        word: the first place in the written formula that asks for it.
    """

    name: str
    type: DeclaredType
    expr: str
    accidental: bool = False
    word: Word | None = None

    def identity(self) -> tuple[Any, ...]:
        """The fields that are compared."""
        return self.name, self.type, self.expr

    @property
    def is_tensor(self) -> bool:
        """Whether it is one tensor, possibly an absent one."""
        return self.type.canonical in TENSORS

    @property
    def is_tensor_vector(self) -> bool:
        """Whether it is a list of tensors that the operator returned."""
        return self.type.canonical is TENSOR_VECTOR


def without_repetition(attributes: list[SavedAttribute]) -> tuple[SavedAttribute, ...]:
    """Saved attributes, the first of each name."""
    by_name: dict[str, SavedAttribute] = {}
    for attribute in attributes:
        by_name.setdefault(attribute.name, attribute)
    return tuple(by_name.values())
