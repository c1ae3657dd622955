"""The facts of one operator, for display."""

from __future__ import annotations

from msgspec import Struct

from derivlint.schema.native_function import NativeFunction
from derivlint.schema.natives import NativeFunctions
from derivlint.schema.syntax.names import OperatorName


class FunctionFacts(Struct, frozen=True):
    """One native function of an operator.

    Attributes:
        schema: its schema.
        kind: functional, inplace, out, mutable or scratch.
        generated: whether it is a variant that torchgen adds.
        abstract: whether its kernels differ between backends.
        view: how its returns alias its arguments: aliasing, aliasing_inplace or non_aliasing.
        variants: ``function``, ``method``.
        dispatch: the dispatch keys as written, None without a dispatch table.
        structured_delegate: the out function it delegates to, or None.
        tags: its tags, sorted.
        autogen: the variants that torchgen generates from it.
        signature_group: the names of the functions with the same signature, itself among them.
        view_group: the names of view, in-place view and copy; empty outside of view groups.
    """

    schema: str
    kind: str
    generated: bool
    abstract: bool
    view: str
    variants: tuple[str, ...]
    dispatch: tuple[str, ...] | None
    structured_delegate: str | None
    tags: tuple[str, ...]
    autogen: tuple[str, ...]
    signature_group: tuple[str, ...]
    view_group: tuple[str, ...]


class OperatorFacts(Struct, frozen=True):
    """The functions with a base name, or the requested overload.

    Attributes:
        name: the requested name.
        functions: the functions: functional, in-place, out and generated ones.
        foreach: the schemas of the foreach twins.
    """

    name: str
    functions: tuple[FunctionFacts, ...]
    foreach: tuple[str, ...]


def describe_operator(natives: NativeFunctions, name: str) -> OperatorFacts | None:
    """The facts of the operator called ``name``, or None if there is none.

    Args:
        natives: the operators.
        name: ``add`` for all forms of the operator, ``add_`` for all overloads of that form, ``add.Tensor`` for one
            overload; optionally with a namespace.
    """
    plain = name.rpartition("::")[2]
    parsed = OperatorName.parse(plain)
    if parsed.overload:
        functions = tuple(f for f in natives.named(parsed.name_without_overload) if f.name == parsed)
    elif plain == parsed.base:
        functions = natives.with_base(parsed.base)
    else:
        functions = natives.named(plain)
    if not functions:
        return None
    twins = tuple(str(f.schema) for f in natives.foreach_of(parsed.base))
    return OperatorFacts(name, tuple(_facts(natives, f) for f in functions), twins)


def _facts(natives: NativeFunctions, function: NativeFunction) -> FunctionFacts:
    view_group = natives.view_group(function)
    return FunctionFacts(
        schema=str(function.schema),
        kind=function.schema.kind.value,
        generated=function.generated,
        abstract=function.is_abstract,
        view=function.view_schema_kind.value,
        variants=tuple(sorted(function.variants)),
        dispatch=function.dispatch,
        structured_delegate=function.structured_delegate,
        tags=tuple(sorted(function.tags)),
        autogen=function.autogen,
        signature_group=tuple(str(f.name) for f in natives.signature_group(function)),
        view_group=() if view_group is None else tuple(str(f.name) for f in view_group.functions),
    )
