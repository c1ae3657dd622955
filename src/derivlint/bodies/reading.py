"""Facts about the functions of a C++ source file, derived from their bodies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from derivlint.bodies.following import ExecutionResult, execute
from derivlint.cpp.declarations.definitions import FunctionDefinition, function_definitions
from derivlint.formula import Binary, Call, Conditional, Expr, Lambda, Member, Name, Node, Unary, walk
from derivlint.formula.analysis import unknown_if_it_fails
from derivlint.formula.budget import BudgetError
from derivlint.formula.nodes import Block, Declaration, ExpressionStatement, LambdaParam, ReturnStatement, Statement
from derivlint.operators.reference.derived import Derived
from derivlint.operators.reference.sums import Sum, Value, applied, flat, is_several, polynomial_of, variable
from derivlint.operators.special import METADATA_MEMBERS, ParameterRole, role_of_name

#: The kind of the derived facts; arguments are bound by position.
_HELPER = "helper"
_TENSORS = re.compile(r"\b(?:Tensor|TensorList|ITensorListRef|Variable|variable_list)\b")
#: The type of a tensor, but not of an optional or a list of tensors.
_TENSOR = re.compile(r"(?:const\s+)?(?:at::|torch::)?(?:Tensor|Variable)\s*&?")
_NUMBERS = re.compile(r"\b(?:Scalar|double|float)\b")
_NONE: frozenset[str] = frozenset()
#: The nesting levels charged for a call of another function of the file.
NESTED = 8


class Helper(Struct, frozen=True):
    """A function and the facts derived from its body.

    Attributes:
        definition: the function.
        derived: its linear arguments and their conjugation, or None if unknown.
        returns: the parameters that every ``return`` returns, unchanged or possibly as a view.
        lost: the gradients that do not occur in its result, although that is not zero.
        nonlinear: the gradients in which it is certainly not linear.
        unguarded: the tensors that it reads on every path and never tests for being defined.
    """

    definition: FunctionDefinition
    derived: Derived | None = None
    returns: frozenset[str] = _NONE
    lost: frozenset[str] = _NONE
    nonlinear: frozenset[str] = _NONE
    unguarded: frozenset[str] = _NONE


def read_helpers(text: str) -> tuple[Helper, ...]:
    """The functions of a source file, in order; never raises."""
    return _BodyReader(text).helpers()


class _BodyReader:
    """The functions of a file, executed on demand."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._definitions = tuple(function_definitions(text))
        self._by_name: dict[str, list[int]] = {}
        for position, definition in enumerate(self._definitions):
            self._by_name.setdefault(definition.name, []).append(position)
        self._found: dict[int, Helper | None] = {}

    def helpers(self) -> tuple[Helper, ...]:
        """Return the facts about all functions."""
        return tuple(
            self._helper(position) or Helper(definition) for position, definition in enumerate(self._definitions)
        )

    def _helper(self, position: int, nested: int = 0) -> Helper | None:
        """Return the facts about a function; None for a recursive call."""
        if position not in self._found:
            self._found[position] = None
            definition = self._definitions[position]
            self._found[position] = unknown_if_it_fails(self._read, Helper(definition), definition, nested)
        return self._found[position]

    def has(self, name: str) -> bool:
        """Whether the file has a function with a name."""
        return name in self._by_name

    def definition(self, name: str, count: int) -> FunctionDefinition | None:
        """Return the only function with a name and number of parameters, or None."""
        candidates = [self._definitions[at] for at in self._by_name[name] if len(self._definitions[at].params) == count]
        return candidates[0] if len(candidates) == 1 else None

    def value(self, name: str, arguments: list[Sum], nested: int) -> Value | None:
        """Return the value of a call of this file's functions; None if it is unknown or depends on types."""
        derived: Derived | None = None
        for position in self._by_name[name]:
            definition = self._definitions[position]
            most = len(definition.params)
            if most - definition.defaults <= len(arguments) <= most:
                helper = self._helper(position, nested + NESTED)
                if helper is None or helper.derived is None:
                    return None
                if derived is not None and derived.outputs != helper.derived.outputs:
                    return None
                derived = helper.derived
        return None if derived is None else applied(derived, arguments)

    def _type(self, param: LambdaParam) -> str:
        return self._text[param.type_start : param.type_end]

    def _read(self, definition: FunctionDefinition, nested: int) -> Helper:
        params = definition.params
        if any(not param.name for param in params):
            # unnamed parameters are not read; their empty names must not collide
            params = tuple(param for param in params if param.name)
        tensors = {param.name for param in definition.params if _TENSORS.search(self._type(param))}
        seeds = frozenset(name for name in tensors if role_of_name(name).is_seed)
        values = {}
        for param in params:
            value = variable(param.name)
            is_number = (
                param.name in tensors
                or _NUMBERS.search(self._type(param))
                or self._text.startswith("template", definition.start)
            )
            values[param.name] = value if is_number else Sum(value.terms, {})
        try:
            executed = execute(definition.body, values, seeds, self, nested)
        except BudgetError:
            return Helper(definition)
        if executed.value is None or executed.value == ():
            # no value, or an empty tuple
            return Helper(definition)
        derived = _derived(definition, executed)
        if not executed.is_exact:
            return Helper(definition, derived, executed.returns)
        lost, nonlinear = _mistakes(definition, derived, seeds)
        plain = frozenset(param.name for param in params if _TENSOR.fullmatch(self._type(param)))
        unguarded = unguarded_parameters(definition.body, plain)
        return Helper(definition, derived, executed.returns & tensors, lost, nonlinear, unguarded)


