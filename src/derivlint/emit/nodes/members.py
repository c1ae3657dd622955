"""The members of a node: the values that the forward call saves for the backward one.

Follows torchgen/packaged/autograd/gen_autograd_functions.py (``save_var``), whose names and types every other part of
PyTorch relies on: kernels fill the members, Python reads them as ``grad_fn._saved_<name>``.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from msgspec import Struct

from derivlint.cpp.cpp_type import cpp_type
from derivlint.cpp.declared_type import DeclaredType, declared_type
from derivlint.cpp.expressions.value import INT64, TENSOR
from derivlint.cpp.types import BOOL
from derivlint.emit.release import DEFAULT, Release
from derivlint.model import DifferentiabilityInfo, SavedAttribute
from derivlint.model.generated.evaluation import SIZE, list_size, retains_variables, unpacked_type
from derivlint.model.scope import RETAIN_VARIABLES


class MemberKind(Enum):
    """The purpose of a member."""

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
#: What wraps tensors.
_WRAPPED = {
    MemberKind.TENSOR: declared_type("SavedVariable"),
    MemberKind.TENSOR_LIST: declared_type("std::vector<SavedVariable>"),
    MemberKind.OPTIONAL_TENSOR_LIST: declared_type("std::vector<SavedVariable>"),
}


class NodeMember(Struct, frozen=True):
    """One data member of a node class.

    Attributes:
        name: its name, with the underscore of wrapped tensors: ``self_``.
        type: its C++ type.
        kind: what it is for.
        initial: its initial value as C++, or empty.
        variable: the name that formulas know it under: ``self``.
        variable_type: the type of that variable, without a reference; None where formulas do not see the member.
        is_output: whether it keeps an output of the function.
        saved: what the model says is saved; None of members that go with others.
    """

    name: str
    type: DeclaredType
    kind: MemberKind
    initial: str = ""
    variable: str = ""
    variable_type: DeclaredType | None = None
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
    return tuple(_members(info, release))


def _members(info: DifferentiabilityInfo, release: Release) -> Iterator[NodeMember]:
    if retains_variables(info):
        yield NodeMember(RETAIN_VARIABLES, BOOL, MemberKind.RETAIN, "true", RETAIN_VARIABLES, BOOL)
    for attributes, is_output in ((info.all_saved_inputs, False), (info.all_saved_outputs, True)):
        for saved in sorted(attributes, key=lambda attribute: attribute.name):
            yield from _saved(saved, release, is_output=is_output)
    for binding in info.args_with_derivatives:
        if binding.is_tensor_list:
            name = list_size(binding.name)
            yield NodeMember(name, SIZE, MemberKind.SIZE, "0", name, SIZE)


def _saved(saved: SavedAttribute, release: Release, *, is_output: bool) -> Iterator[NodeMember]:
    unpacked = release.adapted_type(unpacked_type(saved, is_output=is_output))
    kind = _KINDS.get(unpacked.canonical, MemberKind.VALUE)
    name, type = saved.name, unpacked
    if kind in _WRAPPED:
        name, type = f"{name}_", _WRAPPED[kind]
    # the other types have constructors that say what they are without a value
    initial = "0" if type.canonical is INT64 else ""
    yield NodeMember(name, type, kind, initial, saved.name, unpacked, is_output, saved)
    if kind in OWNING and kind is not MemberKind.TENSOR:
        yield NodeMember(f"{saved.name}_released_", BOOL, MemberKind.RELEASED, "false")
