"""Symbolic execution of a body over sums of products of its parameters.

Statements are executed in order on abstract values. Branches are joined: effects of a single branch are uncertain. A
loop runs to a fixpoint. An unknown statement makes its variables opaque, and so all values that depend on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from derivlint.bodies.expressions import Expressions
from derivlint.bodies.values import BodyState, Functions, NeverError, StatementEnd, asked_as
from derivlint.formula import (
    Expr,
    Name,
    walk,
)
from derivlint.formula.nodes import (
    Block,
    Declaration,
    Declared,
    ExpressionStatement,
    If,
    Loop,
    ReturnStatement,
    Statement,
    UnknownStatement,
)
from derivlint.formula.vocabulary import words
from derivlint.operators.reference.sums import (
    ABSENT,
    CONSTANT,
    Sum,
    is_several,
    opaque_in,
)

MAX_ROUNDS = 4
_NUMBERS = words("""
    int int64_t size_t double float bool auto_t SymInt SymFloat SymBool ScalarType TensorOptions IntArrayRef
    SymIntArrayRef Layout Device DimVector SymDimVector MemoryFormat
""")


class ExecutionResult(Struct, frozen=True):
    """The result of executing a body.

    Attributes:
        value: the returned value, a sum or a tuple; None if it never returns a value.
        returns: the parameters one of which, or a view of it, every ``return`` returns.
        is_exact: whether all statements are known.
    """

    value: Any
    returns: frozenset[str]
    is_exact: bool


def execute(
    body: Block, parameters: Mapping[str, Sum], seeds: frozenset[str], functions: Functions, nested: int = 0
) -> ExecutionResult:
    """Execute a body symbolically.

    Args:
        body: the statements.
        parameters: the values of the parameters.
        seeds: the parameters that take gradients or tangents. A nonlinear function of one does not make the result
            certainly nonlinear, since functions may cancel, such as ``log`` and ``exp``.
        functions: the functions of the same file.
        nested: the nesting of calls that led to the body.

    Raises:
        BudgetError: the execution takes too many steps or nests too deeply.
    """
    run = _Execution(parameters, seeds, functions, nested)
    outcome = run.run(body)
    value = outcome.returned
    if value is not None:
        value = tuple(map(run.flattened, value)) if is_several(value) else run.flattened(value)
    returned = frozenset() if run.returned is None else run.returned
    return ExecutionResult(value, returned & frozenset(parameters), run.is_exact)


class _Execution(Expressions):
    def __init__(self, parameters: Mapping[str, Sum], seeds: frozenset[str], functions: Functions, nested: int) -> None:
        super().__init__(parameters, seeds, functions, nested)
        self.returned: frozenset[str] | None = None
        self.is_exact = True

    def run(self, statement: Statement) -> StatementEnd:
        """Execute a statement."""
        self.budget.enter()
        try:
            if isinstance(statement, Block):
                return self._sequence(statement.statements, 0)
            if isinstance(statement, ExpressionStatement):
                self.of(statement.expression)
            elif isinstance(statement, Declaration):
                for declared in statement.declared:
                    self._declare(declared)
            elif isinstance(statement, ReturnStatement):
                return self._return(statement)
            elif isinstance(statement, If):
                return self._if(statement)
            elif isinstance(statement, Loop):
                return self._loop(statement)
            elif isinstance(statement, UnknownStatement):
                return self._unknown(statement)
        except NeverError:
            return StatementEnd(None, False)
        finally:
            self.budget.nested -= 1
        return StatementEnd()

    def _sequence(self, statements: tuple[Statement, ...], position: int) -> StatementEnd:
        """Execute statements in order, from a position on."""
        while position < len(statements):
            statement = statements[position]
            position += 1
            outcome = self.run(statement)
            if outcome.returned is not None and outcome.goes_on:
                self.budget.enter()
                rest = self._sequence(statements, position)
                self.budget.nested -= 1
                value = outcome.returned
                if rest.returned is not None:
                    then, otherwise = (rest.returned, value) if outcome.is_otherwise else (value, rest.returned)
                    value = self._choice(outcome.question, outcome.condition, then, otherwise)
                elif rest.goes_on:
                    value = asked_as(self._curved(outcome.condition), value)
                return StatementEnd(value, rest.goes_on)
            if not outcome.goes_on:
                return outcome
        return StatementEnd()

    def _return(self, statement: ReturnStatement) -> StatementEnd:
        if statement.value is None:
            return StatementEnd(CONSTANT, False)
        value = self.of(statement.value)
        if self._depth == 0:
            roots = self._roots(statement.value)
            self.returned = roots if self.returned is None else self.returned & roots
        return StatementEnd(value, False)

    def _if(self, statement: If) -> StatementEnd:
        condition = self.sum(statement.condition)
        before = self.state
        self.state = before.copy()
        then = self.run(statement.then)
        after_then = self.state
        self.state = before.copy()
        otherwise = self.run(statement.otherwise) if statement.otherwise is not None else StatementEnd()
        after_otherwise = self.state
        if then.goes_on and otherwise.goes_on:
            self.state = self._joined(statement.condition, condition, after_then, after_otherwise)
        elif then.goes_on:
            self.state = after_then
        goes_on = then.goes_on or otherwise.goes_on
        if (then.returned is None and not otherwise.goes_on) or (otherwise.returned is None and not then.goes_on):
            value = otherwise.returned if then.returned is None else then.returned
            return StatementEnd(value, goes_on, condition, statement.condition, then.returned is None)
        condition_of_return = self._curved(condition, then.condition, otherwise.condition)
        if then.returned is None or otherwise.returned is None:
            return StatementEnd(
                otherwise.returned if then.returned is None else then.returned, goes_on, condition_of_return
            )
        value = self._choice(statement.condition, condition, then.returned, otherwise.returned)
        return StatementEnd(value, goes_on, condition_of_return)

    def _joined(self, node: Expr | None, condition: Sum, then: BodyState, otherwise: BodyState) -> BodyState:
        values: dict[str, Any] = {}
        for name in then.values.keys() & otherwise.values.keys():
            first, second = then.values[name], otherwise.values[name]
            values[name] = first if first is second else self._choice(node, condition, first, second)
        roots = {
            name: then.roots.get(name, frozenset()) | otherwise.roots.get(name, frozenset())
            for name in then.roots.keys() | otherwise.roots.keys()
        }
        return BodyState(values, roots)

    def _loop(self, loop: Loop) -> StatementEnd:
        if loop.begin is not None:
            self.run(loop.begin)
        returned: Any = None
        for _ in range(MAX_ROUNDS):
            before = self.state.copy()
            if loop.variable is not None and loop.over is not None:
                over = self.sum(loop.over)
                for name in loop.variable.names:
                    self._bind(name.simple or "", over, self._roots(loop.over))
            if loop.condition is not None:
                self.of(loop.condition)
            outcome = self.run(loop.body)
            if loop.step is not None:
                self.of(loop.step)
            if outcome.returned is not None:
                returned = outcome.returned if returned is None else self._either(CONSTANT, outcome.returned, returned)
            self.state = self._joined(None, CONSTANT, self.state, before)
            if _same(before.values, self.state.values):
                return StatementEnd(returned)
        for written in _written(loop) & self.state.values.keys():
            self.state.values[written] = opaque_in(self.flattened(self.state.values[written]))
        return StatementEnd(returned)

    def _unknown(self, statement: UnknownStatement) -> StatementEnd:
        self.is_exact = False
        names = [name.simple or "" for name in statement.names]
        value = opaque_in(*(self.flattened(self.state.values[name]) for name in names if name in self.state.values))
        for name in names:
            self.state.values[name] = value
        everything = opaque_in(*map(self.flattened, self.state.values.values())) if statement.may_return else None
        return StatementEnd(everything)

    def _declare(self, declared: Declared) -> None:
        roots: frozenset[str] = frozenset()
        if declared.value is not None:
            value = self.of(declared.value)
            roots = self._roots(declared.value)
        elif declared.arguments:
            values = [self.of(argument) for argument in declared.arguments]
            is_list = declared.type_words[-1:] not in ((), ("Tensor",)) and "vector" in declared.type_words
            value = (ABSENT if len(values) < 2 and is_list else self.flattened(values[-1])) if is_list else values[0]
            if len(values) == 1:
                roots = self._roots(declared.arguments[0])
        else:
            value = CONSTANT if declared.type_words and declared.type_words[-1] in _NUMBERS else ABSENT
        if not declared.is_binding:
            self._bind(declared.names[0].simple or "", value, roots)
            return
        for position, name in enumerate(declared.names):
            several = is_several(value) and position < len(value)
            self._bind(name.simple or "", value[position] if several else self.flattened(value), roots)


def _same(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return all(name in before and before[name] == value for name, value in after.items())


def _written(loop: Loop) -> frozenset[str]:
    """Return the variables that a loop may change."""
    names = set()
    for node in walk(loop.body):
        if isinstance(node, Name) and node.simple is not None:
            names.add(node.simple)
    return frozenset(names)