def _derived(definition: FunctionDefinition, executed: ExecutionResult) -> Derived:
    # unnamed parameters count too: arguments are bound by position
    names = tuple(param.name or f"_{position}" for position, param in enumerate(definition.params))
    value = executed.value
    outputs: Iterable[Any] = value if is_several(value) else (value,)
    read = {node.simple for node in walk(definition.body) if isinstance(node, Name)}
    unused = frozenset(name for name in names if name not in read or not executed.is_exact)
    polynomials = tuple(polynomial_of(names, flat(output)) for output in outputs)
    return Derived(_HELPER, names, len(names) - definition.defaults, _NONE, unused, polynomials)


def _mistakes(
    definition: FunctionDefinition, derived: Derived, seeds: frozenset[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return a backward helper's gradients without effect on its result, and those in which it is not linear."""
    roles = {name: role_of_name(name) for name in seeds}
    gradients = {name for name, role in roles.items() if role is ParameterRole.GRADIENT}
    # only names with "backward" imply linearity in the gradients of the outputs
    if "backward" not in definition.name or "double" in definition.name or not gradients:
        return _NONE, _NONE
    terms = [term for output in derived.outputs for term in output.terms]
    nonlinear = {name for term in terms if term.is_sure for name in term.divisors if name in gradients}
    read = {name for term in terms for name in (*term.factors, *term.divisors, *term.unclear)}
    lost = gradients if any(term.is_sure for term in terms) and not seeds & read else set()
    return frozenset(lost), frozenset(nonlinear)


# ---- parameters that must be defined


_ARITHMETIC = frozenset({"+", "-", "*", "/"})


def unguarded_parameters(body: Block, tensors: frozenset[str]) -> frozenset[str]:
    """Return the tensors that a body reads on every path and never tests.

    Any test of a tensor may be a guard: ``x.defined()``, ``f(x)`` in a condition. Parameters that are reassigned do not
    count.
    """
    names: set[str] = set()
    for statement in body.statements:
        if not isinstance(statement, (Declaration, ExpressionStatement, ReturnStatement)):
            # later statements are conditional
            break
        names.update(_read(statement))
    if not names & tensors:
        return frozenset()
    return frozenset(names & tensors - set(_guarded(body)))


def _read(node: Node) -> Iterator[str]:
    """Yield the names whose values operators and methods read unconditionally."""
    if isinstance(node, (Conditional, Lambda)):
        return
    if isinstance(node, Binary):
        if node.op in ("&&", "||"):
            return
        if node.op in _ARITHMETIC:
            yield from _name(node.left)
            yield from _name(node.right)
    elif isinstance(node, Unary) and node.op == "-":
        yield from _name(node.operand)
    elif isinstance(node, Call) and isinstance(node.callee, Member) and node.callee.name not in METADATA_MEMBERS:
        yield from _name(node.callee.object)
    for child in node.children:
        yield from _read(child)


def _name(node: Expr) -> Iterator[str]:
    if isinstance(node, Name) and node.simple is not None:
        yield node.simple


def _guarded(body: Statement) -> Iterator[str]:
    """Yield the names that are tested or assigned."""
    for node in walk(body):
        if isinstance(node, Call) and isinstance(node.callee, Member) and node.callee.name in METADATA_MEMBERS:
            yield from _name(node.callee.object)
        elif isinstance(node, Binary) and node.op == "=":
            yield from _name(node.left)
