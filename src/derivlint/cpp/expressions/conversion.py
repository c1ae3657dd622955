"""Implicit conversions of arguments, with the ranks of overload resolution.

Conversions between tabulated types come from a compiler-generated table (:mod:`derivlint.cpp.relations`). This module
computes the others: of braced lists, constants, and templates over arbitrary types.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from derivlint.cpp.cpp_type import (
    BOOL,
    BRACES,
    CHAR,
    CHAR_POINTER,
    DOUBLE,
    FLOAT,
    FUNCTION,
    INT,
    INT64,
    LVALUE,
    NULL_OPTION,
    NULL_POINTER,
    SIZE,
    SYM_INT,
    TENSOR,
    UNKNOWN,
    VOID,
    CppType,
    Value,
    cpp_type,
    template_type,
)
from derivlint.cpp.relations import Relations

#: Conversion ranks; lower is better. Follows [over.ics.rank] of the C++ standard.
IMPOSSIBLE, EXACT, PROMOTION, STANDARD, USER_DEFINED, UNSURE = -1, 0, 1, 2, 3, 4

BYTE = cpp_type("uint8_t")
UNSIGNED_INT = cpp_type("unsigned int")
LONG_LONG = cpp_type("long long")
REDUCTION = cpp_type("Reduction")
INTEGERS = {
    BOOL: 1,
    CHAR: 8,
    BYTE: 8,
    INT: 32,
    UNSIGNED_INT: 32,
    INT64: 64,
    LONG_LONG: 64,
    SIZE: 64,
}
UNSIGNED = frozenset({BOOL, BYTE, UNSIGNED_INT, SIZE})
FLOATS = frozenset({FLOAT, DOUBLE})
ARITHMETIC = INTEGERS.keys() | FLOATS
#: The promotions of unscoped enumerations and small arithmetic types.
PROMOTIONS = {(BOOL, INT), (CHAR, INT), (BYTE, INT), (FLOAT, DOUBLE), (REDUCTION, UNSIGNED_INT)}
#: Templates of lists that can be initialized from a braced list of elements.
LISTS = frozenset({"ArrayRef", "vector", "initializer_list", "IListRef", "List", "SmallVector", "OptionalArrayRef"})
#: Lists that view another container's elements, and convert from any owning list.
VIEWS = frozenset({"ArrayRef", "IListRef"})
OWNERS = frozenset({"vector", "array", "SmallVector", "initializer_list"})
NAMED_LISTS = {cpp_type("DimVector"): INT64, cpp_type("SymDimVector"): SYM_INT}
TEMPLATES = LISTS | {"optional", "array", "tuple", "pair", "OptionalArray"}


@lru_cache(maxsize=2048)
def element_of(type: CppType) -> CppType | None:
    """The element type of a list, or None for other types."""
    if type in NAMED_LISTS:
        return NAMED_LISTS[type]
    return type.arguments[0] if type.arguments and (type.head in LISTS or type.head == "array") else None


class Conversions:
    """Conversion ranks of expressions to types, memoized for one table."""

    def __init__(self, relations: Relations) -> None:
        self.relations = relations
        #: Memoized call resolutions, by overloads and arguments.
        self.resolutions: dict[tuple[object, ...], Any] = {}
        self._ranks: dict[tuple[CppType, CppType], int] = {}
        self._known: dict[CppType, bool] = {}

    def knows(self, type: CppType) -> bool:
        """Whether conversions of a type are known: it, or all types that it consists of, are tabulated."""
        is_known = self._known.get(type)
        if is_known is None:
            is_known = self._known[type] = self._knows(type)
        return is_known

    def _knows(self, type: CppType) -> bool:
        if self.relations.knows(type) or type in (VOID, NULL_POINTER, NULL_OPTION, FUNCTION):
            return True
        if type.pointee is not None:
            return self.knows(type.pointee)
        head, arguments = type.head, type.arguments
        if head == "array":
            return type.size is not None and self.knows(arguments[0])
        arity = {"tuple": len(arguments), "pair": 2}.get(head, 1)
        # headers may name a template without arguments
        return head in TEMPLATES and len(arguments) == arity and all(map(self.knows, arguments))

    def rank(self, value: Value, target: CppType) -> int:
        """The rank of the conversion of a value to a parameter of type ``target``, ``IMPOSSIBLE`` or ``UNSURE``."""
        source = value.type
        if source is target:
            return EXACT
        if source is UNKNOWN or target is UNKNOWN:
            return UNSURE
        if target.referred is not None:
            return self._bind(value, target.referred)
        if source is BRACES:
            return self.braced_rank(value.items or (), target)
        key = (source, target)
        rank = self._ranks.get(key)
        if rank is None:
            rank = self._ranks[key] = self._rank(source, target)
        if rank == IMPOSSIBLE and value.constant == 0 and value.type is INT:
            # a literal zero is a null pointer
            if target.pointee is not None:
                return STANDARD
            if self.relations.knows(target) and self.relations.literal("0", target):
                return USER_DEFINED
        return rank

    def _bind(self, value: Value, referred: CppType) -> int:
        """The rank of binding a value to a non-const reference."""
        if value.type is referred:
            return EXACT if value.category == LVALUE else IMPOSSIBLE
        if value.category == LVALUE and self.relations.knows(value.type) and self.relations.knows(referred):
            return STANDARD if self.relations.is_base(value.type, referred) else IMPOSSIBLE
        return IMPOSSIBLE if self.knows(value.type) and self.knows(referred) else UNSURE

    def _rank(self, source: CppType, target: CppType) -> int:
        if source in ARITHMETIC and target in ARITHMETIC:
            return PROMOTION if (source, target) in PROMOTIONS else STANDARD
        if (source, target) in PROMOTIONS:
            return PROMOTION
        if target is BOOL and source.pointee is not None:
            return STANDARD
        relations = self.relations
        if relations.knows(source) and relations.knows(target):
            if not relations.implicit(source, target):
                return IMPOSSIBLE
            if relations.is_base(source, target) or (target in ARITHMETIC and source in (CHAR_POINTER, REDUCTION)):
                return STANDARD
            return USER_DEFINED
        if target.head in LISTS and not self.knows(target) and (source in ARITHMETIC or source is TENSOR):
            # a list of one converted element would take two conversions: "grad.index(dim)"
            return IMPOSSIBLE
        if not self.knows(source) or not self.knows(target):
            return UNSURE
        return USER_DEFINED if self._converts_structurally(source, target) else IMPOSSIBLE

    def _converts(self, source: CppType, target: CppType) -> bool:
        return self.rank(Value(source), target) != IMPOSSIBLE

    def _converts_structurally(self, source: CppType, target: CppType) -> bool:
        """Whether a conversion between templates is valid, although the table lacks their arguments."""
        head, arguments = target.head, target.arguments
        source_head, source_arguments = source.head, source.arguments
        if head == "optional":
            if source is NULL_OPTION:
                return True
            if source_head == "optional":
                return self._converts(source_arguments[0], arguments[0])
            return self._converts(source, arguments[0])
        if head == "OptionalArrayRef":
            return source is NULL_OPTION or self._converts(source, template_type("ArrayRef", arguments[:1]))
        if head in VIEWS:
            return source is arguments[0] or (source_head in OWNERS and source_arguments[0] is arguments[0])
        if head == "tuple" and source_head == "tuple":
            return len(arguments) == len(source_arguments) and all(map(self._converts, source_arguments, arguments))
        return target.pointee is not None and source is NULL_POINTER

    # ---- braced lists

    def braced_rank(self, items: tuple[Value, ...], target: CppType) -> int:
        """The rank of initializing a parameter with ``{items}``; follows [over.ics.list]."""
        if target.referred is not None:
            return IMPOSSIBLE
        if any(item.is_unknown for item in items) or not self.knows(target):
            return UNSURE
        if not items:
            if target in ARITHMETIC or target.pointee is not None:
                return EXACT
            is_refused = self.relations.knows(target) and not self.relations.literal("{}", target)
            return IMPOSSIBLE if is_refused else USER_DEFINED
        if len(items) == 1 and items[0].type is target:
            return EXACT
        if target in ARITHMETIC:
            return self._scalar_rank(items, target)
        head, arguments = target.head, target.arguments
        if head in ("tuple", "pair"):
            fits = len(items) == len(arguments) and all(map(self._initialises, items, arguments))
            return USER_DEFINED if fits or self._copies(items, target) else IMPOSSIBLE
        if head == "array":
            return self._array_rank(items, target)
        element = element_of(target)
        if element is not None and all(self._initialises(item, element) for item in items):
            return USER_DEFINED
        if self._copies(items, target):
            return USER_DEFINED
        if head == "optional" and len(items) == 1 and self._initialises(items[0], arguments[0]):
            return USER_DEFINED
        if len(items) > 1 and head in ("vector", "List") and self._converts(items[0].type, SIZE):
            return USER_DEFINED
        return IMPOSSIBLE

    def _copies(self, items: tuple[Value, ...], target: CppType) -> bool:
        """Whether a list of one item initializes an object by a constructor."""
        if len(items) != 1:
            return False
        item = items[0]
        if item.type is BRACES:
            # an inner list is a list of elements, not a list of lists
            inner = item.items or ()
            element = element_of(target)
            if not inner:
                return self._known_literal("{{}}", target)
            if element is not None:
                return all(part.type is not BRACES and self._initialises(part, element) for part in inner)
            return self.braced_rank(inner, target) != IMPOSSIBLE
        if item.type is target:
            return True
        if narrows(item, element_of(target) or target):
            return False
        if isinstance(item.constant, str):
            return self._known_literal('{"x"}', target)
        if self.relations.knows(item.type) and self.relations.knows(target):
            if self.relations.braced(item.type, target):
                return True
            return item.constant == 0 and item.type is INT and self.relations.literal("{0}", target)
        return self._converts(item.type, target)

    def _known_literal(self, literal: str, target: CppType) -> bool:
        return not self.relations.knows(target) or self.relations.literal(literal, target)

    def _scalar_rank(self, items: tuple[Value, ...], target: CppType) -> int:
        if len(items) != 1:
            return IMPOSSIBLE
        item = items[0]
        if item.type is BRACES:
            return IMPOSSIBLE if item.items else self.braced_rank((), target)
        if narrows(item, target):
            return IMPOSSIBLE
        return self.rank(item, target)

    def _initialises(self, item: Value, type: CppType) -> bool:
        """Whether an item of a list can initialize an element."""
        if item.type is BRACES:
            return self.braced_rank(item.items or (), type) != IMPOSSIBLE
        return not narrows(item, type) and self.rank(item, type) != IMPOSSIBLE

    def _array_rank(self, items: tuple[Value, ...], target: CppType) -> int:
        element = target.arguments[0]
        length = target.size or 0
        # the inner braces of std::array may be omitted
        if len(items) == 1 and items[0].type is BRACES:
            inner = items[0].items or ()
            if len(inner) <= length and all(self._initialises(item, element) for item in inner):
                return USER_DEFINED
        if len(items) > length:
            return IMPOSSIBLE
        if len(items) == 1 and items[0].type is target:
            return EXACT
        return USER_DEFINED if all(self._initialises(item, element) for item in items) else IMPOSSIBLE


def narrows(value: Value, target: CppType) -> bool:
    """Whether braces reject the conversion of a constant as narrowing; for variables g++ only warns."""
    constant = value.constant
    if target is SYM_INT:
        # the integer constructor is chosen
        target = INT64
    if constant is None or target not in ARITHMETIC:
        return False
    if isinstance(constant, str):
        # in braces, a pointer does not convert to bool
        return True
    if target in FLOATS:
        return False
    if value.type in FLOATS:
        return True
    bits = INTEGERS[target]
    if target in UNSIGNED:
        return not 0 <= constant < 2**bits
    return not -(2 ** (bits - 1)) <= constant < 2 ** (bits - 1)
