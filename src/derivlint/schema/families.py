"""Families of related operators: variants of one operator, views and their ``_copy`` twins.

Follows torchgen/gen.py, ``get_grouped_by_view_native_functions``, and native_function_generation.py. All functions of a
group have base names with the same ``view_base``, so a family is computed without the rest of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from derivlint.schema.native_function import DEFAULT_NAMESPACE, NativeFunction, ViewSchemaKind, generated_variants
from derivlint.schema.syntax.function_schema import SchemaKind


class ViewGroup(Struct, frozen=True, eq=False):
    """A view, its ``_copy`` twin and its in-place form, each optional."""

    view: NativeFunction
    view_copy: NativeFunction | None
    view_inplace: NativeFunction | None

    @property
    def functions(self) -> tuple[NativeFunction, ...]:
        """The members, in PyTorch's order."""
        return tuple(f for f in (self.view, self.view_inplace, self.view_copy) if f is not None)


class Family:
    """The functions whose base names have the same ``view_base``.

    Attributes:
        functions: the written functions in file order, then the generated ones.
        generated: each generated function with its sort key: the file position of its group, and its position there.
        view_groups: each view group with the file position of its first function.
    """

    __slots__ = (
        "_by_base",
        "_by_name",
        "_by_schema",
        "_signature_groups",
        "_view_group_of",
        "functions",
        "generated",
        "view_groups",
    )

    def __init__(self, written: Sequence[tuple[int, NativeFunction]]) -> None:
        self.generated = _generate(written)
        self.functions = tuple(f for _, f in written) + tuple(f for _, f in self.generated)
        self._by_base: dict[str, tuple[NativeFunction, ...]] = {}
        self._by_name: dict[str, tuple[NativeFunction, ...]] = {}
        self._by_schema: dict[str, NativeFunction] = {}
        # an entry has no namespace: an operator of the project's own precedes PyTorch's
        own_first = sorted(self.functions, key=lambda function: function.namespace == DEFAULT_NAMESPACE)
        for function in own_first:
            self._by_schema.setdefault(str(function.schema), function)
        for function in own_first:
            # In old files, a few schemas have other blanks than PyTorch prints.
            self._by_schema.setdefault(function.func_text, function)
        positions = {id(f): position for position, f in written}
        self.view_groups: list[tuple[int, ViewGroup]] = []
        self._view_group_of: dict[int, ViewGroup] = {}
        self._signature_groups: dict[tuple[str, str], list[NativeFunction]] = {}
        by_view_signature: dict[tuple[str, str], list[NativeFunction]] = {}
        for function in self.functions:
            key = (function.namespace, function.schema.view_signature_key)
            by_view_signature.setdefault(key, []).append(function)
        for members in by_view_signature.values():
            first = positions.get(id(members[0]), len(positions))
            group, rest = _view_group(members)
            ordered: Iterable[NativeFunction] = rest
            if group is not None:
                self.view_groups.append((first, group))
                for function in group.functions:
                    self._view_group_of[id(function)] = group
                ordered = (*group.functions, *rest)
            for function in ordered:
                key = (function.namespace, function.schema.signature_key)
                self._signature_groups.setdefault(key, []).append(function)

    def with_base(self, base: str) -> tuple[NativeFunction, ...]:
        """The functions with that base name."""
        functions = self._by_base.get(base)
        if functions is None:
            functions = self._by_base[base] = tuple([f for f in self.functions if f.name.base == base])
        return functions

    def named(self, name: str) -> tuple[NativeFunction, ...]:
        """The overloads of an operator."""
        functions = self._by_name.get(name)
        if functions is None:
            functions = tuple([f for f in self.functions if f.name.name_without_overload == name])
            self._by_name[name] = functions
        return functions

    def by_schema(self, text: str) -> NativeFunction | None:
        """The function whose schema is, or prints as, ``text``."""
        return self._by_schema.get(text)

    def signature_group(self, function: NativeFunction) -> tuple[NativeFunction, ...]:
        """The functions with the signature of ``function``."""
        return tuple(self._signature_groups.get((function.namespace, function.schema.signature_key), ()))

    def by_signature(self, key: str) -> tuple[NativeFunction, ...]:
        """The functions whose signature prints as ``key``."""
        return tuple(f for (_, k), group in self._signature_groups.items() if k == key for f in group)

    def view_group(self, function: NativeFunction) -> ViewGroup | None:
        """The view group that ``function`` belongs to."""
        return self._view_group_of.get(id(function))


def _generate(written: Sequence[tuple[int, NativeFunction]]) -> list[tuple[tuple[int, int], NativeFunction]]:
    groups: dict[tuple[str, str], tuple[int, dict[SchemaKind, NativeFunction]]] = {}
    for position, function in written:
        key = (function.namespace, function.schema.signature_key)
        _, group = groups.setdefault(key, (position, {}))
        # PyTorch rejects two functions of one kind; here the first one counts.
        group.setdefault(function.schema.kind, function)
    return [
        ((position, place), function)
        for position, group in groups.values()
        for place, function in enumerate(generated_variants(group))
    ]


def _view_group(members: list[NativeFunction]) -> tuple[ViewGroup | None, list[NativeFunction]]:
    """The view group among functions with one view signature, and the remaining functions."""
    if not any(f.is_view_op for f in members):
        return None, members
    view = _first(members, ViewSchemaKind.aliasing)
    if view is None:
        return None, members
    inplace = _first(members, ViewSchemaKind.aliasing_inplace)
    copy = next(
        (
            f
            for f in members
            if f.schema.kind is SchemaKind.functional
            and f.view_schema_kind is ViewSchemaKind.non_aliasing
            and f.name.base.endswith(("_copy", "_scatter"))
        ),
        None,
    )
    group = ViewGroup(view, copy, inplace)
    return group, [f for f in members if f is not view and f is not inplace and f is not copy]


def _first(members: Iterable[NativeFunction], kind: ViewSchemaKind) -> NativeFunction | None:
    return next((f for f in members if f.view_schema_kind is kind), None)
