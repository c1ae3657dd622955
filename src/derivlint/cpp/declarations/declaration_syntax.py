"""The syntax of single declarations, before name resolution."""

from __future__ import annotations

import re
from typing import NamedTuple

from msgspec import Struct

from derivlint.cpp.declarations.declaration import Parameter
from derivlint.formula.vocabulary import Token

#: The kinds of names: qualified, with template arguments, and operators.
QUALIFIED, TEMPLATE_ID, SPECIAL = "QUALIFIED", "TEMPLATE_ID", "SPECIAL"
#: Words such as TORCH_API, which are taken for macros if there is one name too many.
MACRO_LIKE = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]*\Z|__\w+\Z")


class Parameters(NamedTuple):
    """The parameters of a function; ``joined`` is the offset of a missing comma."""

    items: tuple[Parameter, ...]
    is_variadic: bool
    joined: Token | None = None


class Template(NamedTuple):
    """The parameters of a template; ``is_constrained`` if it does not accept all arguments."""

    names: tuple[str, ...]
    is_constrained: bool

    @property
    def is_full_specialization(self) -> bool:
        """Whether it is ``template <>``."""
        return not self.names and not self.is_constrained


NO_TEMPLATE = Template((), False)


class Syntax(Struct, frozen=True):
    """A parsed declaration.

    Attributes:
        template: its template head, or None; that of a full specialization has no names.
    """

    template: Template | None = None


class Variables(Syntax, frozen=True):
    """``int64_t first = 0, *second``."""

    types: tuple[str, ...] = ()
    names: tuple[Token, ...] = ()
    specifiers: frozenset[str] = frozenset()


class Forward(Syntax, frozen=True):
    """A forward declaration, ``class Tensor``."""

    name: Token | None = None


class FunctionSyntax(Syntax, frozen=True):
    """A function; ``result`` is empty for a constructor, ``joined`` is the offset of a missing comma."""

    result: str = ""
    name: Token | None = None
    parameters: tuple[Parameter, ...] = ()
    is_variadic: bool = False
    is_deleted: bool = False
    is_trailing: bool = False
    specifiers: frozenset[str] = frozenset()
    joined: Token | None = None


class ClassHead(Syntax, frozen=True):
    """``struct Node : Base {``; the name is None for an anonymous class."""

    name: Token | None = None
    key: str = ""
    bases: tuple[str, ...] = ()


class Enumeration(Syntax, frozen=True):
    """``enum class Kind : int8_t { One, Two }``."""

    name: Token | None = None
    is_scoped: bool = False
    enumerators: tuple[str, ...] = ()


class NamespaceHead(Syntax, frozen=True):
    """``namespace torch::autograd {``; the path is empty if no new scope opens."""

    path: str = ""


class Using(Syntax, frozen=True):
    """``using at::sum, at::mul``; for a directive, ``using namespace at``, the name is ``at::``."""

    names: tuple[str, ...] = ()


class Alias(Syntax, frozen=True):
    """``using OptTensor = std::optional<Tensor>``; the type is empty if it is unknown."""

    name: Token | None = None
    type: str = ""


class Ignored(Syntax, frozen=True):
    """A declaration that is irrelevant to formulas."""
