"""The abstract state of a body: values of variables, and memory that they share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from msgspec import Struct, field

from derivlint.cpp.declarations.definitions import FunctionDefinition
from derivlint.cpp.operator_signatures import base_name
from derivlint.formula import (
    Binary,
    BraceList,
    Call,
    Conditional,
    Construct,
    Expr,
    Index,
    Lambda,
    Member,
    Name,
    Unary,
    unparenthesized,
)
from derivlint.formula.analysis import Analysis
from derivlint.formula.budget import Budget, BudgetError, is_bounded
from derivlint.formula.vocabulary import words
from derivlint.operators.book import Book
from derivlint.operators.reference.sums import (
    ABSENT,
    CONSTANT,
    Sum,
    SumTerm,
    Value,
    absent_terms,
    added,
    asked_of,
    chosen,
    curved_in,
    flat,
    is_several,
    made,
    times,
    without,
)
from derivlint.operators.reference.terms import Parity
from derivlint.operators.special import REAL_FROM_COMPLEX

#: The maximum number of expressions and statements to evaluate in a body.
MAX_STEPS = 60_000
#: C++ functions that return an argument, or a tuple of their arguments.
TRANSPARENT = words("""
    move forward tie vector optional make_optional TensorList ITensorList ArrayRef Tensor Variable static_cast
    const_cast expect_contiguous MaybeOwned borrowed owned cref ref value get begin end c10 front back
    pair make_pair variable_list IntArrayRef SymIntArrayRef Scalar toMutableTensor
