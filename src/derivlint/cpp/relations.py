"""Conversions and operators of C++ types, as tabulated by a compiler for one PyTorch release.

``python -m tools.index relations`` generates the table (:mod:`tools.type_relations`).
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from derivlint.cpp.cpp_type import UNKNOWN, CppType, cpp_type

FORMAT = 1
_DATA = Path(__file__).parent / "data"
#: The index of result types outside the table.
_OTHER = -2

Row = dict[int, int]


class Relations:
    """The relations of the tabulated types.

    All methods except :meth:`knows` raise ``KeyError`` for types that the table lacks.
    """

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content
        self._types: tuple[CppType, ...] = tuple(map(cpp_type, content["types"]))
        self._numbers = {name: number for number, name in enumerate(self._types)}
        self._rows: dict[tuple[str, int], Row] = {}

    @property
    def types(self) -> tuple[CppType, ...]:
        """The tabulated types."""
        return self._types

    def knows(self, type: CppType) -> bool:
        """Whether the table has a type."""
        return type in self._numbers

    def _row(self, table: str, number: int) -> Row:
        key = (table, number)
        row = self._rows.get(key)
        if row is None:
            written = self._content[table]
            row = self._rows[key] = _decoded(written[number] if number >= 0 else written)
        return row

    def _pair(self, table: str, a: CppType, b: CppType) -> int | None:
        return self._row(table, self._numbers[a]).get(self._numbers[b])

    def _single(self, table: str, a: CppType) -> int | None:
        return self._row(table, -1).get(self._numbers[a])

    def _type(self, answer: int | None) -> CppType | None:
        if answer is None:
            return None
        return UNKNOWN if answer == _OTHER else self._types[answer]

    def implicit(self, a: CppType, b: CppType) -> bool:
        """Whether a variable of type ``a`` converts implicitly to a parameter of type ``b``."""
        return self._pair("implicit", a, b) is not None

    def explicit(self, a: CppType, b: CppType) -> bool:
        """Whether ``b(a)`` is valid."""
        return self._pair("explicit", a, b) is not None

    def braced(self, a: CppType, b: CppType) -> bool:
        """Whether ``{a}`` initializes a parameter of type ``b``."""
        return self._pair("braced", a, b) is not None

    def is_base(self, a: CppType, b: CppType) -> bool:
        """Whether ``b`` is ``a`` or one of its base classes."""
        return self._pair("base", a, b) is not None

    def condition(self, a: CppType) -> bool:
        """Whether a value converts to bool in a condition."""
        return self._single("condition", a) is not None

    def unary(self, op: str, a: CppType) -> CppType | None:
        """The type of ``op a``; None if it is undefined, ``UNKNOWN`` if the table lacks the type or the operator."""
        table = f"unary {op}"
        return self._type(self._single(table, a)) if table in self._content else UNKNOWN

    def binary(self, op: str, a: CppType, b: CppType) -> CppType | None:
        """The type of ``a op b``, as for :meth:`unary`."""
        table = f"binary {op}"
        return self._type(self._pair(table, a, b)) if table in self._content else UNKNOWN

    def ternary(self, a: CppType, b: CppType) -> CppType | None:
        """The common type of two branches of a conditional, as for :meth:`unary`."""
        return self._type(self._pair("ternary", a, b))

    def index(self, a: CppType, b: CppType) -> CppType | None:
        """The type of ``a[b]``, as for :meth:`unary`."""
        return self._type(self._pair("index", a, b))

    def literal(self, literal: str, b: CppType) -> bool:
        """Whether a literal (one of ``LITERALS`` of the generator) converts to a parameter of type ``b``."""
        return self._single(f"literal {literal}", b) is not None

    def literal_ternary(self, literal: str, a: CppType, *, literal_first: bool) -> CppType | None:
        """The common type of a literal and a value as branches, as for :meth:`unary`."""
        return self._type(self._single(f"{'first' if literal_first else 'last'} {literal}", a))


def _decoded(masks: dict[str, str]) -> Row:
    row: Row = {}
    for answer, text in masks.items():
        mask, number = int(text, 16), int(answer)
        while mask:
            lowest = mask & -mask
            row[lowest.bit_length() - 1] = number
            mask ^= lowest
    return row


@cache
def load_relations() -> Relations:
    """The bundled table of the newest release."""
    path = max(_DATA.glob("relations-*.json"), key=lambda path: _version(path.stem))
    return Relations(json.loads(path.read_bytes()))


def _version(stem: str) -> tuple[int, ...]:
    return tuple(int(part) for part in stem.rpartition("-")[2].split("."))
