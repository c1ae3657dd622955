"""From a view operator to the class that recreates its views.

Follows torchgen/packaged/autograd/gen_view_funcs.py in which classes there are, in their names and in their data; the
text is made for the API of ``torch::autograd::ViewFunc``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from derivlint.cpp import value_type
from derivlint.emit.template import fill, load
from derivlint.emit.view_funcs.functions import (
    SELF,
    VIEW_INDEX,
    class_name,
    generated_functions,
    makes_several_views,
)
from derivlint.model.evaluation import formals
from derivlint.model.model import Model
from derivlint.operators import Book
from derivlint.schema import Argument, NativeFunction

_ARRAY = "at::ArrayRef<"
_OPTIONAL = "::std::optional<"
#: What a type that only refers to its value is kept as.
_OWNING = {
    "at::IntArrayRef": "::std::vector<int64_t>",
    "c10::SymIntArrayRef": "::std::vector<c10::SymInt>",
    "at::TensorList": "::std::vector<at::Tensor>",
    "at::OptionalIntArrayRef": "::std::optional<::std::vector<int64_t>>",
    "at::OptionalSymIntArrayRef": "::std::optional<::std::vector<c10::SymInt>>",
    "c10::string_view": "::std::string",
    "::std::optional<c10::string_view>": "::std::optional<::std::string>",
}
_OPTIONAL_LISTS = ("at::OptionalIntArrayRef", "at::OptionalSymIntArrayRef")
#: The types of what can be read and replaced in a view function.
SYMINT = "c10::SymInt"
TENSOR = "at::Tensor"


class Member(Struct, frozen=True):
    """What a view function keeps of an argument.

    Attributes:
        type: its C++ type, which owns its value.
        name: its name, that of the argument.
        parameter_type: the type of the constructor's parameter.
        state: what its elements are where they can be read and replaced, ``c10::SymInt`` or ``at::Tensor``; else None.
    """

    type: str
    name: str
    parameter_type: str
    state: str | None

    @property
    def initial(self) -> str:
        """What it is constructed of."""
        if self.type.startswith("::std::vector<"):
            return f"{self.name}.vec()"
        if self.type.startswith("::std::optional<::std::vector<"):
            return f"{self.name}.has_value() ? {self.type}({self.name}->vec()) : ::std::nullopt"
        return self.name

    @property
    def argument(self) -> str:
        """What it is passed on as."""
        if self.parameter_type in _OPTIONAL_LISTS:
            # these types take a vector, but no optional one
            return f"{self.name}.has_value() ? {self.parameter_type}(*{self.name}) : ::std::nullopt"
        return self.name


class ViewFunc(Struct, frozen=True):
    """The class that recreates views of one operator.

    Attributes:
        function: the operator.
        name: the name of the class, ``SelectIntViewFunc``.
        members: its data members, one for each argument behind ``self``, and the index of the output where there are
            several.
        header: the C++ of the class.
        source: the C++ of its functions.
    """

    function: NativeFunction
    name: str
    members: tuple[Member, ...]
    header: str
    source: str


def view_funcs(model: Model, operators: Collection[str] | None = None) -> tuple[ViewFunc, ...]:
    """The view functions of a model, in the order of PyTorch's header.

    Args:
        model: a model without errors.
        operators: the names of operators, as :func:`derivlint.emit.kernels.kernels` takes them; None for all.
    """
    functions = generated_functions(model, operators, lambda function: has_view_func(function, model.book))
    return tuple(view_func(function) for function in sorted(functions, key=lambda each: each.cpp_name))


def has_view_func(function: NativeFunction, book: Book) -> bool:
    """Whether views of the function can be recreated: it makes views of ``self``."""
    if not book.is_view(function):
        return False
    arguments = function.schema.arguments.flat_all
    return bool(arguments) and arguments[0].name == SELF and str(arguments[0].type) == "Tensor"


def view_func(function: NativeFunction) -> ViewFunc:
    """The class of one view operator."""
    name = class_name(function)
    types = formals(function)
    arguments = [argument for argument in function.schema.arguments.flat_all if argument.name != SELF]
    members = [_member(argument, types[argument.name]) for argument in arguments]
    call = ", ".join(["input_base", *(member.argument for member in members)])
    result = f"at::_ops::{function.name.unambiguous_name}::call({call})"
    if makes_several_views(function):
        members.append(Member("int64_t", VIEW_INDEX, "int64_t", None))
        result += f"[{VIEW_INDEX}]"
    own = tuple(members)
    return ViewFunc(function, name, own, _header(function, name, own), _source(name, own, result))


def _member(argument: Argument, parameter_type: str) -> Member:
    kind = argument.type
    state = TENSOR if kind.is_tensor_like else SYMINT if kind.is_symint_like else None
    return Member(_owning(value_type(kind)), argument.name, parameter_type, state)


def _owning(kind: str) -> str:
    if kind.startswith(_ARRAY):
        return f"::std::vector<{kind[len(_ARRAY) :]}"
    if kind.startswith(_OPTIONAL + _ARRAY):
        return f"{_OPTIONAL}::std::vector<{kind[len(_OPTIONAL + _ARRAY) :]}"
    return _OWNING.get(kind, kind)


def _header(function: NativeFunction, name: str, members: Sequence[Member]) -> str:
    parameters = ", ".join(f"{member.parameter_type} {member.name}" for member in members)
    initializers = ", ".join(f"{member.name}({member.initial})" for member in members)
    return fill(
        load("view_func_class.h"),
        origin=str(function.name),
        available=f"{function.name.unambiguous_name}_view_func_available".upper(),
        name=name,
        parameters=parameters,
        initializers=f" : {initializers}" if initializers else "",
        private="\n".join(["", " private:", *(f"  {member.type} {member.name};" for member in members)])
        if members
        else "",
    )


def _source(name: str, members: Sequence[Member], result: str) -> str:
    def fields(state: str) -> list[str]:
        return [member.name for member in members if member.state == state]

    symints, tensors = fields(SYMINT), fields(TENSOR)
    return fill(
        load("view_func_class.cpp"),
        name=name,
        symints=", ".join(symints),
        tensors=", ".join(tensors),
        set_symints=", ".join(["symints", *symints]),
        set_tensors=", ".join(["tensors", *tensors]),
        result=result,
        members=", ".join(member.argument for member in members),
    )
