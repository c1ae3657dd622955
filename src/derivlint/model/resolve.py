"""The native function of an entry, and the meaning of the names in its keys.

Follows torchgen/packaged/autograd/load_derivatives.py, ``create_differentiability_info`` and ``canonical_function``.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from derivlint.cpp import Binding, cpp_arguments, return_names
from derivlint.formula import whole_number
from derivlint.model.keys import RESULT
from derivlint.operators import Book, book_of
from derivlint.schema import (
    BaseType,
    FunctionSchema,
    ListType,
    NativeFunction,
    NativeFunctions,
    SchemaError,
    SchemaKind,
    SchemaMistake,
    Type,
    parse_schema,
)
from derivlint.schema.native_function import FRAMEWORK

TENSOR = BaseType("Tensor")


class Output(Struct, frozen=True):
    """A return of a function and its name in formulas.

    Attributes:
        index: its position.
        name: its name in formulas: ``result``, ``result1`` or its declared name.
        declared_name: the name in the schema, if it has one.
        type: its schema type.
    """

    index: int
    name: str
    declared_name: str | None
    type: Type

    @property
    def key_name(self) -> str:
        """The name in forward keys: the declared one, even if an argument has the same name."""
        return self.declared_name or self.name

    @property
    def is_tensor_list(self) -> bool:
        """Whether the output is a list of tensors, or may be one."""
        return isinstance(self.type, ListType) and self.type.may_be_tensor_like

    @property
    def has_tangent(self) -> bool:
        """Whether the output may have a forward formula: a tensor or a list of tensors, but not an optional."""
        return self.is_tensor_list or (isinstance(self.type, BaseType) and self.type.may_be_tensor_like)


class NameKind(Enum):
    """The meanings of names in keys."""

    ARGUMENT = "argument"
    OUTPUT = "output"
    #: ``result`` or ``result<i>`` although the outputs have other names, or with an index out of range
    GENERIC_OUTPUT = "generic output"
    #: ``dtype``, ``layout``, ``device`` or ``pin_memory`` of a factory function: C++ sees only ``options``
    TENSOR_OPTION = "tensor option"
    UNKNOWN = "unknown"


class ResolvedName(Struct, frozen=True):
    """A name of a key with its meaning."""

    kind: NameKind
    argument: Binding | None = None
    output: Output | None = None
    index: int | None = None


class EntryFunction:
    """The native function of an entry, as declared and as torchgen resolves it.

    Attributes:
        declared: the function with the entry's schema.
        canonical: the function that torchgen uses instead: with the same signature and the entry's base name. For an
            ``out=`` schema it is the functional one.
        arguments: the C++ parameters of the canonical function.
        tensor_arguments: the names of the parameters that can have a backward formula.
        outputs: its returns.
        book: the operator book.
    """

    __slots__ = (
        *("_argument_by_name", "_options", "_output_by_name", "arguments", "book", "canonical", "declared"),
        *("outputs", "tensor_arguments"),
    )

    def __init__(self, declared: NativeFunction, canonical: NativeFunction, book: Book) -> None:
        self.declared = declared
        self.book = book
        self.canonical = canonical
        self.arguments = cpp_arguments(canonical)
        self.tensor_arguments = tuple([binding.name for binding in self.arguments if binding.is_tensor_like])
        self._argument_by_name = {binding.name: binding for binding in self.arguments}
        # formulas refer to the output of an in-place function as "result"
        names = [RESULT if name == "self" else name for name in return_names(canonical)]
        self.outputs = tuple(
            Output(index, name, item.name, item.type)
            for index, (name, item) in enumerate(zip(names, canonical.schema.returns, strict=True))
        )
        self._output_by_name: dict[str, Output] = {}
        for output in self.outputs:
            self._output_by_name.setdefault(output.key_name, output)
        options = canonical.schema.arguments.tensor_options
        self._options = {argument.name for argument in options.all} if options is not None else set()

    @property
    def schema(self) -> FunctionSchema:
        """The schema of the canonical function."""
        return self.canonical.schema

    def argument(self, name: str) -> Binding | None:
        """The C++ parameter with a name, or None."""
        return self._argument_by_name.get(name)

    def output(self, name: str) -> Output | None:
        """The output with this name in forward keys, or None."""
        return self._output_by_name.get(name)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names that forward keys can use, in the order of the returns."""
        return tuple(output.key_name for output in self.outputs)

    @property
    def is_inplace(self) -> bool:
        """Whether the canonical function modifies ``self``."""
        return self.schema.kind is SchemaKind.inplace

    def resolve(self, name: str) -> ResolvedName:
        """Resolve a name of a key."""
        argument = self._argument_by_name.get(name)
        if argument is not None:
            return ResolvedName(NameKind.ARGUMENT, argument=argument, output=self._output_by_name.get(name))
        output = self._output_by_name.get(name)
        if output is not None:
            return ResolvedName(NameKind.OUTPUT, output=output, index=output.index)
        index = generic_output_index(name)
        if index is not None:
            generic = self.outputs[index] if index < len(self.outputs) else None
            return ResolvedName(NameKind.GENERIC_OUTPUT, output=generic, index=index)
        if name == RESULT:
            only = self.outputs[0] if len(self.outputs) == 1 else None
            return ResolvedName(NameKind.GENERIC_OUTPUT, output=only)
        if name in self._options:
            return ResolvedName(NameKind.TENSOR_OPTION)
        return ResolvedName(NameKind.UNKNOWN)


