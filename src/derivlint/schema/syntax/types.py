"""The types of operator schemas: ``Tensor``, ``int[2]?``, ``__torch__.torch.classes.quantized.X``.

Follows torchgen/model.py, ``Type`` and its subclasses. Unlike there, an unknown base type (``Dimname`` of older
releases, a type of an out-of-tree backend) is accepted, with ``known`` false.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from derivlint.schema.syntax.names import SchemaError, quoted

#: torchgen's base types; ``Dimname`` was one until PyTorch 2.12.
KNOWN_BASE_TYPES = frozenset(
    (
        *("Tensor", "Scalar", "int", "float", "bool", "str", "SymInt", "SymBool"),
        *("Generator", "ScalarType", "Layout", "Device", "DeviceIndex", "MemoryFormat", "QScheme"),
        *("Dimname", "DimVector", "Storage", "Stream", "GraphModule"),
    )
)

CUSTOM_CLASS_PREFIX = "__torch__.torch.classes."

#: The maximum number of suffixes of a type, which bounds recursion over types.
MAX_SUFFIXES = 16

_TYPE = re.compile(r"([A-Za-z_]\w*(?:(?:\.|::)\w+)*)((?:\?|\[(?:0|[1-9][0-9]{0,17})?\])*)", re.ASCII)
_SUFFIX = re.compile(r"\?|\[([0-9]*)\]")


class Type(Struct, frozen=True):
    """The type of an argument or return; the base class of the types below."""

    @property
    def base(self) -> BaseType | CustomClassType:
        """The type without its ``?`` and ``[]``."""
        raise NotImplementedError

    @property
    def is_tensor_like(self) -> bool:
        """Whether it is a tensor, or a list or an optional of tensors."""
        return self.base == TENSOR

    @property
    def may_be_tensor_like(self) -> bool:
        """Whether it is a tensor, or has a base type that PyTorch lacks and that may hold tensors."""
        base = self.base
        return self.is_tensor_like or (isinstance(base, BaseType) and not base.known)

    @property
    def is_symint_like(self) -> bool:
        """Whether it is a ``SymInt``, or a list or an optional of them."""
        return self.base == SYMINT

    @property
    def is_generator_like(self) -> bool:
        """Whether it is a ``Generator``, or an optional of it."""
        return self.base == GENERATOR

    @property
    def is_nullable(self) -> bool:
        """Whether it is optional; a list is nullable if its elements are."""
        return False

    @property
    def is_list_like(self) -> ListType | None:
        """The list type, also inside an optional; None for other types."""
        return None


class BaseType(Type, frozen=True):
    """A type without structure, such as ``Tensor`` or ``ScalarType``."""

    name: str

    @property
    def base(self) -> BaseType:
        """The type itself."""
        return self

    @property
    def is_tensor_like(self) -> bool:
        """Whether it is a tensor; computed once, since it is queried most often."""
        return self.name == TENSOR.name

    @property
    def known(self) -> bool:
        """Whether PyTorch has this base type."""
        return self.name in KNOWN_BASE_TYPES

    def __str__(self) -> str:
        return self.name


class CustomClassType(Type, frozen=True):
    """A TorchScript class; ``name`` follows ``__torch__.torch.classes.``."""

    name: str

    @property
    def base(self) -> CustomClassType:
        """The type itself."""
        return self

    def __str__(self) -> str:
        return f"{CUSTOM_CLASS_PREFIX}{self.name}"


class OptionalType(Type, frozen=True):
    """A type that may also be None, such as ``Tensor?``."""

    elem: Type

    @property
    def base(self) -> BaseType | CustomClassType:
        """The type without its ``?`` and ``[]``."""
        return self.elem.base

    @property
    def is_nullable(self) -> bool:
        """Always true."""
        return True

    @property
    def is_list_like(self) -> ListType | None:
        """The list inside the optional, if it is one."""
        return self.elem.is_list_like

    def __str__(self) -> str:
        return f"{self.elem}?"


class ListType(Type, frozen=True):
    """A list, of ``size`` elements if one is specified (``int[2]`` also accepts a single ``int``)."""

    elem: Type
    size: int | None

    @property
    def base(self) -> BaseType | CustomClassType:
        """The type without its ``?`` and ``[]``."""
        return self.elem.base

    @property
    def is_nullable(self) -> bool:
        """Whether the elements are."""
        return self.elem.is_nullable

    @property
    def is_list_like(self) -> ListType | None:
        """The list itself."""
        return self

    def __str__(self) -> str:
        return f"{self.elem}[{'' if self.size is None else self.size}]"


TENSOR = BaseType("Tensor")
SYMINT = BaseType("SymInt")
GENERATOR = BaseType("Generator")


@lru_cache(maxsize=4096)
def parse_type(text: str) -> Type:
    """Parse a type without alias annotation and without blanks.

    Raises:
        SchemaError: the text is not a type.
    """
    match = _TYPE.fullmatch(text)
    if match is None:
        raise SchemaError(f"{quoted(text)} is not a type", 0, len(text))
    name, suffixes = match.groups()
    is_class = name.startswith(CUSTOM_CLASS_PREFIX)
    base = CustomClassType(name[len(CUSTOM_CLASS_PREFIX) :]) if is_class else BaseType(name)
    return suffixed(base, suffixes)


def suffixed(base: BaseType | CustomClassType, suffixes: str) -> Type:
    """Add ``?`` and ``[]`` to a base type.

    Raises:
        SchemaError: there are more than ``MAX_SUFFIXES``; its span is the type.
    """
    result: Type = base
    for count, suffix in enumerate(_SUFFIX.finditer(suffixes)):
        if count == MAX_SUFFIXES:
            raise SchemaError(f'a type has at most {MAX_SUFFIXES} of "?" and "[]"', 0, len(f"{base}{suffixes}"))
        if suffix.group() == "?":
            result = OptionalType(result)
        else:
            size = suffix.group(1)
            result = ListType(result, int(size) if size else None)
    return result
