"""Facts about calls: unqualified names, and arguments bound to parameters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from derivlint.cpp.cpp_type import TENSOR, reference_to
from derivlint.cpp.declarations.declaration import Function, Parameter
from derivlint.cpp.operator_signatures import base_name, functional, without_symint
from derivlint.formula import Call, Expr, Member, Name
from derivlint.operators.book import assumed_parameters
from derivlint.operators.special import ParameterRole, role_of_name

SELF = Parameter(TENSOR, "self")
#: The type of parameters for written tensors, such as "out" of "at::mul_out".
_CHANGEABLE = reference_to(TENSOR)
#: The namespaces whose functions are identified by unqualified names.
NAMESPACES = frozenset({"at", "torch", "c10", "std"})
#: Name parts of functions that are linear by convention; their parameters differ between releases.
CONVENTIONAL = ("backward", "jvp", "differential", "_grad")


class CallArgument(Struct, frozen=True):
    """An argument of a call; the object of a method is the first one.

    Attributes:
        node: the expression.
        parameter: its parameter, or None if the function is unknown.
    """

    node: Expr
    parameter: Parameter | None


class CallFacts(Struct, frozen=True):
    """The facts about a call.

    Attributes:
        node: the call.
        name: the function's name without ``_symint``, the underscore of in-place methods and PyTorch's namespaces.
        spelling: the function's name in the call, without namespace.
        is_method: whether it is a method.
        arguments: the arguments, the object of a method first.
        function: the called function, if known.
    """

    node: Call
    name: str
    spelling: str
    is_method: bool
    arguments: tuple[CallArgument, ...]
    function: Function | None

    @property
    def is_inplace(self) -> bool:
        """Whether the call modifies its object or first argument, judging by its name."""
        return bool(self.arguments) and functional(without_symint(self.spelling)) != without_symint(self.spelling)

    @property
    def written(self) -> tuple[int, ...]:
        """The positions of arguments that the call modifies, judging by its name and parameter types."""
        if self.is_inplace or (self.function is None and self.spelling.endswith("_out")):
            return (0,)
        pairs = enumerate(argument.parameter for argument in self.arguments)
        return tuple([index for index, parameter in pairs if parameter is not None and parameter.type is _CHANGEABLE])

    def argument(self, parameter: str) -> CallArgument | None:
        """The argument for a parameter."""
        return next((item for item in self.arguments if item.parameter and item.parameter.name == parameter), None)

    def is_of(self, parameters: Sequence[str], required: int) -> bool:
        """Whether the called helper has these parameters, ``required`` of them without default.

        The parameters of a helper may differ between releases.
        """
        if self.function is None or self.function.variadic:
            return not is_conventional(self.name)
        if not required <= len(self.function.parameters) <= len(parameters):
            return False
        declared = self._declared
        agrees = all(name in ("", parameter) for name, parameter in zip(declared, parameters, strict=False))
        return declared in self._assumed or agrees

    @property
    def is_changed(self) -> bool:
        """Whether the called helper is declared differently than facts about it assume."""
        function = self.function
        return (
            function is not None
            and not function.variadic
            and bool(assumed := self._assumed)
            and (self._declared not in assumed)
        )

    @property
    def _declared(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.function.parameters) if self.function is not None else ()

    @property
    def _assumed(self) -> frozenset[tuple[str, ...]]:
        return frozenset() if self.is_method else assumed_parameters().get(self.spelling, frozenset())


def callee_name(call: Call) -> str | None:
    """The name of a called function or method as written, without namespace and template arguments."""
    callee = call.callee
    if isinstance(callee, Member):
        return callee.name
    return callee.parts[-1].identifier if isinstance(callee, Name) else None


def only_operand(call: Call) -> Expr | None:
    """The operand of a call with a single one: ``x`` in ``x.conj()`` and ``at::conj(x)``."""
    if isinstance(call.callee, Member):
        return call.callee.object if not call.args else None
    return call.args[0] if len(call.args) == 1 else None


@lru_cache(maxsize=4096)
def is_conventional(name: str) -> bool:
    """Whether a function is linear by convention, judging by its name."""
    return any(part in name for part in CONVENTIONAL)


def call_facts(node: Call, function: Function | None, namespace: str | None = None) -> CallFacts | None:
    """Bind the arguments of a call to parameters; None if the callee has no name.

    Args:
        node: the call.
        function: the called function, if known.
        namespace: the namespace of unqualified functions and methods, if not PyTorch's.
    """
    callee = node.callee
    owner = f"{namespace}::" if namespace is not None else ""
    parameters: Sequence[Parameter] = () if function is None else function.parameters
    if isinstance(callee, Member):
        arguments = (CallArgument(callee.object, SELF), *_bound(node.args, parameters))
        return CallFacts(node, owner + base_name(callee.name), callee.name, True, arguments, function)
    if isinstance(callee, Name):
        spelling = callee.parts[-1].identifier
        first = callee.parts[0].identifier
        if len(callee.parts) > 1 and first[0].islower() and first not in NAMESPACES:
            # "mine::exp" is not PyTorch's operator
            owner = f"{first}::"
        name = owner + base_name(spelling)
        return CallFacts(node, name, spelling, False, _bound(node.args, parameters), function)
    return None


def _bound(arguments: Sequence[Expr], parameters: Sequence[Parameter]) -> tuple[CallArgument, ...]:
    return tuple(
        [
            CallArgument(node, parameters[index] if index < len(parameters) else None)
            for index, node in enumerate(arguments)
        ]
    )


def role_of(parameter: Parameter) -> ParameterRole:
    """The role of a parameter, judging by its name; ``OTHER`` if it takes no tensor."""
    return role_of_name(parameter.name) if parameter.type.has_tensors else ParameterRole.OTHER
