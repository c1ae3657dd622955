"""The members of a node: what the forward call leaves for the backward one.

Follows torchgen/packaged/autograd/gen_autograd_functions.py (``save_var``), whose names and types every other part of
PyTorch relies on: kernels fill the members, Python reads them as ``grad_fn._saved_<name>``.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from derivlint.cpp.canonical import canonical_type
from derivlint.cpp.cpp_type import cpp_type
from derivlint.cpp.expressions.value import INT64, TENSOR, UNKNOWN
from derivlint.emit.release import DEFAULT, Release
from derivlint.model import DifferentiabilityInfo, SavedAttribute
from derivlint.model.generated.evaluation import SCALAR, list_size, retains_variables, unpacked_type
from derivlint.model.generated.evaluation import TENSOR as CPP_TENSOR
from derivlint.model.scope import RETAIN_VARIABLES

SAVED_VARIABLE = "SavedVariable"
SAVED_VARIABLES = "std::vector<SavedVariable>"


class MemberKind(Enum):
    """What a member is for."""

    TENSOR = "tensor"
    TENSOR_LIST = "list of tensors"
    OPTIONAL_TENSOR_LIST = "list of optional tensors"
    SCALAR_LIST = "list of numbers"
    VALUE = "value"
    #: ``self_released_``: whether a list was given back
    RELEASED = "released"
    #: ``self_size_``: how many gradients a list of tensors takes
    SIZE = "size"
    #: ``retain_variables``: whether backward can run again
    RETAIN = "retain"


#: Members that own tensors, or copies of many numbers, and are given back after backward.
OWNING = frozenset({MemberKind.TENSOR, MemberKind.TENSOR_LIST, MemberKind.OPTIONAL_TENSOR_LIST, MemberKind.SCALAR_LIST})
#: What lists of tensors, of optional tensors and of numbers are unpacked into.
_KINDS = {
    TENSOR: MemberKind.TENSOR,
    cpp_type("vector<Tensor>"): MemberKind.TENSOR_LIST,
    cpp_type("List<optional<Tensor>>"): MemberKind.OPTIONAL_TENSOR_LIST,
    cpp_type("vector<Scalar>"): MemberKind.SCALAR_LIST,
}


class NodeMember(Struct, frozen=True):
    """One data member of a node class.

    Attributes:
        name: its name, with the underscore of wrapped tensors: ``self_``.
        type: its C++ type.
        kind: what it is for.
        initial: its initial value as C++, or empty.
        variable: the name that formulas know it under: ``self``.
        variable_type: the type of that variable, without a reference; empty where formulas do not see the member.
        is_output: whether it keeps an output of the function.
        saved: what the model says is saved; None of members that go with others.
    """

    name: str
    type: str
    kind: MemberKind
    initial: str = ""
    variable: str = ""
    variable_type: str = ""
    is_output: bool = False
    saved: SavedAttribute | None = None

    @property
    def declaration(self) -> str:
        """The declaration in the class."""
        return f"{self.type} {self.name} = {self.initial};" if self.initial else f"{self.type} {self.name};"

    @property
    def released(self) -> str:
        """The flag beside a list that says whether it was given back."""
        return f"{self.variable}_released_"


def members(info: DifferentiabilityInfo, release: Release = DEFAULT) -> tuple[NodeMember, ...]:
    """The members of an info's node, in the order of declaration, with types in the words of a release."""
    return tuple(
        replace(member, type=release.spelled(member.type), variable_type=release.spelled(member.variable_type))
        for member in _members(info)
    )


def _members(info: DifferentiabilityInfo) -> Iterator[NodeMember]:
    if retains_variables(info):
        yield NodeMember(RETAIN_VARIABLES, "bool", MemberKind.RETAIN, "true", RETAIN_VARIABLES, "bool")
    for saved in sorted(info.all_saved_inputs, key=_name):
        yield from _saved(saved, is_output=False)
    for saved in sorted(info.all_saved_outputs, key=_name):
        yield from _saved(saved, is_output=True)
    for binding in info.args_with_derivatives:
        if binding.is_tensor_list:
            name = list_size(binding.name)
            yield NodeMember(name, "size_t", MemberKind.SIZE, "0", name, "size_t")


def _name(saved: SavedAttribute) -> str:
    return saved.name


def _saved(saved: SavedAttribute, *, is_output: bool) -> Iterator[NodeMember]:
    # a number that an operator returns is kept as the tensor that autograd made of it
    declared = CPP_TENSOR if is_output and saved.type == SCALAR else saved.type
    unpacked = unpacked_type(declared)
    type = canonical_type(unpacked) or UNKNOWN
    kind = _KINDS.get(type, MemberKind.VALUE)
    name = saved.name
    if kind is MemberKind.TENSOR:
        yield NodeMember(f"{name}_", SAVED_VARIABLE, kind, "", name, unpacked, is_output, saved)
        return
    if kind is MemberKind.VALUE:
        # the other types have constructors that say what they are without a value
        initial = "0" if type is INT64 else ""
        yield NodeMember(name, unpacked, kind, initial, name, unpacked, is_output, saved)
        return
    is_wrapped = kind is not MemberKind.SCALAR_LIST
    yield NodeMember(
        f"{name}_" if is_wrapped else name,
        SAVED_VARIABLES if is_wrapped else unpacked,
        kind,
        "",
        name,
        unpacked,
        is_output,
        saved,
    )
    yield NodeMember(f"{name}_released_", "bool", MemberKind.RELEASED, "false")
