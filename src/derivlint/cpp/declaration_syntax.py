"""Single declarations as they are read, before anything is known of the namespace or class where they stand."""

from __future__ import annotations

import re
from typing import NamedTuple

from derivlint.cpp.declaration import Parameter
from derivlint.formula.vocabulary import Token
from derivlint.source.records import dataclass

#: What a name is that has several segments, that ends with template arguments, or that is an operator.
QUALIFIED, TEMPLATE_ID, SPECIAL = "QUALIFIED", "TEMPLATE_ID", "SPECIAL"
#: A word such as TORCH_API, which is a macro where it is one name too many.
MACRO_LIKE = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]*\Z|__\w+\Z")


class Parameters(NamedTuple):
    """The parameters of a function; packs and ellipses make it variadic."""

    items: tuple[Parameter, ...]
    is_variadic: bool


class Template(NamedTuple):
    """The parameters of a template; constrained where not every argument will do."""

    names: tuple[str, ...]
    is_constrained: bool

    @property
    def is_full_specialization(self) -> bool:
        """Whether it is ``template <>``."""
        return not self.names and not self.is_constrained


NO_TEMPLATE = Template((), False)


@dataclass(frozen=True, slots=True)
class Syntax:
    """A declaration as it is read.

    Attributes:
        template: what stands ahead of it; None where it is no template. A full specialization has no names.
    """

    template: Template | None = None


@dataclass(frozen=True, slots=True)
class Variables(Syntax):
    """``int64_t first = 0, *second``."""

    types: tuple[str, ...] = ()
    names: tuple[Token, ...] = ()
    specifiers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Forward(Syntax):
    """``class Tensor``, which only says that there is such a class."""

    name: Token | None = None


@dataclass(frozen=True, slots=True)
class FunctionSyntax(Syntax):
    """A function; ``result`` is empty for a constructor."""

    result: str = ""
    name: Token | None = None
    parameters: tuple[Parameter, ...] = ()
    is_variadic: bool = False
    is_deleted: bool = False
    is_trailing: bool = False
    specifiers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ClassHead(Syntax):
    """``struct Node : Base {``; the name is None where there is none."""

    name: Token | None = None
    key: str = ""
    bases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Enumeration(Syntax):
    """``enum class Kind : int8_t { One, Two }``."""

    name: Token | None = None
    is_scoped: bool = False
    enumerators: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NamespaceHead(Syntax):
    """``namespace torch::autograd {``; the path is empty for one that opens no new scope."""

    path: str = ""


@dataclass(frozen=True, slots=True)
class Using(Syntax):
    """``using at::sum, at::mul``; a directive, ``using namespace at``, brings ``at::``."""

    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Alias(Syntax):
    """``using OptTensor = std::optional<Tensor>``; the type is empty where it is not one that can be told."""

    name: Token | None = None
    type: str = ""


@dataclass(frozen=True, slots=True)
class Ignored(Syntax):
    """A declaration that declares nothing that formulas can use."""
