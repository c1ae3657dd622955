"""The native functions of a PyTorch, with lookups by name, schema and signature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

from derivlint.schema.families import Family, ViewGroup
from derivlint.schema.native_function import NativeFunction
from derivlint.schema.syntax.function_schema import view_base
from derivlint.schema.syntax.names import FOREACH_PREFIX, OperatorName
from derivlint.source import SourceFile, Span
from derivlint.source.lazy import cached_property

#: The minimum number of functions of a complete PyTorch.
WHOLE = 500


class NativeProblem(NamedTuple):
    """An unreadable part of a file of native functions."""

    source: SourceFile
    message: str
    span: Span
    help: str | None


class UnreadablePart(NamedTuple):
    """An unreadable part of a C++ header.

    Attributes:
        source: the header.
        message: the fact.
        span: the span in the header.
        help: the cure, and the consequence for checks.
        hides: whether declarations after it may be missing.
    """

    source: SourceFile
    message: str
    span: Span
    help: str
    hides: bool


class HelperBody(NamedTuple):
    """A C++ helper function, with the facts derived from its body.

    Attributes:
        span: the whole function.
        name_span: its name.
        derived: its linearity and conjugation, as :mod:`derivlint.operators.reference.derived` encodes them; empty if
            unknown.
        returns: the parameters that every ``return`` returns, unchanged or possibly as a view.
        lost: the gradients of a backward function that do not occur in its result.
        nonlinear: the gradients of a backward function in which it is not linear.
        unguarded: the tensors that it reads unconditionally without testing whether they are defined.
    """

    span: Span
    name_span: Span
    derived: str
    returns: tuple[str, ...]
    lost: tuple[str, ...]
    nonlinear: tuple[str, ...]
    unguarded: tuple[str, ...]


class HelperBodies(NamedTuple):
    """The helper functions that a C++ source file defines.

    Attributes:
        source: the file.
        functions: the functions by name, in file order.
        is_shown: whether findings may quote it.
    """

    source: SourceFile
    functions: Mapping[str, Sequence[HelperBody]]
    is_shown: bool = True


class NativeFunctions:
    """The native functions, with the variants that torchgen generates.

    Families of operators are computed on demand, since a check needs few of them.

    Attributes:
        written: the functions as written in the files, in order.
        problems: the unreadable parts of the files.
        version: the PyTorch version, or None if unknown.
        declarations: the C++ declarations other than operators, as :mod:`derivlint.cpp` reads them from headers; None
            if no header is known.
        declarations_complete: whether they declare every function that formulas may call.
        has_manual: whether they include PyTorch's FunctionsManual.h, so that other helpers do not exist.
        in_checkout: whether that header is part of the checkout of the derivatives file.
        header_problems: the unreadable parts of headers.
        autograd_keys: the dispatch keys that derivatives may name.
        known_tags: the tags of tags.yaml, or None if unknown.
        derivatives: the names with a formula, by the full name of each operator in PyTorch's derivatives.yaml; None if
            unknown.
        generator_lists: the operator lists in the generators of this PyTorch, by topic, as :mod:`derivlint.operators`
            reads them; None for those of its release.
        origin: how the functions were obtained.
        are_of_framework: whether they are the operators of a framework other than PyTorch.
        is_older: whether they are for a PyTorch older than the oldest release in the operator book.
        of_version: the functions of one version, for a back end's files for several versions.
    """

    def __init__(
        self,
        written: Iterable[NativeFunction],
        *,
        problems: Iterable[NativeProblem] = (),
        version: str | None = None,
        declarations: Mapping[str, Any] | None = None,
        autograd_keys: Iterable[str] = (),
        known_tags: Iterable[str] | None = None,
        derivatives: Mapping[str, Sequence[str]] | None = None,
        generator_lists: Mapping[str, Sequence[str]] | None = None,
        origin: str = "",
    ) -> None:
        self.written = tuple(written)
        self.problems = tuple(problems)
        self.version = version
        self.declarations = declarations
        self.declarations_complete = False
        self.has_manual = declarations is not None
        self.in_checkout = False
        self.header_problems: tuple[UnreadablePart, ...] = ()
        self._read_bodies: Callable[[], HelperBodies | None] = lambda: None
        self.autograd_keys = tuple(autograd_keys)
        self.known_tags = None if known_tags is None else frozenset(known_tags)
        self.derivatives = derivatives
        self.generator_lists = generator_lists
        self.origin = origin
        self.are_of_framework = False
        self.is_older = False
        self.of_version: Callable[[str], NativeFunctions] = lambda _: self
        self._families: dict[str, Family] = {}

    @cached_property
    def _members(self) -> dict[str, list[tuple[int, NativeFunction]]]:
        """The written functions and their positions, by the base name of their view."""
        members: dict[str, list[tuple[int, NativeFunction]]] = {}
        for position, function in enumerate(self.written):
            members.setdefault(view_base(function.name.base), []).append((position, function))
        return members

    def with_declarations(
        self,
        declarations: Mapping[str, Any] | None,
        *,
        complete: bool,
        has_manual: bool | None = None,
        in_checkout: bool = False,
    ) -> NativeFunctions:
        """Return a copy with other C++ declarations; ``has_manual`` stays the same by default."""
        changed = copy(self)
        changed.declarations = declarations
        changed.declarations_complete = complete
        changed.has_manual = self.has_manual if has_manual is None else has_manual
        changed.in_checkout = in_checkout
        return changed

    def all_declared(self) -> NativeFunctions:
        """Return a copy whose declarations are complete: formulas may call nothing else."""
        changed = self.with_declarations(self.declarations, complete=True, in_checkout=self.in_checkout)
        changed.of_version = lambda version: self.of_version(version).all_declared()
        return changed

    def with_header_problems(self, problems: Iterable[UnreadablePart]) -> NativeFunctions:
        """Return a copy whose declarations come from headers with unreadable parts."""
        changed = copy(self)
        changed.header_problems = tuple(problems)
        return changed

    def with_bodies(self, read: Callable[[], HelperBodies | None]) -> NativeFunctions:
        """Return a copy with the bodies of helper functions, read on demand."""
        changed = copy(self)
        changed._read_bodies = read
        return changed

    @property
    def bodies(self) -> HelperBodies | None:
        """The bodies of helper functions, or None if unknown."""
        return self._read_bodies()

    def with_derivatives(self, derivatives: Mapping[str, Sequence[str]] | None) -> NativeFunctions:
        """Return a copy with the names that have formulas in PyTorch's derivatives.yaml."""
        changed = copy(self)
        changed.derivatives = derivatives
        return changed

    def with_generator_lists(self, lists: Mapping[str, Sequence[str]] | None) -> NativeFunctions:
        """Return a copy with the operator lists of its own generators."""
        changed = copy(self)
        changed.generator_lists = lists
        return changed

    @cached_property
    def has_symbolic_sizes(self) -> bool:
        """Whether this PyTorch has ``SymInt`` (from 1.13 on); true for incomplete sets of functions."""
        if self.is_older:
            return False
        return self._is_part or any("SymInt" in function.func_text for function in self.written)

    @cached_property
    def has_composite_keys(self) -> bool:
        """Whether dispatch tables distinguish composite functions (from 1.8 on); true for incomplete sets."""
        return self._is_part or any("CompositeExplicitAutograd" in (item.dispatch or ()) for item in self.written)

    @property
    def _is_part(self) -> bool:
        return len(self.written) < WHOLE

    def _family(self, base: str) -> Family | None:
        """The family of a base name; cached under the requested name and the name of its view."""
        family = self._families.get(base)
        if family is None:
            key = view_base(base)
            family = self._families.get(key)
            if family is None:
                members = self._members.get(key)
                if members is None:
                    return None
                family = self._families[key] = Family(members)
            self._families[base] = family
        return family

    def _all_families(self) -> list[Family]:
        return [family for key in self._members if (family := self._family(key)) is not None]

    @cached_property
    def functions(self) -> tuple[NativeFunction, ...]:
        """All functions, generated ones last; follows torchgen/gen.py, ``parse_native_yaml_struct``."""
        generated = [item for family in self._all_families() for item in family.generated]
        generated.sort(key=lambda item: item[0])
        return self.written + tuple(function for _, function in generated)

    @cached_property
    def view_groups(self) -> tuple[ViewGroup, ...]:
        """All view groups, in the order in which PyTorch adds the derivatives of the ``_copy`` twins."""
        groups = [item for family in self._all_families() for item in family.view_groups]
        groups.sort(key=lambda item: item[0])
        return tuple(group for _, group in groups)

    def by_schema(self, text: str) -> NativeFunction | None:
        """The function whose schema is exactly ``text``, or None."""
        family = self._family(OperatorName.parse(text.partition("(")[0]).base)
        return None if family is None else family.by_schema(text)

    def named(self, name: str) -> tuple[NativeFunction, ...]:
        """The overloads of an operator; ``abs`` and ``abs_`` are two operators."""
        family = self._family(OperatorName.parse(name).base)
        return () if family is None else family.named(name)

    def operator(self, name: str) -> NativeFunction | None:
        """The function with a full name such as ``add_.Tensor``."""
        return next((f for f in self.named(name.partition(".")[0]) if str(f.name) == name), None)

    def with_base(self, base: str) -> tuple[NativeFunction, ...]:
        """All functions with a base name: every form and overload."""
        family = self._family(base)
        return () if family is None else family.with_base(base)

    def signature_group(self, function: NativeFunction) -> tuple[NativeFunction, ...]:
        """The functions with the signature of ``function``, as load_derivatives.py orders them."""
        family = self._family(function.name.base)
        return () if family is None else family.signature_group(function)

    def by_signature(self, key: str) -> tuple[NativeFunction, ...]:
        """The functions whose signature prints as ``key``, in the same order as :meth:`signature_group`."""
        family = self._family(OperatorName.parse(key.partition("(")[0]).base)
        return () if family is None else family.by_signature(key)

    def view_group(self, function: NativeFunction) -> ViewGroup | None:
        """The view group that contains ``function``."""
        family = self._family(function.name.base)
        return None if family is None else family.view_group(function)

    def foreach_of(self, base: str) -> tuple[NativeFunction, ...]:
        """The functions that apply an operator to each tensor of a list: ``_foreach_<base>`` in all forms."""
        return self.with_base(FOREACH_PREFIX + base)

    @cached_property
    def inplace_foreach(self) -> tuple[NativeFunction, ...]:
        """The in-place functions that apply an operator to each tensor of a list."""
        return tuple(f for f in self.written if f.name.inplace and f.name.is_foreach)

    @cached_property
    def inplace_foreach_names(self) -> tuple[str, ...]:
        """The names of :attr:`inplace_foreach`."""
        return tuple(str(f.name) for f in self.inplace_foreach)

    @cached_property
    def _operator_names(self) -> tuple[str, ...]:
        return tuple(sorted({f.name.name_without_overload for f in self.written}))

    def operator_names(self) -> tuple[str, ...]:
        """The names of the written operators, without overloads, sorted."""
        return self._operator_names
