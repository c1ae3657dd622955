"""Whole operator schemas: ``add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)``."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from derivlint.schema.syntax.arguments import Argument, Arguments, Return
from derivlint.schema.syntax.names import OperatorName
from derivlint.source import Span
from derivlint.source.lazy import cached_property
from derivlint.source.records import Choice


class SchemaKind(Choice):
    """The kind of an operator: functional, in-place, out or mutable."""

    functional = "functional"
    inplace = "inplace"
    out = "out"
    mutable = "mutable"
    scratch = "scratch"


def view_base(base: str) -> str:
    """The base name of a view, given that of its ``_copy`` or ``_scatter`` twin; other names are unchanged.

    Follows torchgen/model.py, ``FunctionSchema.signature(strip_view_copy_name=True)``, which removes every occurrence,
    not only the last.
    """
    if base.endswith("_copy"):
        return base.replace("_copy", "")
    if base.endswith("_scatter"):
        return base.replace("scatter", "inverse")
    return base


class FunctionSchema(Struct, frozen=True, eq=False, dict=True):
    """An operator's name, arguments and returns; compared by canonical text.

    Attributes:
        name: the operator's name.
        arguments: its arguments.
        returns: its returns.
        text: the source text; the canonical text of a generated schema.
        name_span: the span of the name in ``text``, or None if it was generated.
    """

    name: OperatorName
    arguments: Arguments
    returns: tuple[Return, ...]
    source_text: str | None = None
    name_span: Span | None = None

    @cached_property
    def canonical(self) -> str:
        """The schema in PyTorch's notation."""
        returns = ", ".join(map(str, self.returns))
        return f"{self.name}({self.arguments}) -> {returns if len(self.returns) == 1 else f'({returns})'}"

    @property
    def text(self) -> str:
        """The source text; the canonical text of a generated schema."""
        return self.canonical if self.source_text is None else self.source_text

    def __str__(self) -> str:
        return self.canonical

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and self.canonical == other.canonical

    def __hash__(self) -> int:
        return hash(self.canonical)

    @cached_property
    def kind(self) -> SchemaKind:
        """The kind of the operator; follows torchgen/model.py, ``FunctionSchema.kind``."""
        if self.name.inplace:
            return SchemaKind.inplace
        if self.arguments.out:
            scratch = any(argument.name.startswith("_scratch_") for argument in self.arguments.out)
            return SchemaKind.scratch if scratch else SchemaKind.out
        if any(argument.is_write for argument in self.arguments.post_self_positional):
            return SchemaKind.mutable
        return SchemaKind.functional

    @property
    def is_out(self) -> bool:
        """Whether it takes out arguments."""
        return bool(self.arguments.out)

    @property
    def is_functional_overload(self) -> bool:
        """Whether the overload name marks it as functional; such a function is never canonical in its group."""
        return "functional" in self.name.overload

    @property
    def has_symint(self) -> bool:
        """Whether an argument is a ``SymInt``."""
        return any(argument.type.is_symint_like for argument in self.arguments.flat_non_out)

    @property
    def modifies_arguments(self) -> bool:
        """Whether it writes to one of its arguments."""
        return self.kind in (SchemaKind.inplace, SchemaKind.out, SchemaKind.mutable)

    @property
    def schema_order_arguments(self) -> tuple[Argument, ...]:
        """All arguments as written."""
        return self.arguments.flat_all

    @cached_property
    def signature_key(self) -> str:
        """The text of ``signature()``, the same for the functional, in-place and out forms of one operator."""
        return self._signature_text(self.name.base, strip_default=False)

    @cached_property
    def signature_key_no_defaults(self) -> str:
        """The text of ``signature(strip_default=True)``."""
        key = self.signature_key
        return self._signature_text(self.name.base, strip_default=True) if "=" in key else key

    @property
    def view_signature_key(self) -> str:
        """The text of ``signature(strip_view_copy_name=True)``, the same for a view and its ``_copy`` twin."""
        base = self.name.base
        if not base.endswith(("_copy", "_scatter")):
            return self.signature_key
        return self._signature_text(view_base(base), strip_default=False)

    def signature(
        self, *, strip_default: bool = False, strip_view_copy_name: bool = False, keep_return_names: bool = False
    ) -> FunctionSchema:
        """The signature that the functional, in-place and out forms of an operator share.

        Drops overload, in-place mark, annotations, tensor options and out arguments; arguments that are written to but
        not returned become returns. Follows torchgen/model.py, ``FunctionSchema.signature``.

        Args:
            strip_default: drop the defaults of the arguments.
            strip_view_copy_name: give ``<view>_copy`` and ``<view>_scatter`` the name of their view.
            keep_return_names: keep the returns' names, and name the new ones ``<argument>_out``.
        """
        base = view_base(self.name.base) if strip_view_copy_name else self.name.base
        returns = [Return(r.name if keep_return_names else None, r.type) for r in self.returns]
        returns += [Return(f"{a.name}_out" if keep_return_names else None, a.type) for a in self._unreturned_writes()]
        positional, keyword = self._signature_arguments(strip_default)
        # The remaining keyword arguments of a factory function are a flat list.
        arguments = replace(Arguments.group(positional), pre_tensor_options_kwarg_only=tuple(keyword))
        return FunctionSchema(OperatorName(base, dunder=self.name.dunder), arguments, tuple(returns))

    def _signature_arguments(self, strip_default: bool) -> tuple[list[Argument], list[Argument]]:
        arguments = self.arguments
        kwarg_only = arguments.pre_tensor_options_kwarg_only + arguments.post_tensor_options_kwarg_only
        positional = [a.without_annotation(strip_default=strip_default) for a in arguments.flat_positional]
        keyword = [a.without_annotation(strip_default=strip_default) for a in kwarg_only]
        if self.name.base == "bernoulli" and str(self.name) == "bernoulli.p":
            # bernoulli.p(Tensor self, float p) lacks the default of bernoulli_.float(float p=0.5); PyTorch pairs them
            # regardless.
            for group in (positional, keyword):
                for i, argument in enumerate(group):
                    if argument.name == "p" and str(argument.type) == "float" and argument.default is None:
                        group[i] = Argument("p", argument.type, "0.5")
        return positional, keyword

    def _unreturned_writes(self) -> list[Argument]:
        arguments = self.arguments
        own = () if arguments.self_arg is None else (arguments.self_arg,)
        # The order makes the signatures of in-place and out forms with further mutable arguments equal.
        writes = [
            a
            for a in (*own, *arguments.out, *arguments.post_self_positional)
            if a.annotation is not None and a.annotation.is_write
        ]
        if not writes:
            return writes
        returned = [r.annotation for r in self.returns]
        return [a for a in writes if a.annotation not in returned]

    def _signature_text(self, base: str, *, strip_default: bool) -> str:
        """The text of the signature, computed without constructing it."""
        arguments = self.arguments
        keyword: Sequence[Argument] = arguments.pre_tensor_options_kwarg_only + arguments.post_tensor_options_kwarg_only
        positional: Sequence[Argument] = arguments.flat_positional
        if base == "bernoulli":
            positional, keyword = self._signature_arguments(strip_default)
            strip_default = False
        parts = [argument.signature_text(strip_default=strip_default) for argument in positional]
        if keyword:
            parts.append("*")
            parts += [argument.signature_text(strip_default=strip_default) for argument in keyword]
        returns = [str(r.type) for r in self.returns]
        returns += [str(argument.type) for argument in self._unreturned_writes()]
        text = returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
        name = f"__{base}__" if self.name.dunder else base
        return f"{name}({', '.join(parts)}) -> {text}"

    def with_name(self, name: OperatorName) -> FunctionSchema:
        """A copy of the schema under another name."""
        return FunctionSchema(name, self.arguments, self.returns)
