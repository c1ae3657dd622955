"""The types of graph values, as TorchScript prints them, and the errors of graphs."""

from __future__ import annotations

from msgspec import Struct

#: The complex scalar types in TorchScript's text; all others are real.
COMPLEX_SCALARS = frozenset({"ComplexHalf", "ComplexFloat", "ComplexDouble"})
#: The numbers of integral and boolean scalar types in c10/core/ScalarType.h.
INTEGRAL_NUMBERS = frozenset({0, 1, 2, 3, 4, 11})
INTEGRAL_SCALARS = frozenset({"Byte", "Char", "Short", "Int", "Long", "Bool"})


class GraphError(Exception):
    """A graph or its text is unusable; the message has the reason."""


class GraphSyntaxError(GraphError):
    """The text is not a graph.

    Attributes:
        line: the line of the error, from 1.
        column: the column of the error, from 1.
    """

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"{line}:{column}: {message}")
        self.line = line
        self.column = column


class UnknownOperatorError(GraphError):
    """A call of a missing operator.

    Attributes:
        name: the called name.
    """

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name


class UndifferentiableError(GraphError):
    """A graph with operators that cannot be differentiated.

    Attributes:
        reasons: the reasons, one for each operator, in graph order.
    """

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


class GraphType(Struct, frozen=True):
    """The type of a graph value.

    Attributes:
        name: ``Tensor``, ``int``, ``float``, ``number``, ``bool``, ``str``, ``NoneType``, ``Device``, ``list``,
            ``tuple``, ``optional``, or an unknown name.
        elements: the element types of a list, tuple or optional.
        scalar: the scalar type of a tensor, ``Double``, or None if unknown.
        shape: the sizes of a tensor, None for an unknown size; None if the rank is unknown.
        requires_grad: the ``requires_grad`` of a tensor, or None if unspecified.
        strides: the strides of a tensor, or None if unspecified.
        device: the device of a tensor, or None if unspecified.
    """

    name: str
    elements: tuple[GraphType, ...] = ()
    scalar: str | None = None
    shape: tuple[int | None, ...] | None = None
    requires_grad: bool | None = None
    strides: tuple[int, ...] | None = None
    device: str | None = None

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor."""
        return self.name == "Tensor"

    @property
    def is_list(self) -> bool:
        """Whether it is a list."""
        return self.name == "list"

    @property
    def is_tensor_list(self) -> bool:
        """Whether it is a list of tensors."""
        return self.is_list and self.elements[0].is_tensor

    @property
    def is_complex(self) -> bool:
        """Whether it is a tensor that is known to be complex."""
        return self.scalar in COMPLEX_SCALARS

    @property
    def is_differentiable(self) -> bool:
        """Whether values of the type can have gradients."""
        if self.is_tensor_list:
            return True
        return self.is_tensor and self.scalar not in INTEGRAL_SCALARS

    @property
    def static_shape(self) -> tuple[int, ...] | None:
        """The sizes if all are known, else None."""
        if self.shape is None or any(size is None for size in self.shape):
            return None
        return tuple(size for size in self.shape if size is not None)

    def __str__(self) -> str:
        if self.name == "list":
            return f"{self.elements[0]}[]"
        if self.name == "optional":
            return f"{self.elements[0]}?"
        if self.name == "tuple":
            return f"({', '.join(map(str, self.elements))})"
        if self.name != "Tensor" or (self.scalar is None and self.shape is None):
            # as in TorchScript, a tensor type has further details only if its scalar type is known
            return self.name
        parts = ["*" if size is None else str(size) for size in self.shape or ()]
        if self.strides is not None:
            parts.append(f"strides=[{', '.join(map(str, self.strides))}]")
        if self.requires_grad is not None:
            parts.append(f"requires_grad={int(self.requires_grad)}")
        if self.device is not None:
            parts.append(f"device={self.device}")
        scalar = self.scalar or "Tensor"
        return f"{scalar}({', '.join(parts)})" if parts or self.shape is not None else scalar


#: The types that never contain tensors; unknown types may.
_WITHOUT_TENSORS = frozenset(
    {"int", "float", "number", "bool", "str", "complex", "NoneType", "Device", "Generator", "Layout", "Stream"}
)


def holds_tensors(type_: GraphType) -> bool:
    """Whether values of a type may contain tensors; true for unknown types."""
    if type_.is_tensor:
        return type_.is_differentiable
    if type_.name in ("list", "tuple", "optional"):
        return any(map(holds_tensors, type_.elements))
    return type_.name not in _WITHOUT_TENSORS


TENSOR = GraphType("Tensor")
INT = GraphType("int")
FLOAT = GraphType("float")
NUMBER = GraphType("number")
BOOL = GraphType("bool")
STR = GraphType("str")
NONE = GraphType("NoneType")
DEVICE = GraphType("Device")


def list_of(element: GraphType) -> GraphType:
    """The list type with an element type."""
    return GraphType("list", (element,))


def tuple_of(*elements: GraphType) -> GraphType:
    """The tuple type with element types."""
    return GraphType("tuple", elements)


def complex_tensor() -> GraphType:
    """The type of complex tensors of unknown precision."""
    return GraphType("Tensor", scalar="ComplexDouble")
