"""Calls as the interpretation sees them: a base name, and arguments by the names of parameters."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from derivlint.cpp.declaration import Function, Parameter
from derivlint.formula import Call, Expr, Member, Name
from derivlint.meaning.typed import TypedFormula

SELF = Parameter("Tensor", "self")
SYMINT = "_symint"
#: The namespaces whose functions are known by their names alone.
NAMESPACES = frozenset({"at", "torch", "c10", "std"})
#: Names that tell that a function takes what it is linear in: its parameters differ from release to release.
CONVENTIONAL = ("backward", "jvp", "differential", "_grad")


class Argument(Struct, frozen=True):
    """An argument of a call; a method's object is its first.

    Attributes:
        node: the expression.
        parameter: the parameter that it is for, None where the function is not known.
    """

    node: Expr
    parameter: Parameter | None


class CallFacts(Struct, frozen=True):
    """A call.

    Attributes:
        node: the call.
        name: the function's name without ``_symint``, the underscore of in-place methods and PyTorch's namespaces.
        spelling: the function's name as it is called, without namespace.
        is_method: whether it is a method.
        arguments: the arguments, the object of a method first.
        function: what is called, where it is known.
    """

    node: Call
    name: str
    spelling: str
    is_method: bool
    arguments: tuple[Argument, ...]
    function: Function | None

    @property
    def is_inplace(self) -> bool:
        """Whether it is a method that changes its object, by its name."""
        return self.is_method and self.name != self.spelling.removesuffix(SYMINT)

    def argument(self, parameter: str) -> Argument | None:
        """The argument for a parameter."""
        return next((item for item in self.arguments if item.parameter and item.parameter.name == parameter), None)


def callee_name(call: Call) -> str | None:
    """The name of a called function or method as it is spelled, without namespace and template arguments."""
    callee = call.callee
    if isinstance(callee, Member):
        return callee.name
    return callee.parts[-1].identifier if isinstance(callee, Name) else None


def is_conventional(name: str) -> bool:
    """Whether a function takes what it is linear in, by its name."""
    return any(part in name for part in CONVENTIONAL)


def base_name(spelling: str) -> str:
    """A function's name without ``_symint`` and without the underscore of in-place functions."""
    name = spelling.removesuffix(SYMINT)
    if name.endswith("_") and not name.endswith("__"):
        name = name[:-1]
    return name


def call_facts(node: Call, formula: TypedFormula) -> CallFacts | None:
    """What a call calls; None where the callee is no name and no member."""
    callee = node.callee
    function = formula.callees.get(node)
    if isinstance(callee, Member):
        parameters: Sequence[Parameter] = () if function is None else function.parameters
        arguments = (Argument(callee.object, SELF), *_bound(node.args, parameters))
        return CallFacts(node, base_name(callee.name), callee.name, True, arguments, function)
    if isinstance(callee, Name):
        spelling = callee.parts[-1].identifier
        parameters = () if function is None else function.parameters
        name = base_name(spelling)
        owner = callee.parts[0].identifier
        if len(callee.parts) > 1 and owner[0].islower() and owner not in NAMESPACES:
            # "mine::exp" is no operator of PyTorch
            name = f"{owner}::{name}"
        return CallFacts(node, name, spelling, False, _bound(node.args, parameters), function)
    return None


def _bound(arguments: Sequence[Expr], parameters: Sequence[Parameter]) -> tuple[Argument, ...]:
    return tuple(
        Argument(node, parameters[index] if index < len(parameters) else None) for index, node in enumerate(arguments)
    )
