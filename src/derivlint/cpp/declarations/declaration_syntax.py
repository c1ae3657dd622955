"""Single declarations as they are read, before anything is known of the namespace or class where they are."""

from __future__ import annotations

import re
from typing import NamedTuple

from msgspec import Struct

from derivlint.cpp.declarations.declaration import Parameter
from derivlint.formula.vocabulary import Token

#: What a name is that has several segments, that ends with template arguments, or that is an operator.
QUALIFIED, TEMPLATE_ID, SPECIAL = "QUALIFIED", "TEMPLATE_ID", "SPECIAL"
#: A word such as TORCH_API, which is a macro where it is one name too many.
MACRO_LIKE = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]*\Z|__\w+\Z")


class Parameters(NamedTuple):
    """The parameters of a function; packs and ellipses make it variadic, ``joined`` is where a comma is missing."""

    items: tuple[Parameter, ...]
    is_variadic: bool
    joined: Token | None = None


class Template(NamedTuple):
    """The parameters of a template; constrained where not every argument will do."""

    names: tuple[str, ...]
    is_constrained: bool

    @property
    def is_full_specialization(self) -> bool:
        """Whether it is ``template <>``."""
        return not self.names and not self.is_constrained


NO_TEMPLATE = Template((), False)


class Syntax(Struct, frozen=True):
    """A declaration as it is read.

    Attributes:
        template: what comes ahead of it; None if it is not a template. A full specialization has no names.
    """

    template: Template | None = None


class Variables(Syntax, frozen=True):
    """``int64_t first = 0, *second``."""

    types: tuple[str, ...] = ()
    names: tuple[Token, ...] = ()
    specifiers: frozenset[str] = frozenset()


class Forward(Syntax, frozen=True):
    """``class Tensor``, which only says that there is such a class."""

    name: Token | None = None


class FunctionSyntax(Syntax, frozen=True):
    """A function; ``result`` is empty for a constructor, ``joined`` is where a comma between parameters is missing."""

    result: str = ""
    name: Token | None = None
    parameters: tuple[Parameter, ...] = ()
    is_variadic: bool = False
    is_deleted: bool = False
    is_trailing: bool = False
    specifiers: frozenset[str] = frozenset()
    joined: Token | None = None


class ClassHead(Syntax, frozen=True):
    """``struct Node : Base {``; the name is None if there is none."""

    name: Token | None = None
    key: str = ""
    bases: tuple[str, ...] = ()


class Enumeration(Syntax, frozen=True):
    """``enum class Kind : int8_t { One, Two }``."""

    name: Token | None = None
    is_scoped: bool = False
    enumerators: tuple[str, ...] = ()


class NamespaceHead(Syntax, frozen=True):
    """``namespace torch::autograd {``; the path is empty for one that opens no new scope."""

    path: str = ""


class Using(Syntax, frozen=True):
    """``using at::sum, at::mul``; a directive, ``using namespace at``, brings ``at::``."""

    names: tuple[str, ...] = ()


class Alias(Syntax, frozen=True):
    """``using OptTensor = std::optional<Tensor>``; the type is empty if it is not one that is known."""

    name: Token | None = None
    type: str = ""


class Ignored(Syntax, frozen=True):
    """A declaration that declares nothing that formulas can use."""
