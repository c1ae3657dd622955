"""The properties of a node in Python: ``_saved_self`` for a value, ``_raw_saved_self`` for what holds a tensor.

Follows torchgen/packaged/autograd/gen_autograd_functions.py (``save_var``): which members have properties is what
PyTorch has, types that Python could be given and is not (``at::ScalarType``) included.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from derivlint.cpp.cpp_type import types
from derivlint.emit.nodes.members import OWNING, MemberKind, NodeMember

#: The types of values that Python sees; the others have no property.
SHOWN = types("""
    bool double int64_t string Scalar SymInt optional<double> optional<int64_t> optional<string> optional<Scalar>
    optional<SymInt> vector<int64_t> vector<SymInt> OptionalArray<double> OptionalArray<int64_t> OptionalArray<SymInt>
""")


class Getter(Struct, frozen=True):
    """A property of a node.

    Attributes:
        name: its name in Python.
        member: what it reads.
        is_raw: whether it gives what holds a tensor instead of the tensor.
        released: the flag that says that the member was given back; empty where there is none.
    """

    name: str
    member: NodeMember
    is_raw: bool
    released: str = ""


def getters(members: Sequence[NodeMember]) -> tuple[Getter, ...]:
    """The properties of a node with these members, in their order."""
    properties: list[Getter] = []
    for member in members:
        if not is_shown(member):
            continue
        released = "" if member.kind in (MemberKind.VALUE, MemberKind.TENSOR) else member.released
        properties.append(Getter(f"_saved_{member.variable}", member, False, released))
        if member.kind in OWNING and member.kind is not MemberKind.SCALAR_LIST:
            properties.append(Getter(f"_raw_saved_{member.variable}", member, True, released))
    return tuple(properties)


def is_shown(member: NodeMember) -> bool:
    """Whether Python sees a member."""
    return member.kind in OWNING or (member.kind is MemberKind.VALUE and member.type.canonical in SHOWN)
