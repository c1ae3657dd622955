"""A new operator: its schema, and the arguments and outputs with gradients."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from derivlint.analysis.dependence.arguments import is_discrete
from derivlint.cpp import argument_type
from derivlint.model.keys import RESULT
from derivlint.project.errors import InputError
from derivlint.schema import Argument, FunctionSchema, SchemaError, SchemaKind, parse_schema


class OperatorSignature(Struct, frozen=True):
    """An operator with its differentiable arguments and outputs.

    Attributes:
        schema: its schema.
        inputs: the arguments that have a gradient.
        integral: the tensor arguments that have none.
        outputs: whether each output has a gradient.
    """

    schema: FunctionSchema
    inputs: tuple[Argument, ...]
    integral: tuple[Argument, ...]
    outputs: tuple[bool, ...]

    @property
    def name(self) -> str:
        """The name for functions and files, without the dot of an overload."""
        return str(self.schema.name).replace(".", "_")

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """All arguments, in order."""
        return self.schema.arguments.flat_non_out

    @property
    def is_view(self) -> bool:
        """Whether its outputs are views of its arguments."""
        return any(item.annotation is not None for item in self.schema.returns)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs in formulas."""
        return output_names(self.schema)


def output_names(schema: FunctionSchema) -> tuple[str, ...]:
    """Return the names of an operator's outputs in formulas."""
    returns = schema.returns
    if len(returns) == 1:
        return (returns[0].name or RESULT,)
    return tuple(item.name or f"result{number}" for number, item in enumerate(returns))


def signature_of(text: str, non_differentiable: Collection[str] = ()) -> OperatorSignature:
    """Read a schema, and guess the roles of arguments from their names.

    Args:
        text: the schema.
        non_differentiable: arguments and outputs without gradient, in addition to those guessed by name.

    Raises:
        InputError: the text is not a schema, or the operator has no tensors or is of an unsupported kind.
    """
    try:
        schema = parse_schema(text)
    except SchemaError as error:
        raise InputError(f'"{text}" is not a schema: {error}') from error
    if schema.kind is not SchemaKind.functional:
        raise InputError(f'"{schema.name}" writes to its arguments; name the schema of its functional form')
    if schema.arguments.tensor_options is not None:
        raise InputError(f'"{schema.name}" takes no tensor, so that it has no gradient')
    arguments = schema.arguments.flat_non_out
    names = output_names(schema)
    all_names = {argument.name for argument in arguments}.union(names)
    for name in non_differentiable:
        if name not in all_names:
            raise InputError(f'"{schema.name}" has no argument or output "{name}"')
    without = {name for name in all_names if name in non_differentiable or is_discrete(name)}
    tensors = [argument for argument in arguments if argument.type.is_tensor_like]
    returned = zip(schema.returns, names, strict=True)
    outputs = tuple(item.type.is_tensor_like and name not in without for item, name in returned)
    inputs = tuple(argument for argument in tensors if argument.name not in without)
    if not inputs or not any(outputs):
        part = "argument" if not inputs else "output"
        raise InputError(f'"{schema.name}" has no tensor {part} that could have a gradient')
    return OperatorSignature(schema, inputs, tuple(tensor for tensor in tensors if tensor not in inputs), outputs)


def parameter(argument: Argument) -> str:
    """Return the C++ parameter for an argument of a helper; a missing tensor is an undefined one."""
    type_ = str(argument_type(argument.type, write=False)).replace("::std::", "std::").replace(" &", "&")
    if str(argument.type) == "Tensor?":
        type_ = "const at::Tensor&"
    return f"{type_} {argument.name}"
