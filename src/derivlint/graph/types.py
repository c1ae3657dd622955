"""The types of values in a graph, as TorchScript prints them, and the errors of graphs."""

from __future__ import annotations

from msgspec import Struct

#: The scalar types of tensors in TorchScript's text, and whether each is complex; what is false is real.
COMPLEX_SCALARS = frozenset({"ComplexHalf", "ComplexFloat", "ComplexDouble"})
#: The numbers of those that are integral, or booleans, where a graph has a scalar type as a number.
INTEGRAL_NUMBERS = frozenset({0, 1, 2, 3, 4, 11})
INTEGRAL_SCALARS = frozenset({"Byte", "Char", "Short", "Int", "Long", "Bool"})


class GraphError(Exception):
    """A graph, or the text of one, that cannot be used; the message says why."""


class GraphSyntaxError(GraphError):
    """A text that is not a graph.

    Attributes:
        line: where it stops being one, from 1.
        column: the same, from 1.
    """

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"{line}:{column}: {message}")
        self.line = line
        self.column = column


class UnknownOperatorError(GraphError):
    """A call of something that is not there.

    Attributes:
        name: what is called.
    """

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name


class UndifferentiableError(GraphError):
    """A graph with operators that cannot be differentiated.

    Attributes:
        reasons: why, each operator once, in the order of the graph.
    """

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


class GraphType(Struct, frozen=True):
    """A type.

    Attributes:
        name: ``Tensor``, ``int``, ``float``, ``number``, ``bool``, ``str``, ``NoneType``, ``Device``, ``list``,
            ``tuple``, ``optional``, or a name that is not known.
        elements: the types in a list, a tuple or an optional.
        scalar: of a tensor its scalar type, ``Double``; None if it is not known.
        shape: of a tensor its sizes, None for one that is not known; None if not even their number is known.
        requires_grad: of a tensor what is said of it, None for nothing.
        strides: the strides of a tensor, if given.
        device: the device of a tensor, if given.
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
        """Whether gradients can flow through such a value, as far as the type says."""
        if self.is_tensor_list:
            return True
        return self.is_tensor and self.scalar not in INTEGRAL_SCALARS

    @property
    def static_shape(self) -> tuple[int, ...] | None:
        """The sizes, where all are known."""
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
            # as in TorchScript, a tensor says more of itself only where its scalar type is known
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


#: The types that hold no tensor; of a type that is not known, it is not known.
_WITHOUT_TENSORS = frozenset(
    {"int", "float", "number", "bool", "str", "complex", "NoneType", "Device", "Generator", "Layout", "Stream"}
)


def holds_tensors(type_: GraphType) -> bool:
    """Whether gradients may flow through a value of a type in any way: a type that is not known may hold tensors."""
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
    """The type of lists of an element type."""
    return GraphType("list", (element,))


def tuple_of(*elements: GraphType) -> GraphType:
    """The type of a tuple."""
    return GraphType("tuple", elements)


def complex_tensor() -> GraphType:
    """A tensor that is complex, of unknown precision."""
    return GraphType("Tensor", scalar="ComplexDouble")
