"""Operator names, such as ``add_.Tensor``: the in-place form of ``add``, overload ``Tensor``; errors in schemas."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

#: The methods whose in-place form is ``__i<name>__``, after PEP 203.
AUGMENTED_ASSIGNMENTS = frozenset(("add", "sub", "mul", "div", "mod", "pow", "lshift", "rshift", "and", "xor", "or"))

FUNCTIONAL_SUFFIX = "_functional"
FOREACH_PREFIX = "_foreach_"


class OperatorName(Struct, frozen=True):
    """The name of an operator.

    Follows torchgen/model.py, ``OperatorName`` and ``BaseOperatorName``, without their checks of naming conventions.

    Attributes:
        base: the name without in-place mark, dunder and overload: ``add`` for ``add_.Tensor`` and for ``__iadd__``.
        inplace: whether the name marks an in-place operator.
        dunder: whether it has the form ``__name__``.
        functional_overload: whether it is the ``<base>_functional`` twin of a mutable operator.
        overload: the part after the dot, or ``""``.
    """

    base: str
    inplace: bool = False
    dunder: bool = False
    functional_overload: bool = False
    overload: str = ""

    @staticmethod
    def parse(text: str) -> OperatorName:
        """Parse a name without namespace; accepts any text."""
        return _parse(text)

    @property
    def name_without_overload(self) -> str:
        """The name up to the dot, ``add_`` for ``add_.Tensor``."""
        if self.dunder:
            return f"__i{self.base}__" if self.inplace else f"__{self.base}__"
        if self.inplace:
            return f"{self.base}_"
        return f"{self.base}{FUNCTIONAL_SUFFIX}" if self.functional_overload else self.base

    @property
    def unambiguous_name(self) -> str:
        """The name as one C++ identifier, ``add__Tensor`` for ``add_.Tensor``."""
        name = self.name_without_overload
        return f"{name}_{self.overload}" if self.overload else name

    @property
    def is_foreach(self) -> bool:
        """Whether it is a foreach operator such as ``_foreach_abs``."""
        return self.base.startswith(FOREACH_PREFIX)

    @property
    def element_base(self) -> str:
        """The base name of the operator that a foreach operator applies; of any other, its own."""
        return self.base.removeprefix(FOREACH_PREFIX)

    def with_overload(self, overload: str) -> OperatorName:
        """The functional name with another overload."""
        return OperatorName(self.base, dunder=self.dunder, overload=overload)

    def __str__(self) -> str:
        name = self.name_without_overload
        return f"{name}.{self.overload}" if self.overload else name


@lru_cache(maxsize=16384)
def _parse(text: str) -> OperatorName:
    name, _, overload = text.partition(".")
    base = name
    inplace = dunder = functional = False
    if name.startswith("__") and name.endswith("__") and "_" not in name[2:-2] and len(name) > 4:
        dunder = True
        base = name[2:-2]
        if base[0] == "i" and base[1:] in AUGMENTED_ASSIGNMENTS:
            inplace = True
            base = base[1:]
    elif name.endswith("_"):
        inplace = True
        base = name[:-1]
    elif name.endswith(FUNCTIONAL_SUFFIX) and name != FUNCTIONAL_SUFFIX:
        functional = True
        base = name[: -len(FUNCTIONAL_SUFFIX)]
    return OperatorName(base, inplace, dunder, functional, overload)


#: The maximum number of characters of quoted user text in messages.
MAX_QUOTED = 40


def quoted(text: str) -> str:
    """The user's text in double quotes, truncated if it is long."""
    return f'"{text}"' if len(text) <= MAX_QUOTED else f'"{text[: MAX_QUOTED - 3]}..."'


class SchemaMistake(Struct, frozen=True):
    """An error in a schema.

    Attributes:
        message: the fact, on one line.
        start: the offset of the offending text in the schema.
        end: the offset after it; equal to ``start`` at the end of the text.
        help: the cure, or None.
    """

    message: str
    start: int
    end: int
    help: str | None = None


#: The message about schemas in the format before May 2019.
WITHOUT_RETURNS = "the schema has no returns"


class SchemaError(Exception):
    """The schema cannot be parsed.

    Attributes:
        mistake: the error; unlike the exception it holds no frames, so it can be stored.
    """

    def __init__(self, message: str, start: int, end: int, help: str | None = None) -> None:
        super().__init__(message)
        self.mistake = SchemaMistake(message, start, end, help)
