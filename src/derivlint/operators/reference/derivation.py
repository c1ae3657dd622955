"""Derive facts from definitions: linearity of operators and helpers, and parity in complex arguments.

A definition is interpreted over sums of products of its parameters. A term that is absent for some flags is marked as
not sure, and arguments of unknown functions as unclear.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from derivlint.formula import (
    Binary,
    BraceList,
    Call,
    Conditional,
    Expr,
    Index,
    Member,
    Name,
    Number,
    Unary,
)
from derivlint.formula.analysis import Analysis, tuple_access
from derivlint.operators.reference.definitions import Definition, DefinitionError, DefinitionKind, definitions, tree_of
from derivlint.operators.reference.derived import Derived, write_derived
from derivlint.operators.reference.sums import (
    ABSENT,
    CONSTANT,
    ZERO,
    Sum,
    Value,
    absent_terms,
    added,
    applied,
    asked_of,
    chosen,
    curved_in,
    flat,
    item_of,
    known_call,
    opaque_in,
    polynomial_of,
    possible_branches,
    primitives,
    substituted,
    times,
    variable,
    without,
)
from derivlint.operators.reference.terms import Parity


class _UnsupportedError(Exception):
    """A definition refuses a case."""


def derive() -> str:
    """Render the content of ``data/derived.txt``: the facts of all definitions."""
    return write_derived((name, polynomials) for name, polynomials in all_derived())


def all_derived() -> Iterator[tuple[str, Derived]]:
    """Yield the facts of each callable definition by name, unless it refuses every case."""
    for name, definition in definitions().items():
        derived_definition = _of_name(name) if definition.kind is not DefinitionKind.PART else None
        if derived_definition is not None:
            yield name, derived_definition


#: The stack of definitions under analysis.
_pending: list[str] = []


@lru_cache(maxsize=4096)
def _of_name(name: str) -> Derived | None:
    definition = definitions().get(name)
    if definition is None:
        return None
    if name in _pending:
        path = " -> ".join((*_pending[_pending.index(name) :], name))
        raise DefinitionError(f"definitions call each other ({path}): say by hand what one of them is linear in")
    _pending.append(name)
    try:
        return _of_definition(definition)
    except _UnsupportedError:
        return None
    finally:
        _pending.pop()


def _of_definition(definition: Definition) -> Derived:
    body = _Derivation(definition)
    value = body.named("")
    outputs = (value,) if isinstance(value, Sum) else value
    names = definition.parameters
    return Derived(
        definition.kind.value,
        names,
        definition.required,
        frozenset(name for name, default in definition.defaults.items() if _constant(default).terms),
        frozenset(names) - body.used,
        tuple(polynomial_of(names, flat(output)) for output in outputs),
    )


def _constant(formula: str) -> Sum:
    return _Derivation().sum(tree_of(formula))


class _Derivation(Analysis[Value]):
    """The analysis of a definition, or of the default value of a parameter."""

    def __init__(self, definition: Definition | None = None) -> None:
        super().__init__()
        self.used: set[str] = set()
        self._trees: dict[str, Expr] = {}
        self._values: dict[str, Value] = {"nullopt": ABSENT}
        if definition is not None:
            self._trees.update(definition.trees)
            for name in definition.parameters:
                self._values[name] = variable(name)

    def named(self, name: str) -> Value:
        """The value of a parameter, an intermediate value or a constant."""
        self.used.add(name)
        if name not in self._values:
            tree = self._trees.get(name)
            self._values[name] = CONSTANT if tree is None else self.of(tree)
        return self._values[name]

    def sum(self, node: Expr) -> Sum:
        """The value of an expression; the sum of the items of a list."""
        return flat(self.of(node))

    def otherwise(self, node: Expr) -> Value:
        return CONSTANT

    def name(self, node: Name) -> Value:
        name = node.parts[-1].identifier
        return self.named(name) if node.simple is not None or name == "nullopt" else CONSTANT

    def number(self, node: Number) -> Value:
        return ZERO if node.is_zero else CONSTANT

    def unary(self, node: Unary) -> Value:
        operand = self.sum(node.operand)
        return curved_in(operand) if node.op == "!" else operand

    def binary(self, node: Binary) -> Value:
        left, right = self.sum(node.left), self.sum(node.right)
        if node.op in ("+", "-"):
            return added(left, right)
        if node.op == "*":
            return times(left, right)
        if node.op == "/":
            return times(left, curved_in(right, parity=Parity.HOLOMORPHIC))
        return curved_in(left, right)

    def conditional(self, node: Conditional) -> Value:
        condition = self.sum(node.condition)
        cases = possible_branches(node, self.of, _UnsupportedError)
        if len(cases) == 1:
            return cases[0]
        then, otherwise = cases
        question_and_operand = asked_of(node.condition)
        if question_and_operand is not None:
            question, of = question_and_operand
            if question == "is_complex_tensor" and isinstance(of, Name) and of.simple is not None:
                otherwise = without(otherwise, of.simple)
            elif question == "defined":
                rest = absent_terms(then, otherwise, self.sum(of).all)
                if rest is not None:
                    return rest
        if isinstance(then, Sum) or isinstance(otherwise, Sum) or len(then) != len(otherwise):
            return chosen(condition, flat(then), flat(otherwise))
        return tuple(chosen(condition, flat(a), flat(b)) for a, b in zip(then, otherwise, strict=True))

    def braces(self, node: BraceList) -> Value:
        return tuple(map(self.of, node.items))

    def index(self, node: Index) -> Value:
        (index,) = node.args
        return item_of(self.of(node.object), index)

    def call(self, node: Call) -> Value:
        callee = node.callee
        if isinstance(callee, Member):
            return self._called(callee.name, (callee.object, *node.args))
        access = tuple_access(node)
        if access is not None:
            return item_of(self.of(access[0]), access[1])
        assert isinstance(callee, Name), "definitions call names"
        return self._called(callee.parts[-1].identifier, node.args)

    def _called(self, name: str, nodes: tuple[Expr, ...]) -> Value:
        if name == "Tensor" and not nodes:
            return ABSENT
        if name == "refuse":
            raise _UnsupportedError
        values = [self.of(node) for node in nodes]
        if name == "make_tuple":
            return tuple(values)
        arguments = list(map(flat, values))
        primitive = primitives().get(name)
        if primitive is not None:
            return substituted(*primitive, arguments)
        return known_call(name, arguments) or _defined(name, arguments) or opaque_in(*arguments)


def _defined(name: str, arguments: list[Sum]) -> Value | None:
    """The value of a call of a defined function; None if its overloads differ."""
    overloads = [overload for overload in map(_of_name, _overloads().get(name, (name,))) if overload is not None]
    fits = overloads and all(overload.outputs == overloads[0].outputs for overload in overloads)
    return applied(overloads[0], arguments) if fits and len(arguments) <= len(overloads[0].parameters) else None


@cache
def _overloads() -> Mapping[str, list[str]]:
    """The names of the definitions with each base name."""
    overloads: dict[str, list[str]] = {}
    for name in definitions():
        overloads.setdefault(name.partition(".")[0], []).append(name)
    return overloads