def generic_output_index(name: str) -> int | None:
    """The index in ``result<index>``, or None for other names."""
    digits = name.removeprefix(RESULT)
    return whole_number(digits) if digits != name else None


class SchemaProblemKind(Enum):
    """The reasons why an entry's schema does not resolve."""

    MALFORMED = "malformed"
    UNKNOWN = "unknown"
    NO_CANONICAL = "no canonical function"


class SchemaProblem(Struct, frozen=True):
    """The reason why an entry's schema does not resolve.

    Attributes:
        kind: the reason.
        mistake: the syntax error.
        schema: the parsed schema, if its syntax is valid.
        declared: the function with that schema, if any.
    """

    kind: SchemaProblemKind
    mistake: SchemaMistake | None = None
    schema: FunctionSchema | None = None
    declared: NativeFunction | None = None


def resolve_function(text: str, natives: NativeFunctions, *, declares: bool = False) -> EntryFunction | SchemaProblem:
    """Resolve the schema in an entry's ``name``.

    Args:
        text: the schema.
        natives: the operators.
        declares: whether the entry declares the operator if nothing else does.
    """
    declared = natives.by_schema(text)
    if declared is None:
        try:
            schema = parse_schema(text)
        except SchemaError as error:
            return SchemaProblem(SchemaProblemKind.MALFORMED, mistake=error.mistake)
        if natives.are_of_framework:
            # only PyTorch's generator compares schemas as text
            declared = natives.by_schema(str(schema))
    if declared is None:
        if declares:
            own = NativeFunction(text)
            own.in_cpp_api, own.has_backend_kernel = False, True
            if natives.are_of_framework:
                own.namespace = FRAMEWORK
            return EntryFunction(own, own, book_of(natives))
        return SchemaProblem(SchemaProblemKind.UNKNOWN, schema=schema)
    canonical = canonical_function(declared, natives)
    if canonical is None:
        return SchemaProblem(SchemaProblemKind.NO_CANONICAL, schema=declared.schema, declared=declared)
    return EntryFunction(declared, canonical, book_of(natives))


def canonical_function(declared: NativeFunction, natives: NativeFunctions) -> NativeFunction | None:
    """The function that torchgen uses for an entry with this schema, with the same signature; or None."""
    group = natives.signature_group(declared)
    name = declared.name.name_without_overload
    for function in group:
        schema = function.schema
        if not schema.is_out and not schema.is_functional_overload and schema.name.name_without_overload == name:
            return function
    first = group[0]
    first_name = first.schema.name.name_without_overload + ("_out" if first.schema.is_out else "")
    return first if first_name == f"{name}_" else None


__all__ = [
    "EntryFunction",
    "NameKind",
    "Output",
    "ResolvedName",
    "SchemaProblem",
    "SchemaProblemKind",
    "canonical_function",
    "resolve_function",
]
