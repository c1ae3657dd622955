"""The sizes of a function's results, computed by executing its body over the sizes of its arguments.

Unsupported expressions are unknown, and so is a result that they could affect: the branches of an unknown condition
must have equal sizes. A body that assigns in a lambda of several statements, through a reference, or within an
expression is unsupported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from derivlint.bodies.values import ASSIGNS, callee_of
from derivlint.cpp.declarations.definitions import FunctionDefinition
from derivlint.cpp.operator_signatures import base_name, without_symint
from derivlint.formula import (
    Binary,
    Call,
    Cast,
    Conditional,
    Expr,
    Index,
    Lambda,
    Member,
    Name,
    Number,
    Postfix,
    Unary,
    unparenthesized,
    walk,
)
from derivlint.formula.budget import Budget, BudgetError, is_bounded
from derivlint.formula.nodes import (
    Block,
    Construct,
    Declaration,
    Declared,
    Empty,
    ExpressionStatement,
    If,
    Loop,
    ReturnStatement,
    Statement,
    UnknownStatement,
    depth,
)
from derivlint.formula.vocabulary import words
from derivlint.operators.book import Book
from derivlint.operators.reference.evaluators import Evaluator, ExpressionCompiler
from derivlint.operators.shapes.size_values import UNKNOWN, Sizes, Value, axis_of, bounded, careful
from derivlint.operators.shapes.sizes import (
    BINARY,
    CONSTANTS,
    CONVERSIONS,
    FAILURES,
    METHODS,
    UNARY,
    SizeFunction,
    number_of,
    sizes_named,
)
from derivlint.operators.special import RAISING

#: The functions of the same file, by name and number of arguments.
Functions = Callable[[str, int], FunctionDefinition | None]

#: The maximum number of iterations of a loop, and of steps of all calls together; both bound the time.
_ROUNDS, _STEPS = 32, 2000
#: The number of syntax nodes charged as one step.
_PARTS = 20
#: The nesting levels charged for a call of a function of the file, and the maximum nesting of a calling formula.
_CALL, _FORMULA = 3, 50
_GOES_ON = object()
_NAMESPACES = frozenset({"at", "aten"})
_VIEWS = Book.by_hand("returns-view")
_CHECKS = ("TORCH_CHECK", "TORCH_INTERNAL_ASSERT", "TORCH_WARN", "AT_ASSERT", "C10_")
#: Conditions that are taken to be false: tensors are ordinary and real.
_NOT = words("areAnyTensorSubclassLike isTensorSubclassLike isComplexType")


def _range(*bounds: Value) -> Value:
    numbers = range(*bounds)
    bounded(len(numbers))
    return tuple(numbers)


#: Functions that are called in bodies, but not in formulas.
_FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    **CONVERSIONS,
    **dict.fromkeys(_NOT, lambda *_: False),
    **dict.fromkeys(("move", "forward", "int64_t", "SymInt", "guard_int"), lambda value: value),
    "maybe_wrap_dim": careful(lambda dim, count, *_: axis_of(dim, count)),
    "irange": careful(_range),
}
_METHODS: Mapping[str, Callable[..., Value]] = {
    **METHODS,
    "ndimension": METHODS["dim"],
    "empty": careful(lambda items: len(items) == 0),
    **dict.fromkeys(("vec", "expect_int", "guard_int"), lambda value: value),
}


class _UnknownError(Exception):
    """The result is unknown."""


class _NeverError(Exception):
    """The path ends with an error."""


def body_sizes(
    definition: FunctionDefinition, functions: Functions, budget: Budget | None = None
) -> SizeFunction | None:
    """Return the function from argument sizes to result sizes, or None if it is unknown.

    Args:
        definition: the function.
        functions: the functions of the same file.
        budget: the budget of the calling execution; by default each call has its own.
    """
    if any(not param.name for param in definition.params) or not _is_plain(definition.body):
        return None
    expressions = _Expressions(functions, budget or Budget(_STEPS, _FORMULA))
    names = tuple(param.name for param in definition.params)

    def run(arguments: Mapping[str, Value]) -> Value:
        if any(name not in arguments for name in names):
            # default arguments are not supported
            return UNKNOWN
        if budget is None:
            expressions.budget.steps = _STEPS
        try:
            expressions.budget.enter(_CALL)
            try:
                return _SizesRun(expressions, dict(arguments)).result(definition.body)
            finally:
                expressions.budget.nested -= _CALL
        except (_UnknownError, _NeverError, BudgetError, *FAILURES):
            return UNKNOWN

    return SizeFunction(run, names, len(names) - definition.defaults, by_position=True)


def _is_plain(body: Block) -> bool:
    """Whether every assignment of a body is a statement, and no lambda has several statements."""
    statements = {
        id(unparenthesized(node.expression)) for node in walk(body) if isinstance(node, ExpressionStatement)
    } | {id(node.step) for node in walk(body) if isinstance(node, Loop) and node.step is not None}
    for node in walk(body):
        if isinstance(node, Lambda) and (node.statements is not None or node.body is None):
            return False
        if isinstance(node, Binary) and node.op in ASSIGNS and id(node) not in statements:
            return False
        if isinstance(node, (Unary, Postfix)) and node.op in ("++", "--") and id(node) not in statements:
            return False
        if isinstance(node, Member) and node.name.endswith("_") and base_name(node.name) in _VIEWS:
            return False
        if isinstance(node, Declared) and node.is_reference and "const" not in node.type_words:
            return False
    return True


class _Expressions(ExpressionCompiler):
    """An evaluator of expressions over sizes."""

    unary_operators = UNARY
    binary_operators = BINARY

    def __init__(self, functions: Functions, budget: Budget) -> None:
        super().__init__()
        self._functions = functions
        self._costs: dict[Expr, tuple[int, int]] = {}
        self.budget = budget

    def value(self, node: Expr, values: Mapping[str, Value]) -> Value:
        """Evaluate an expression.

        Raises:
            BudgetError: the budget is exhausted.
        """
        cost = self._costs.get(node)
        if cost is None:
            cost = self._costs[node] = depth(node), sum(1 for _ in walk(node)) // _PARTS
        levels, steps = cost
        self.budget.spend(steps)
        self.budget.enter(levels)
        try:
            return self.of(node)(values)
        finally:
            self.budget.nested -= levels

    def otherwise(self, node: Expr) -> Evaluator:
        return lambda _: UNKNOWN

    def name(self, node: Name) -> Evaluator:
        if node.simple is None:
            value = CONSTANTS.get(node.spelling.removeprefix("::"), UNKNOWN)
            return lambda _: value
        name, constant = node.simple, CONSTANTS.get(node.simple, UNKNOWN)
        return lambda values: values.get(name, constant)

    def number(self, node: Number) -> Evaluator:
        value = number_of(node.text)
        return lambda _: value

    def cast(self, node: Cast) -> Evaluator:
        """Evaluate a conversion between types of numbers."""
        return self.of(node.operand)

    def construct(self, node: Construct) -> Evaluator:
        """Evaluate a list, or an object with one value."""
        is_list = node.type.spelling.endswith(("vector", "Vector", "Ref"))
        return self.of(node.braces) if is_list else self.otherwise(node)

    def conditional(self, node: Conditional) -> Evaluator:
        """Evaluate a conditional; if its condition is unknown, the branches must be equal."""
        condition, then, otherwise = self.of(node.condition), self.of(node.then), self.of(node.otherwise)

        def value(values: Mapping[str, Value]) -> Value:
            truth = _truth(condition, values)
            if truth is None:
                first, second = then(values), otherwise(values)
                return first if _is_same(first, second) else UNKNOWN
            return then(values) if truth else otherwise(values)

        return value

    def index(self, node: Index) -> Evaluator:
        """Evaluate an item of a list."""
        if len(node.args) != 1:
            return self.otherwise(node)
        items, index = self.of(node.object), self.of(node.args[0])

        def item(values: Mapping[str, Value]) -> Value:
            held, at = items(values), index(values)
            return held[at] if type(held) is tuple and type(at) is int and 0 <= at < len(held) else UNKNOWN

        return item

    def called(self, node: Call) -> Evaluator:
        callee = node.callee
        arguments = [self.of(argument) for argument in node.args]
        if isinstance(callee, Member):
            return self._method(callee, arguments)
        if not isinstance(callee, Name):
            return self.otherwise(node)
        if callee.simple is not None:
            local = callee.simple
            function = self._function(callee, arguments)

            def of_name(values: Mapping[str, Value]) -> Value:
                if local in values:
                    # a lambda
                    raise _UnknownError
                return function(values)

            return of_name
        return self._function(callee, arguments)

    def _method(self, callee: Member, arguments: list[Evaluator]) -> Evaluator:
        owner, name = self.of(callee.object), without_symint(callee.name)
        read = _METHODS.get(name)
        if read is not None:
            return lambda values: read(owner(values), *[argument(values) for argument in arguments])
        if name.endswith("_"):
            return owner
        return _applied(name, [owner, *arguments])

    def _function(self, callee: Name, arguments: list[Evaluator]) -> Evaluator:
        name = without_symint(callee.parts[-1].identifier)
        read = _FUNCTIONS.get(name)
        if read is not None:
            return lambda values: read(*[argument(values) for argument in arguments])
        if len(callee.parts) > 1 and callee.parts[0].identifier in _NAMESPACES:
            return _applied(name, arguments)
        own = self._functions(callee.parts[-1].identifier, len(arguments))
        sized = None if own is None else body_sizes(own, self._functions, self.budget)
        if sized is not None:
            names, run = sized.parameters, sized.run
            return lambda values: run({name: argument(values) for name, argument in zip(names, arguments, strict=True)})
        return _applied(name, arguments)


def _applied(name: str, arguments: list[Evaluator]) -> Evaluator:
    sized = sizes_named(name)
    if sized is None:
        return lambda _: UNKNOWN
    names, run = sized.parameters, sized.run
    return lambda values: run({name: argument(values) for name, argument in zip(names, arguments, strict=False)})


def _truth(condition: Evaluator, values: Mapping[str, Value]) -> bool | None:
    """Evaluate a condition; None if it is unknown."""
    try:
        answer = condition(values)
    except FAILURES:
        return None
    return None if answer is UNKNOWN or type(answer) is Sizes else bool(answer)


def _known(value: Value) -> Value:
    """Return a value, or unknown if it exceeds the bounds of variables."""
    return value if is_bounded(value) else UNKNOWN


def _is_same(first: Value, second: Value) -> bool:
    return first is second or (type(first) is type(second) and bool(first == second))


class _SizesRun:
    """An execution of a body."""

    def __init__(self, expressions: _Expressions, values: dict[str, Value]) -> None:
        self._expressions = expressions
        self._values = {name: _known(value) for name, value in values.items()}
        self._budget = expressions.budget
        #: the values returned under unknown conditions, which must be equal to those of other paths
        self._possible: list[Value] = []

    def result(self, body: Block) -> Value:
        """Return the sizes of the returned value."""
        returned = self._run(body)
        if returned is _GOES_ON or any(not _is_same(returned, value) for value in self._possible):
            return UNKNOWN
        return returned

    def _of(self, node: Expr) -> Value:
        try:
            return self._expressions.value(node, self._values)
        except FAILURES:
            return UNKNOWN

    def _run(self, statement: Statement) -> Any:
        self._budget.enter()
        try:
            return self._outcome(statement)
        finally:
            self._budget.nested -= 1

    def _outcome(self, statement: Statement) -> Any:
        if isinstance(statement, Block):
            for inner in statement.statements:
                returned = self._run(inner)
                if returned is not _GOES_ON:
                    return returned
        elif isinstance(statement, Declaration):
            for declared in statement.declared:
                self._declare(declared)
        elif isinstance(statement, ExpressionStatement):
            self._do(unparenthesized(statement.expression))
        elif isinstance(statement, ReturnStatement):
            return UNKNOWN if statement.value is None else self._of(statement.value)
        elif isinstance(statement, If):
            return self._if(statement)
        elif isinstance(statement, Loop):
            return self._loop(statement)
        elif isinstance(statement, UnknownStatement):
            if statement.may_return:
                raise _UnknownError
            self._forget(*statement.names)
        elif not isinstance(statement, Empty):
            raise _UnknownError
        return _GOES_ON

    def _set(self, name: str, value: Value) -> None:
        self._values[name] = _known(value)

    def _declare(self, declared: Declared) -> None:
        names = [name.simple or "" for name in declared.names]
        value: Value = UNKNOWN
        if declared.value is not None:
            value = self._of(declared.value)
        elif declared.type_words[-1:] == ("Tensor",):
            value = None if not declared.arguments else self._of(declared.arguments[0])
        elif declared.arguments is None and "vector" in declared.type_words:
            value = ()
        if not declared.is_binding:
            self._set(names[0], value)
            return
        several = type(value) is tuple and len(value) == len(names)
        self._values.update(zip(names, map(_known, value) if several else [UNKNOWN] * len(names), strict=True))

    def _do(self, node: Expr) -> None:
        if isinstance(node, Binary) and node.op in ASSIGNS:
            self._assign(node)
        elif isinstance(node, (Unary, Postfix)) and node.op in ("++", "--"):
            if isinstance(node.operand, Name) and node.operand.simple is not None:
                value = self._of(node.operand)
                step = 1 if node.op == "++" else -1
                self._values[node.operand.simple] = _known(value + step) if type(value) is int else UNKNOWN
            else:
                self._forget(*_names_in(node))
        elif isinstance(node, Call):
            self._call(node)
        else:
            self._forget(*_names_in(node))

    def _call(self, node: Call) -> None:
        name, callee = callee_of(node), node.callee
        if name in RAISING or name.startswith(_CHECKS):
            if node.args and _truth(partial(self._expressions.value, node.args[0]), self._values) is False:
                raise _NeverError
            return
        owner = callee.object if isinstance(callee, Member) else None
        if isinstance(owner, Name) and owner.simple is not None:
            held = self._values.get(owner.simple, UNKNOWN)
            if type(held) is tuple and name in ("push_back", "emplace_back") and len(node.args) == 1:
                self._set(owner.simple, (*held, self._of(node.args[0])))
                return
            if name == "reserve" or (type(held) is Sizes and name.endswith("_")):
                return
        self._forget(*_names_in(node))

    def _assign(self, node: Binary) -> None:
        target = unparenthesized(node.left)
        if isinstance(target, Name) and target.simple is not None:
            value = self._of(node.right)
            if node.op != "=":
                operate, old = BINARY[node.op[0]], self._values.get(target.simple, UNKNOWN)
                try:
                    value = old if type(old) is Sizes else operate(old, value)
                except FAILURES:
                    value = UNKNOWN
            self._set(target.simple, value)
        elif isinstance(target, Call) and callee_of(target) == "tie" and node.op == "=":
            value = self._of(node.right)
            several = type(value) is tuple and len(value) == len(target.args)
            for at, part in enumerate(target.args):
                if isinstance(part, Name) and part.simple is not None:
                    self._values[part.simple] = value[at] if several else UNKNOWN
                else:
                    self._forget(*_names_in(part))
        else:
            self._forget(*_names_in(target))

    def _forget(self, *names: Name) -> None:
        for name in names:
            if name.simple is not None and name.simple in self._values:
                self._values[name.simple] = UNKNOWN

    def _if(self, statement: If) -> Any:
        truth = _truth(partial(self._expressions.value, statement.condition), self._values)
        if truth is not None:
            taken = statement.then if truth else statement.otherwise
            return _GOES_ON if taken is None else self._run(taken)
        before = dict(self._values)
        then = self._branch(statement.then)
        after, self._values = self._values, before
        otherwise = self._branch(statement.otherwise)
        if then is None:
            if otherwise is None:
                raise _NeverError
            return otherwise
        if otherwise is None:
            self._values = after
            return then
        if then is not _GOES_ON and otherwise is not _GOES_ON:
            return then if _is_same(then, otherwise) else UNKNOWN
        if then is not _GOES_ON:
            self._possible.append(then)
        elif otherwise is not _GOES_ON:
            self._possible.append(otherwise)
            self._values = after
        else:
            merged = self._values.keys() & after.keys()
            self._values = {
                name: self._values[name] if _is_same(self._values[name], after[name]) else UNKNOWN for name in merged
            }
        return _GOES_ON

    def _branch(self, statement: Statement | None) -> Any:
        """Execute a branch; None if it ends with an error."""
        try:
            return _GOES_ON if statement is None else self._run(statement)
        except _NeverError:
            return None

    def _loop(self, loop: Loop) -> Any:
        if loop.variable is not None and loop.over is not None:
            over = self._of(loop.over)
            if type(over) is not tuple or len(over) > _ROUNDS or loop.variable.is_binding:
                raise _UnknownError
            for item in over:
                self._values[loop.variable.names[0].simple or ""] = item
                returned = self._run(loop.body)
                if returned is not _GOES_ON:
                    return returned
            return _GOES_ON
        if loop.begin is not None:
            self._run(loop.begin)
        for _ in range(_ROUNDS):
            truth = (
                None
                if loop.condition is None
                else _truth(partial(self._expressions.value, loop.condition), self._values)
            )
            if truth is None:
                break
            if not truth:
                return _GOES_ON
            returned = self._run(loop.body)
            if returned is not _GOES_ON:
                return returned
            if loop.step is not None:
                self._do(loop.step)
        raise _UnknownError


def _names_in(node: Expr) -> list[Name]:
    return [inner for inner in walk(node) if isinstance(inner, Name)]
