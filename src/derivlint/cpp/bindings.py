"""The parameters and returns of a function in generated C++."""

from __future__ import annotations

from msgspec import Struct

from derivlint.cpp.types import DeclaredType, argument_type, declared_type, value_type
from derivlint.schema import Argument, BaseType, ListType, NativeFunction, TensorOptionsArguments
from derivlint.source.lazy import memoized

TENSOR = BaseType("Tensor")
OPTIONS = declared_type("at::TensorOptions")


class Binding(Struct, frozen=True):
    """One parameter of the C++ signature.

    Attributes:
        name: the parameter's name; ``options`` for the four tensor options of a factory function.
        cpp_type: its type without ``const`` and ``&``.
        argument: the schema argument, or None for ``options``.
    """

    name: str
    cpp_type: DeclaredType
    argument: Argument | None

    @property
    def is_tensor_like(self) -> bool:
        """Whether the parameter is a tensor, a list of tensors or an optional tensor, or may be one."""
        return self.argument is not None and self.argument.type.may_be_tensor_like

    @property
    def is_tensor_list(self) -> bool:
        """Whether the parameter is a list of tensors; lists of optional tensors do not count."""
        type = None if self.argument is None else self.argument.type
        return isinstance(type, ListType) and isinstance(type.elem, BaseType) and type.may_be_tensor_like


@memoized
def cpp_arguments(function: NativeFunction) -> tuple[Binding, ...]:
    """The parameters of a function's C++ signature, out arguments first.

    Follows torchgen/packaged/autograd/load_derivatives.py, ``cpp_arguments``: the grouped signature, in its SymInt form
    if the schema has one. Formulas may use exactly these names.
    """
    schema = function.schema
    structured = function.part_of_structured_group
    bindings = [
        Binding(argument.name, value_type(argument.type, structured=structured), argument)
        for argument in schema.arguments.out
    ]
    for argument in schema.arguments.non_out:
        if isinstance(argument, TensorOptionsArguments):
            bindings.append(Binding("options", OPTIONS, None))
        else:
            bindings.append(Binding(argument.name, value_type(argument.type, structured=structured), argument))
    return tuple(bindings)


def parameter_type(argument: Argument, function: NativeFunction, *, symint: bool = True) -> DeclaredType:
    """The C++ type of a function's formal parameter, including reference and ``const``."""
    return argument_type(
        argument.type,
        write=argument.is_write,
        symint=symint,
        structured=function.part_of_structured_group,
        const_write=function.use_const_ref_for_mutable_tensors,
    )


@memoized
def return_names(function: NativeFunction) -> tuple[str, ...]:
    """The C++ names of a function's returns.

    Follows torchgen/api/cpp.py, ``return_names``: ``self`` for an in-place function, the out argument's name for an out
    function, the declared name of the return (``<name>_return`` if an argument has that name), else ``result`` or
    ``result<i>``.
    """
    schema = function.schema
    returns = schema.returns
    if schema.name.inplace:
        return ("self",) * len(returns)
    out = schema.arguments.out
    names = []
    argument_names = {argument.name for argument in schema.arguments.flat_all}
    for index, item in enumerate(returns):
        if out:
            names.append(out[index].name)
        elif item.name:
            names.append(f"{item.name}_return" if item.name in argument_names else item.name)
        else:
            names.append("result" if len(returns) == 1 else f"result{index}")
    return tuple(names)
