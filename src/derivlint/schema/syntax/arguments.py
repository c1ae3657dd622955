"""Arguments and returns of operator schemas, with their alias annotations.

Follows torchgen/model.py, ``Annotation``, ``Argument``, ``Return`` and ``Arguments``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from derivlint.schema.syntax.types import BaseType, OptionalType, Type
from derivlint.source import Span
from derivlint.source.lazy import cached_property
from derivlint.source.records import KeyedEquality

#: Start and end offsets of type, name and default, -1 if absent.
Marks = tuple[int, int, int, int, int, int]


class Annotation(Struct, frozen=True):
    """The alias annotation of a tensor: ``(a!)``, ``(a|b)``, ``(a -> *)``.

    Attributes:
        alias_set: the sets it belongs to.
        is_write: whether the operator writes to it.
        alias_set_after: the sets it belongs to afterwards, empty if unspecified, ``("*",)`` for any.
    """

    alias_set: tuple[str, ...]
    is_write: bool
    alias_set_after: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = "|".join(self.alias_set) + ("!" if self.is_write else "")
        return f"{text} -> {'|'.join(self.alias_set_after)}" if self.alias_set_after else text


def annotated(type_: Type, annotation: Annotation | None) -> str:
    """Print a type with its annotation, which follows the base type: ``Tensor(a!)[]``."""
    text = str(type_)
    if annotation is None:
        return text
    base = str(type_.base)
    return f"{base}({annotation}){text[len(base) :]}"


def _span(marks: Marks | None, offset: int, which: int) -> Span | None:
    if marks is None or marks[which] < 0:
        return None
    return Span(marks[which] + offset, marks[which + 1] + offset)


class Argument(KeyedEquality, Struct, frozen=True):
    """One argument of a schema.

    Attributes:
        name: its name.
        type: its type.
        default: the default as written, or None.
        annotation: its alias annotation, or None.
    """

    name: str
    type: Type
    default: str | None = None
    annotation: Annotation | None = None
    #: Offsets relative to the argument, shared by equal arguments; ``offset`` is its position in the text.
    marks: Marks | None = None
    offset: int = 0
    #: Type and name without the annotation, if the parser computed them; shared too.
    bare: str | None = None

    def identity(self) -> tuple[Any, ...]:
        """The fields that equality compares."""
        return self.name, self.type, self.default, self.annotation

    @property
    def is_write(self) -> bool:
        """Whether the operator writes to the argument."""
        return self.annotation is not None and self.annotation.is_write

    @property
    def type_span(self) -> Span | None:
        """The span of the type and its annotation in the schema's text, or None for a generated schema."""
        return _span(self.marks, self.offset, 0)

    @property
    def name_span(self) -> Span | None:
        """The span of the name, or None for a generated schema."""
        return _span(self.marks, self.offset, 2)

    @property
    def default_span(self) -> Span | None:
        """The span of the default, or None without one or for a generated schema."""
        return _span(self.marks, self.offset, 4)

    def without_annotation(self, *, strip_default: bool = False) -> Argument:
        """The argument as written in a signature, without span."""
        return Argument(self.name, self.type, None if strip_default else self.default)

    def signature_text(self, *, strip_default: bool = False) -> str:
        """The text of ``without_annotation``."""
        text = self.bare
        if text is None:
            text = f"{self.type} {self.name}"
        return text if strip_default or self.default is None else f"{text}={self.default}"

    def __str__(self) -> str:
        text = f"{annotated(self.type, self.annotation)} {self.name}"
        return text if self.default is None else f"{text}={self.default}"


class Return(KeyedEquality, Struct, frozen=True):
    """One return of a schema; ``name`` is None if absent."""

    name: str | None
    type: Type
    annotation: Annotation | None = None
    marks: Marks | None = None
    offset: int = 0

    def identity(self) -> tuple[Any, ...]:
        """The fields that equality compares."""
        return self.name, self.type, self.annotation

    @property
    def is_write(self) -> bool:
        """Whether it is an argument that is written to."""
        return self.annotation is not None and self.annotation.is_write

    @property
    def type_span(self) -> Span | None:
        """The span of the type and its annotation in the schema's text, or None for a generated schema."""
        return _span(self.marks, self.offset, 0)

    @property
    def name_span(self) -> Span | None:
        """The span of the name, or None without one or for a generated schema."""
        return _span(self.marks, self.offset, 2)

    def __str__(self) -> str:
        text = annotated(self.type, self.annotation)
        return text if self.name is None else f"{text} {self.name}"