""")
SEVERAL = frozenset({"make_tuple", "tuple", "tie", "make_pair"})
ASSIGNS = frozenset({"=", "+=", "-=", "*=", "/="})
_ASKS_FOR_COMPLEX = frozenset({"is_complex", "isComplex"})
_VIEWS = Book.by_hand("returns-view") | Book.by_hand("may-return-argument")

_NONE: frozenset[str] = frozenset()


class Functions(Protocol):
    """The functions of the file that contains the body."""

    def has(self, name: str) -> bool:
        """Whether there is a function with a name."""

    def value(self, name: str, arguments: list[Sum], nested: int) -> Value | None:
        """Return the value of a call, or None if it is unknown."""

    def definition(self, name: str, count: int) -> FunctionDefinition | None:
        """Return the only function with a name and number of parameters, or None."""


class NeverError(Exception):
    """The expression raises for all arguments."""


class Closure(Struct, frozen=True, eq=False):
    """A lambda as a value; without a lambda, the identity."""

    node: Lambda | None


class StatementEnd(Struct):
    """The ways in which a statement may end.

    Attributes:
        returned: the returned value, or None if it does not return.
        goes_on: whether the next statement may be reached.
        condition: the condition under which it returns.
        question: the condition as an expression, if it is a single one.
        is_otherwise: whether it returns under the negated condition.
    """

    returned: Any = None
    goes_on: bool = True
    condition: Sum = CONSTANT
    question: Expr | None = None
    is_otherwise: bool = False


class BodyState(Struct):
    """The state at one point of a body.

    Attributes:
        values: the values of variables.
        roots: the variables whose memory each variable may share.
    """

    values: dict[str, Any] = field(default_factory=dict)
    roots: dict[str, frozenset[str]] = field(default_factory=dict)

    def copy(self) -> BodyState:
        """Return an independent copy."""
        return BodyState(dict(self.values), dict(self.roots))


class Values(Analysis[Any]):
    """Evaluates expressions in a state, and applies assignments."""

    def __init__(self, parameters: Mapping[str, Sum], seeds: frozenset[str], functions: Functions, nested: int) -> None:
        """Make an evaluator, see :func:`derivlint.bodies.following.execute`."""
        super().__init__()
        self.budget = Budget(MAX_STEPS, nested)
        self.state = BodyState(dict(parameters), {name: frozenset({name}) for name in parameters})
        self._seeds = seeds
        self._width = len(parameters)
        self._functions = functions

    def of(self, node: Expr) -> Any:
        """Evaluate an expression in the current state."""
        # no cache: variables change, and so do the values of expressions
        self.budget.enter()
        try:
            return self._methods[type(node)](self, node)
        finally:
            self.budget.nested -= 1

    def sum(self, node: Expr) -> Sum:
        """Evaluate an expression; the value of a list is the sum of its items."""
        return self.flattened(self.of(node))

    def flattened(self, value: Any) -> Sum:
        """Return a value as a sum; an uncalled lambda is constant."""
        if isinstance(value, Closure):
            return CONSTANT
        if is_several(value):
            return flat(tuple(map(self.flattened, value)))
        as_sum: Sum = value
        return as_sum

    def _spend(self, values: Iterable[Sum]) -> None:
        """Charge the budget for a product by the number of pairs of terms."""
        *_, second, first = (1, 1, *sorted(len(value.terms) for value in values))
        self.budget.spend(first * second * (10 + self._width) // 200)

    def _curved(self, *values: Sum, parity: Parity | None = None) -> Sum:
        """Return the value of a function that is nonlinear in all arguments; uncertain for gradients."""
        curved = curved_in(*values, parity=parity)
        terms = [
            SumTerm(term.linear, term.curved - self._seeds, term.unclear | (term.curved & self._seeds), term.is_sure)
            for term in curved.terms
        ]
        return made(terms, curved.parities)

    def _quotient(self, dividend: Sum, divisor: Sum) -> Sum:
        return times(dividend, self._curved(divisor, parity=Parity.HOLOMORPHIC))

    def _either(self, condition: Sum, first: Any, second: Any) -> Any:
        if first is second:
            return first
        if is_several(first) and is_several(second) and len(first) == len(second):
            return tuple(self._either(condition, a, b) for a, b in zip(first, second, strict=True))
        if is_several(first) and second is ABSENT:
            return first
        if is_several(second) and first is ABSENT:
            return second
        a, b = self.flattened(first), self.flattened(second)
        curved_condition = self._curved(condition)
        if curved_condition == CONSTANT:
            return chosen(CONSTANT, a, b)
        return asked_as(curved_condition, chosen(CONSTANT, a, b))

    def _choice(self, node: Expr | None, condition: Sum, then: Any, otherwise: Any) -> Any:
        """Return the join of the values of two branches."""
        if node is not None:
            held, failed = list(_answers(node, holds=True)), list(_answers(node, holds=False))
            then, otherwise = _of_reals(then, held), _of_reals(otherwise, failed)
            for question, of, holds in held if len(held) == len(failed) == 1 else ():
                if question in ("defined", "isDefined", "has_value"):
                    first, second = (then, otherwise) if holds else (otherwise, then)
                    rest = absent_terms(first, second, self.sum(of).all)
                    if rest is not None:
                        return rest
        return self._either(condition, then, otherwise)

    # ---- variables

    def _set(self, name: str, value: Any) -> None:
        """Assign a variable."""
        if is_several(value) and not is_bounded(value):
            raise BudgetError
        self.state.values[name] = value

    def _bind(self, name: str, value: Any, roots: frozenset[str]) -> None:
        self._set(name, value)
        self.state.roots[name] = roots

    def _assign(self, target: Expr, operator: str, right: Any, value_node: Expr) -> Any:
        target = unparenthesized(target)
        if isinstance(target, Call) and operator == "=" and callee_of(target) in SEVERAL:
            for position, part in enumerate(target.args):
                several = is_several(right) and position < len(right)
                self._assign(part, "=", right[position] if several else self.flattened(right), value_node)
            return right
        if operator == "=":
            value = right
        else:
            old, new = self.sum(target), self.flattened(right)
            if operator in ("+=", "-="):
                value = added(old, new)
            elif operator == "*=":
                self._spend((old, new))
                value = times(old, new)
            else:
                value = self._quotient(old, new)
        if isinstance(target, Name) and target.simple is not None:
            self._set(target.simple, value)
            if operator == "=":
                self.state.roots[target.simple] = self._roots(value_node)
            else:
                self._written_through(target.simple, value)
        else:
            self._write_part(target, self.flattened(value), is_sum=operator in ("+=", "-="))
        return value

    def _write_part(self, target: Expr, value: Sum, *, is_sum: bool = False) -> None:
        """Assign a part of a variable: an item of a list, a view of a tensor."""
        for name in self._roots(target, is_written=True):
            old = self.state.values.get(name)
            if old is None:
                continue
            before = self.flattened(old)
            if before is ABSENT or not before.terms:
                self.state.values[name] = value
            else:
                self.state.values[name] = added(before, value) if is_sum else self._either(CONSTANT, before, value)

    def _written_through(self, name: str, value: Any) -> None:
        """Change a variable in place, and possibly all variables that share its memory."""
        roots = self.state.roots.get(name, frozenset()) | {name}
        for variable, shared in self.state.roots.items():
            if variable != name and (shared | {variable}) & roots and variable in self.state.values:
                self.state.values[variable] = self._either(
                    CONSTANT, self.flattened(self.state.values[variable]), self.flattened(value)
                )

    def _roots(self, node: Expr, *, is_written: bool = False) -> frozenset[str]:
        """Return the variables whose memory a value may share."""
        node = unparenthesized(node)
        if isinstance(node, Name):
            name = node.simple or ""
            if is_written:
                return frozenset({name}) | self.state.roots.get(name, frozenset())
            return self.state.roots.get(name, frozenset()) | ({name} if name in self.state.values else frozenset())
        if isinstance(node, Conditional):
            return self._roots(node.then) | self._roots(node.otherwise)
        if isinstance(node, (Index, Member)):
            return self._roots(node.object, is_written=is_written)
        if isinstance(node, Unary) and node.op == "*":
            return self._roots(node.operand, is_written=is_written)
        if isinstance(node, Binary) and node.op in ASSIGNS:
            return self._roots(node.left)
        if isinstance(node, Call):
            callee = node.callee
            name = callee_of(node)
            if isinstance(callee, Member):
                shares = is_written or base_name(name) in _VIEWS or name.endswith("_") or name in TRANSPARENT
                return self._roots(callee.object, is_written=is_written) if shares else frozenset()
            if name in TRANSPARENT or name in SEVERAL:
                return _NONE.union(*map(self._roots, node.args))
            if base_name(name) in _VIEWS and node.args:
                # "handle_r_to_c" returns a view of its second argument
                return self._roots(node.args[1 if name == REAL_FROM_COMPLEX and len(node.args) > 1 else 0])
        if isinstance(node, (BraceList, Construct)):
            items = node.items if isinstance(node, BraceList) else node.braces.items
            return frozenset().union(*(self._roots(item) for item in items))
        return frozenset()


def callee_of(node: Call) -> str:
    """Return the name of the called function or method, or an empty string."""
    callee = node.callee
    if isinstance(callee, Member):
        return callee.name
    return callee.parts[-1].identifier if isinstance(callee, Name) else ""


def asked_as(condition: Sum, value: Any) -> Any:
    """Return a value that is present under a condition."""
    if is_several(value):
        return tuple(asked_as(condition, item) for item in value)
    if not isinstance(value, Sum) or value is ABSENT or condition == CONSTANT:
        return value
    return times(condition, value)


def _answers(node: Expr, *, holds: bool) -> Iterator[tuple[str, Expr, bool]]:
    """Yield the facts implied by a condition or its negation: ``x.defined()``, ``isComplexType(t)``."""
    node = unparenthesized(node)
    if isinstance(node, Unary) and node.op == "!":
        yield from _answers(node.operand, holds=not holds)
    elif isinstance(node, Binary):
        if node.op == ("&&" if holds else "||"):
            yield from _answers(node.left, holds=holds)
            yield from _answers(node.right, holds=holds)
    else:
        answer = asked_of(node)
        if answer is not None:
            yield (*answer, holds)


def _of_reals(value: Any, answers: list[tuple[str, Expr, bool]]) -> Any:
    """Simplify a value under facts: how it depends on a real tensor as a complex number is unknown.

    Under a test for a real type, complex operations are conversions, of an unknown tensor.
    """
    for question, of, holds in answers:
        if holds:
            continue
        if question in _ASKS_FOR_COMPLEX and isinstance(of, Name):
            value = _without(value, of.simple or "")
        elif question == "isComplexType":
            value = _as_real(value)
    return value


def _as_real(value: Any) -> Any:
    if is_several(value):
        return tuple(map(_as_real, value))
    return value._replace(parities={}) if isinstance(value, Sum) and value is not ABSENT else value


def _without(value: Any, parameter: str) -> Any:
    if is_several(value):
        return tuple(_without(item, parameter) for item in value)
    return without(value, parameter) if isinstance(value, Sum) else value
