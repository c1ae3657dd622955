"""The classes that recreate views of view operators.

Follows torchgen/packaged/autograd/gen_view_funcs.py in the set of classes, their names and their data; the code is
written for the API of ``torch::autograd::ViewFunc``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from msgspec import Struct

from derivlint.cpp import value_type
from derivlint.cpp.types import INT64, SYM_INT, TENSOR, DeclaredType, declared_type, optional_of, vector_of
from derivlint.emit.own_operators import HEADER as OPERATORS
from derivlint.emit.own_operators import calling
from derivlint.emit.selection import ATEN, is_selected
from derivlint.emit.template import fill, load
from derivlint.model.differentiable import has_generated_kernel, is_tensor_list
from derivlint.model.generated.evaluation import formals
from derivlint.model.model import Model
from derivlint.operators import Book
from derivlint.schema import Argument, ListType, NativeFunction, OptionalType, Type

_STRING = declared_type("::std::string")
#: The viewed tensor.
SELF = "self"
#: The index of the recreated output among several.
VIEW_INDEX = "view_idx"
#: The header that PyTorch ships, and its namespace.
HEADER = "torch/csrc/autograd/generated/ViewFuncs.h"
SHIPPED_NAMESPACE = "torch::autograd::generated"


def generated_functions(
    model: Model, operators: Collection[str] | None, has_code: Callable[[NativeFunction], bool]
) -> list[NativeFunction]:
    """The functions for which torchgen writes autograd code, in the order of ``native_functions.yaml``.

    Args:
        model: a model without errors.
        operators: names as :func:`derivlint.emit.selection.is_selected` takes them; None for all.
        has_code: the filter for functions.
    """
    return [
        function
        for function in model.natives.functions
        if is_selected(function, operators) and has_code(function) and has_generated_kernel(model.match(function))
    ]


def class_name(function: NativeFunction) -> str:
    """The name of a view function's class, ``SelectIntViewFunc``; follows gen_view_funcs.py, ``view_func_name``."""
    name = function.name.unambiguous_name
    words = "".join(word.title() for word in f"{name}_view_func".split("_"))
    return f"_{words}" if name.startswith("_") else words


def makes_several_views(function: NativeFunction) -> bool:
    """Whether the function returns a list of views."""
    returns = function.schema.returns
    return len(returns) == 1 and is_tensor_list(returns[0].type)


class ViewFuncMember(Struct, frozen=True):
    """The member of a view function for an argument.

    Attributes:
        type: its C++ type, which owns its value.
        name: its name, that of the argument.
        parameter_type: the type of the constructor's parameter.
        initial: its initializer.
        state: the element type, ``c10::SymInt`` or ``at::Tensor``, if elements can be read and replaced; else None.
    """

    type: DeclaredType
    name: str
    parameter_type: DeclaredType
    state: DeclaredType | None
    initial: str

    @property
    def argument(self) -> str:
        """The expression that passes the member to the operator."""
        if self.parameter_type.canonical.head == "OptionalArrayRef":
            # these types accept a vector, but not an optional one
            return f"{self.name}.has_value() ? {self.parameter_type}(*{self.name}) : ::std::nullopt"
        return self.name


class ViewFunc(Struct, frozen=True):
    """The class that recreates views of one operator.

    Attributes:
        function: the operator.
        name: the name of the class, ``SelectIntViewFunc``.
        members: its data members: one for each argument after ``self``, and the index of one of several outputs.
        header: the C++ of the class.
        source: the C++ of its functions.
    """

    function: NativeFunction
    name: str
    members: tuple[ViewFuncMember, ...]
    header: str
    source: str


def view_funcs(model: Model, operators: Collection[str] | None = None) -> tuple[ViewFunc, ...]:
    """The view functions of a model, in the order of PyTorch's header.

    Args:
        model: a model without errors.
        operators: the names of operators, as :func:`derivlint.emit.kernels.kernels` takes them; None for all.
    """
    functions = generated_functions(model, operators, lambda function: has_view_func(function, model.book))
    return tuple(view_func(function) for function in sorted(functions, key=lambda function: function.cpp_name))


def has_view_func(function: NativeFunction, book: Book) -> bool:
    """Whether views of the function can be recreated: they are views of ``self``."""
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
    result = f"{calling(function)}({call})"
    if makes_several_views(function):
        members.append(ViewFuncMember(INT64, VIEW_INDEX, INT64, None, VIEW_INDEX))
        result += f"[{VIEW_INDEX}]"
    own = tuple(members)
    return ViewFunc(function, name, own, _header(function, name, own), _source(name, own, result))


def _member(argument: Argument, parameter_type: DeclaredType) -> ViewFuncMember:
    kind = argument.type
    state = TENSOR if kind.is_tensor_like else SYM_INT if kind.is_symint_like else None
    owning, name = _owning(kind), argument.name
    initial = name
    if _is_referred(kind):
        initial = f"{name}.vec()"
    elif isinstance(kind, OptionalType) and _is_referred(kind.elem):
        initial = f"{name}.has_value() ? {owning}({name}->vec()) : ::std::nullopt"
    return ViewFuncMember(owning, name, parameter_type, state, initial)


def _is_referred(kind: Type) -> bool:
    """Whether C++ passes a list of this type by reference to elements owned elsewhere."""
    return isinstance(kind, ListType) and value_type(kind).canonical.head == "ArrayRef"


def _owning(kind: Type) -> DeclaredType:
    """The owning C++ type for an argument."""
    if isinstance(kind, OptionalType):
        return optional_of(_owning(kind.elem))
    if isinstance(kind, ListType) and _is_referred(kind):
        return vector_of(value_type(kind.elem))
    return _STRING if str(kind) == "str" else value_type(kind)


def _header(function: NativeFunction, name: str, members: Sequence[ViewFuncMember]) -> str:
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


def _source(name: str, members: Sequence[ViewFuncMember], result: str) -> str:
    def fields(state: DeclaredType) -> list[str]:
        return [member.name for member in members if member.state is state]

    symints, tensors = fields(SYM_INT), fields(TENSOR)
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


def operator_headers(functions: Sequence[NativeFunction]) -> str:
    """The includes of operators, with a header for each one in builds that have these."""
    roots = [function.root_name for function in functions if function.namespace == ATEN]
    if functions and not roots:
        return f'#include "{OPERATORS}"'
    return fill(
        load("view_func_operators.h"),
        includes="\n".join(f"#include <ATen/ops/{root}_ops.h>" for root in dict.fromkeys(roots)),
    )


def view_funcs_header(funcs: Sequence[ViewFunc], namespace: str = SHIPPED_NAMESPACE) -> str:
    """The header that declares view functions.

    Args:
        funcs: the view functions.
        namespace: their namespace.
    """
    return fill(
        load("view_funcs.h") + "\n",
        operators=operator_headers([func.function for func in funcs]),
        namespace=namespace.removeprefix("::"),
        classes="\n\n".join(func.header for func in funcs),
    )


def view_funcs_source(funcs: Sequence[ViewFunc], namespace: str = SHIPPED_NAMESPACE, header: str = HEADER) -> str:
    """The source file with the member functions of view functions.

    Args:
        funcs: the view functions.
        namespace: their namespace.
        header: the header with the declarations.
    """
    return fill(
        load("view_funcs.cpp") + "\n",
        header=header,
        namespace=namespace.removeprefix("::"),
        definitions="\n\n".join(func.source for func in funcs),
    )
