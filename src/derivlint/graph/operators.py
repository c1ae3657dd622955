"""Overload resolution of the nodes of a graph.

Follows TorchScript (torch/csrc/jit/frontend/schema_matching.cpp): the arguments must match; the overload with the
fewest conversions wins, and the first of ties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from derivlint.graph.types import (
    BOOL,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    STR,
    TENSOR,
    GraphType,
    complex_tensor,
    list_of,
)
from derivlint.operators import Book
from derivlint.schema import (
    Argument,
    ListType,
    NativeFunction,
    NativeFunctions,
    OptionalType,
    Type,
)

#: The types of constants accepted by a parameter type, with the cost of the conversion.
ACCEPTED: dict[str, dict[str, int]] = {
    "Scalar": {"number": 0, "float": 1, "int": 1, "bool": 2},
    "float": {"float": 0, "number": 1, "int": 2},
    "int": {"int": 0, "bool": 3, "number": 4},
    "SymInt": {"int": 0, "bool": 3, "number": 4},
    "bool": {"bool": 0, "int": 3},
    "str": {"str": 0},
    "ScalarType": {"int": 0},
    "Layout": {"int": 0},
    "MemoryFormat": {"int": 0},
    "Device": {"Device": 0, "str": 1},
    "Generator": {"Generator": 0},
}
GRAPH_TYPES = {
    "Tensor": TENSOR,
    "Scalar": NUMBER,
    "int": INT,
    "SymInt": INT,
    "float": FLOAT,
    "bool": BOOL,
    "SymBool": BOOL,
    "str": STR,
    "ScalarType": INT,
    "Layout": INT,
    "Device": DEVICE,
}
#: Operators that return real tensors for complex operands.
MAKES_REAL = Book.by_hand("makes-real")
#: Operators that return complex tensors for real operands.
MAKES_COMPLEX = Book.by_hand("makes-complex")


class Bound(Struct, frozen=True):
    """An overload bound to arguments.

    Attributes:
        function: the overload.
        places: the parameter name of each passed argument, with the index of its operand or its keyword. Omitted
            trailing arguments are not included.
    """

    function: NativeFunction
    places: tuple[tuple[Argument, int | str | None], ...]


class GraphOperators:
    """The operators of a PyTorch, resolved by operand types."""

    def __init__(self, natives: NativeFunctions) -> None:
        self.natives = natives
        self._known: dict[tuple[str, tuple[GraphType, ...], tuple[tuple[str, GraphType], ...]], Bound | None] = {}

    def exists(self, name: str) -> bool:
        """Whether there is an operator with this name."""
        return bool(self.overloads(name))

    def overloads(self, name: str) -> tuple[NativeFunction, ...]:
        """The overloads of an operator; a single one for a full name."""
        if "." in name:
            overload = self.natives.operator(name)
            return () if overload is None else (overload,)
        return tuple(function for function in self.natives.named(name) if not function.schema.is_out)

    def bind(
        self, name: str, operands: Sequence[GraphType], keywords: Mapping[str, GraphType] | None = None
    ) -> Bound | None:
        """Bind operands to the overload that accepts them; None if there is none."""
        key = (name, tuple(operands), tuple((keywords or {}).items()))
        if key not in self._known:
            candidates: list[tuple[tuple[int, int], Bound]] = []
            for function in self.overloads(name):
                bound = self._fit(function, operands, keywords or {})
                if bound is not None:
                    candidates.append(bound)
            self._known[key] = min(candidates, key=lambda candidate: candidate[0])[1] if candidates else None
        return self._known[key]

    def _fit(
        self, function: NativeFunction, operands: Sequence[GraphType], keywords: Mapping[str, GraphType]
    ) -> tuple[tuple[int, int], Bound] | None:
        arguments = function.schema.arguments.flat_non_out
        if len(operands) > len(arguments) or not keywords.keys() <= {argument.name for argument in arguments}:
            return None
        # among ties, an overload that Python would accept with these positional operands wins: "sum(x, 0)"; TorchScript
        # also passes keyword-only arguments by position, but then all: "addmm(b, x, y, 1, 1)"
        is_whole = len(operands) == len(arguments)
        keywords_by_position = 0 if is_whole else max(len(operands) - len(function.schema.arguments.flat_positional), 0)
        total = keywords_by_position
        places: list[tuple[Argument, int | str | None]] = []
        last = 0
        for index, argument in enumerate(arguments):
            place: int | str | None
            if index < len(operands):
                operand, place = operands[index], index
                if argument.name in keywords:
                    return None
            elif argument.name in keywords:
                operand, place = keywords[argument.name], argument.name
            elif argument.default is None:
                return None
            else:
                places.append((argument, None))
                continue
            cost = _cost(argument.type, operand)
            if cost is None:
                return None
            total += cost
            places.append((argument, place))
            last = index + 1
        return (total, keywords_by_position), Bound(function, tuple(places[:last]))


def _cost(parameter: Type, operand: GraphType) -> int | None:
    """The cost of converting an operand to a parameter's type, or None if that is impossible."""
    if isinstance(parameter, OptionalType):
        return 0 if operand == NONE or operand.name == "optional" else _cost(parameter.elem, operand)
    if isinstance(parameter, ListType):
        if operand.is_list:
            return _cost(parameter.elem, operand.elements[0]) if operand.elements else 0
        # "int[1] dim" accepts a single number
        cost = None if parameter.size is None or parameter.is_tensor_like else _cost(parameter.elem, operand)
        return None if cost is None else cost + 1
    name = str(parameter)
    if name == "Tensor":
        return 0 if operand.is_tensor else None
    return ACCEPTED.get(name, {}).get(operand.name)


def returned_types(function: NativeFunction, operands: Sequence[GraphType]) -> list[GraphType]:
    """The return types of an overload: complex if an operand is, or if the operator makes it so."""
    schema = function.schema
    makes_complex = any(_has_complex(operand) for operand in operands) and schema.name.base not in MAKES_REAL
    return [_graph_type(item.type, makes_complex or schema.name.base in MAKES_COMPLEX) for item in schema.returns]


def _has_complex(type_: GraphType) -> bool:
    return type_.is_complex or any(map(_has_complex, type_.elements))


def _graph_type(type_: Type, is_complex: bool) -> GraphType:
    if isinstance(type_, OptionalType):
        return GraphType("optional", (_graph_type(type_.elem, is_complex),))
    if isinstance(type_, ListType):
        return list_of(_graph_type(type_.elem, is_complex))
    name = str(type_)
    if name == "Tensor" and is_complex:
        return complex_tensor()
    return GRAPH_TYPES.get(name, GraphType(name))