class TensorOptionsArguments(Struct, frozen=True):
    """The four arguments that C++ takes as one ``TensorOptions``."""

    dtype: Argument
    layout: Argument
    device: Argument
    pin_memory: Argument

    @property
    def all(self) -> tuple[Argument, Argument, Argument, Argument]:
        """The four, in order."""
        return (self.dtype, self.layout, self.device, self.pin_memory)


_TENSOR_OPTIONS = (("dtype", "ScalarType"), ("layout", "Layout"), ("device", "Device"), ("pin_memory", "bool"))


def _is_option(argument: Argument, name: str, type_name: str) -> bool:
    type_ = argument.type
    if isinstance(type_, OptionalType):
        type_ = type_.elem
    return argument.name == name and isinstance(type_, BaseType) and type_.name == type_name


class Arguments(Struct, frozen=True, dict=True):
    """The arguments of a schema in the groups of the C++ API."""

    pre_self_positional: tuple[Argument, ...] = ()
    self_arg: Argument | None = None
    post_self_positional: tuple[Argument, ...] = ()
    pre_tensor_options_kwarg_only: tuple[Argument, ...] = ()
    tensor_options: TensorOptionsArguments | None = None
    post_tensor_options_kwarg_only: tuple[Argument, ...] = ()
    out: tuple[Argument, ...] = ()

    @staticmethod
    def group(
        positional: Sequence[Argument], kwarg_only: Sequence[Argument] = (), out: Sequence[Argument] = ()
    ) -> Arguments:
        """Split the arguments into those before and after ``self``, and the tensor options.

        Follows torchgen/model.py, ``Arguments.parse``; further groups of tensor options stay plain arguments.
        """
        before, self_arg, after = positional[:0], None, positional
        for place, argument in enumerate(positional):
            if argument.name == "self":
                before, self_arg, after = positional[:place], argument, positional[place + 1 :]
                break
        options = None
        pre, post = kwarg_only, kwarg_only[:0]
        for i in range(len(kwarg_only) - 3):
            window = kwarg_only[i : i + 4]
            if all(_is_option(a, *expected) for a, expected in zip(window, _TENSOR_OPTIONS, strict=True)):
                options = TensorOptionsArguments(*window)
                pre, post = kwarg_only[:i], kwarg_only[i + 4 :]
                break
        arguments = Arguments(tuple(before), self_arg, tuple(after), tuple(pre), options, tuple(post), tuple(out))
        arguments.__dict__["flat_positional"] = tuple(positional)
        arguments.__dict__["flat_kwarg_only"] = tuple(kwarg_only)
        return arguments

    @cached_property
    def flat_positional(self) -> tuple[Argument, ...]:
        """The positional arguments in schema order."""
        own = () if self.self_arg is None else (self.self_arg,)
        return (*self.pre_self_positional, *own, *self.post_self_positional)

    @cached_property
    def flat_kwarg_only(self) -> tuple[Argument, ...]:
        """The keyword-only arguments in schema order, without the out arguments."""
        options = () if self.tensor_options is None else self.tensor_options.all
        return (*self.pre_tensor_options_kwarg_only, *options, *self.post_tensor_options_kwarg_only)

    @cached_property
    def flat_non_out(self) -> tuple[Argument, ...]:
        """All arguments without the out arguments, in schema order."""
        return self.flat_positional + self.flat_kwarg_only

    @cached_property
    def flat_all(self) -> tuple[Argument, ...]:
        """All arguments in schema order."""
        return self.flat_non_out + self.out

    @cached_property
    def non_out(self) -> tuple[Argument | TensorOptionsArguments, ...]:
        """All arguments without the out arguments; the tensor options count as one."""
        options = () if self.tensor_options is None else (self.tensor_options,)
        return (
            *self.flat_positional,
            *self.pre_tensor_options_kwarg_only,
            *options,
            *self.post_tensor_options_kwarg_only,
        )

    def by_name(self, name: str) -> Argument | None:
        """The argument of that name."""
        return next((argument for argument in self.flat_all if argument.name == name), None)

    def __str__(self) -> str:
        parts = [str(argument) for argument in self.flat_positional]
        keyword = self.flat_kwarg_only + self.out
        if keyword:
            parts.append("*")
            parts.extend(str(argument) for argument in keyword)
        return ", ".join(parts)
