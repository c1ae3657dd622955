"""Follows the body of a function: its values as sums of products of its parameters.

Statements are run in order over what is known of the variables. Branches are joined: what only one of them does is not
sure. A loop is run until nothing changes any more. What is not understood makes the variables in it unclear, so that
nothing is said of values that depend on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from msgspec import Struct, field

from derivlint.cpp.declarations.definitions import FunctionDefinition
from derivlint.cpp.operator_names import base_name
from derivlint.formula import (
    Binary,
    BraceList,
    Call,
    Cast,
    Conditional,
    Construct,
    Expr,
    Index,
    Lambda,
    Member,
    Name,
    Number,
    Parenthesized,
    Postfix,
    Unary,
    unparenthesized,
    walk,
)
from derivlint.formula.analysis import Analysis
from derivlint.formula.nodes import (
    Block,
    Declaration,
    Declared,
    ExpressionStatement,
    If,
    Loop,
    Return,
    Statement,
    UnknownStatement,
)
from derivlint.formula.tuples import tuple_access
from derivlint.formula.vocabulary import words
from derivlint.operators.book import Book
from derivlint.operators.reference.derived import derived
from derivlint.operators.reference.parity import Parity
from derivlint.operators.reference.sums import (
    ABSENT,
    CONSTANT,
    ZERO,
    Sum,
    SumTerm,
    Value,
    absent_terms,
    added,
    applied,
    asked_of,
    chosen,
    curved_in,
    flat,
    is_several,
    item_of,
    known_call,
    made,
    opaque_in,
    possible_branches,
    times,
    without,
)
from derivlint.operators.special import METADATA_MEMBERS, RAISING, REAL_FROM_COMPLEX

#: So many expressions and statements are looked at in one body.
MAX_STEPS = 60_000
MAX_ROUNDS = 4
#: Deeper calls of lambdas by lambdas are not followed.
MAX_CALLS = 20
#: Functions of C++ whose value is one of their arguments, or all of them side by side.
_TRANSPARENT = words("""
    move forward tie vector optional make_optional TensorList ITensorList ArrayRef Tensor Variable static_cast
    const_cast expect_contiguous MaybeOwned borrowed cref ref value get begin end c10 front back
    pair make_pair variable_list IntArrayRef SymIntArrayRef Scalar toMutableTensor
""")
_SEVERAL = frozenset({"make_tuple", "tuple", "tie", "make_pair"})
#: Functions that ask what a tensor or a number is, whatever its value; conversions between types of numbers.
_QUESTION = re.compile(r"_?is_\w+|is[A-Z]\w*|are(?:Any|All|_)\w*|\w+_is_\w+|\w*wrap_dim\w*|result_type|empty")
_CONVERSION = re.compile(r"to[A-Z]\w*|guard_int|item|c?r?(?:begin|end)")
#: Functions that apply a function to each item of a list.
_MAPS = frozenset({"fmap", "transform"})
#: Members of lists that add an item.
_ADDS_ITEM = frozenset({"push_back", "emplace_back", "insert"})
_NUMBERS = words("""
    int int64_t size_t double float bool auto_t SymInt SymFloat SymBool ScalarType TensorOptions IntArrayRef
    SymIntArrayRef Layout Device DimVector SymDimVector MemoryFormat
""")
#: Assertions: their arguments are conditions, which say nothing of values.
_CHECKS = (
    "TORCH_CHECK",
    "TORCH_INTERNAL_ASSERT",
    "TORCH_WARN",
    "AT_ASSERT",
    "C10_",
    "AT_ERROR",
    "TORCH_CHECK_NOT_IMPLEMENTED",
)
_ASSIGNS = frozenset({"=", "+=", "-=", "*=", "/="})
_VIEWS = Book.by_hand("returns-view") | Book.by_hand("may-return-argument")

_NONE: frozenset[str] = frozenset()


class Functions(Protocol):
    """The functions of the file that a body is in."""

    def has(self, name: str) -> bool:
        """Whether there is one of that name."""

    def value(self, name: str, arguments: list[Sum]) -> Value | None:
        """What a call of one gives; None where that is not known."""

    def definition(self, name: str, count: int) -> FunctionDefinition | None:
        """The only one of that name and number of parameters."""


class TooLongError(Exception):
    """A body takes too many steps."""


class _NeverError(Exception):
    """The expression raises, whatever the arguments are."""


class _Closure(Struct, frozen=True, eq=False):
    """A lambda as a value."""

    node: Lambda


class Outcome(Struct):
    """How a statement ends.

    Attributes:
        returned: what it returns, where it may return; else None.
        goes_on: whether the next statement may be reached.
        condition: what it depends on whether it returns.
        question: that condition, where it depends on one alone.
        is_otherwise: whether it returns where the condition does not hold.
    """

    returned: Any = None
    goes_on: bool = True
    condition: Sum = CONSTANT
    question: Expr | None = None
    is_otherwise: bool = False


class Followed(Struct, frozen=True):
    """What came of a body.

    Attributes:
        value: what it returns: a sum or a tuple of values; None where it never returns a value.
        returns: the parameters of which every ``return`` gives one, or a view of one.
        is_exact: whether every statement was understood.
    """

    value: Any
    returns: frozenset[str]
    is_exact: bool


class _State(Struct):
    """What is known at a place of a body.

    Attributes:
        values: the values of variables.
        roots: the variables whose memory each variable may share.
    """

    values: dict[str, Any] = field(default_factory=dict)
    roots: dict[str, frozenset[str]] = field(default_factory=dict)

    def copy(self) -> _State:
        return _State(dict(self.values), dict(self.roots))


def follow(body: Block, parameters: Mapping[str, Sum], seeds: frozenset[str], functions: Functions) -> Followed:
    """What a body returns.

    Args:
        body: the statements.
        parameters: the values of the parameters.
        seeds: the parameters that take gradients or tangents: of a function of one that is not linear it is not said
            that the whole is not linear, since such functions cancel: ``log`` with ``exp``.
        functions: the functions of the same file.

    Raises:
        TooLongError: it takes too many steps.
    """
    run = _Run(parameters, seeds, functions)
    outcome = run.run(body)
    value = outcome.returned
    if value is not None:
        value = tuple(map(run.flattened, value)) if is_several(value) else run.flattened(value)
    return Followed(value, (run.returned or _NONE) & frozenset(parameters), run.is_exact)


class _Run(Analysis[Any]):
    def __init__(self, parameters: Mapping[str, Sum], seeds: frozenset[str], functions: Functions) -> None:
        super().__init__()
        self.state = _State(dict(parameters), {name: frozenset({name}) for name in parameters})
        self.returned: frozenset[str] | None = None
        self.is_exact = True
        self._seeds = seeds
        self._functions = functions
        self._steps = 0
        self._depth = 0

    # ---- statements

    def run(self, statement: Statement) -> Outcome:
        """Run a statement."""
        self._count()
        try:
            if isinstance(statement, Block):
                return self._block(statement)
            if isinstance(statement, ExpressionStatement):
                self.of(statement.expression)
            elif isinstance(statement, Declaration):
                for declared in statement.declared:
                    self._declare(declared)
            elif isinstance(statement, Return):
                return self._return(statement)
            elif isinstance(statement, If):
                return self._if(statement)
            elif isinstance(statement, Loop):
                return self._loop(statement)
            elif isinstance(statement, UnknownStatement):
                return self._unknown(statement)
        except _NeverError:
            return Outcome(None, False)
        return Outcome()

    def _count(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TooLongError

    def _block(self, block: Block) -> Outcome:
        return self._sequence(block.statements, 0)

    def _sequence(self, statements: tuple[Statement, ...], position: int) -> Outcome:
        """Run statements one after the other, from a position on."""
        while position < len(statements):
            statement = statements[position]
            position += 1
            outcome = self.run(statement)
            if outcome.returned is not None and outcome.goes_on:
                rest = self._sequence(statements, position)
                value = outcome.returned
                if rest.returned is not None:
                    then, otherwise = (rest.returned, value) if outcome.is_otherwise else (value, rest.returned)
                    value = self._choice(outcome.question, outcome.condition, then, otherwise)
                elif rest.goes_on:
                    value = _asked(self._curved(outcome.condition), value)
                return Outcome(value, rest.goes_on)
            if not outcome.goes_on:
                return outcome
        return Outcome()

    def _return(self, statement: Return) -> Outcome:
        if statement.value is None:
            return Outcome(CONSTANT, False)
        value = self.of(statement.value)
        if self._depth == 0:
            roots = self._roots(statement.value)
            self.returned = roots if self.returned is None else self.returned & roots
        return Outcome(value, False)

    def _if(self, statement: If) -> Outcome:
        condition = self.sum(statement.condition)
        before = self.state
        self.state = before.copy()
        then = self.run(statement.then)
        after_then = self.state
        self.state = before.copy()
        otherwise = self.run(statement.otherwise) if statement.otherwise is not None else Outcome()
        after_otherwise = self.state
        if then.goes_on and otherwise.goes_on:
            self.state = self._joined(statement.condition, condition, after_then, after_otherwise)
        elif then.goes_on:
            self.state = after_then
        goes_on = then.goes_on or otherwise.goes_on
        if (then.returned is None and not otherwise.goes_on) or (otherwise.returned is None and not then.goes_on):
            value = otherwise.returned if then.returned is None else then.returned
            return Outcome(value, goes_on, condition, statement.condition, then.returned is None)
        asked = self._curved(condition, then.condition, otherwise.condition)
        if then.returned is None or otherwise.returned is None:
            return Outcome(otherwise.returned if then.returned is None else then.returned, goes_on, asked)
        value = self._choice(statement.condition, condition, then.returned, otherwise.returned)
        return Outcome(value, goes_on, asked)

    def _joined(self, node: Expr | None, condition: Sum, then: _State, otherwise: _State) -> _State:
        values: dict[str, Any] = {}
        for name in then.values.keys() & otherwise.values.keys():
            first, second = then.values[name], otherwise.values[name]
            values[name] = first if first is second else self._choice(node, condition, first, second)
        roots = {
            name: then.roots.get(name, frozenset()) | otherwise.roots.get(name, frozenset())
            for name in then.roots.keys() | otherwise.roots.keys()
        }
        return _State(values, roots)

    def _loop(self, loop: Loop) -> Outcome:
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
                return Outcome(returned)
        for written in _written(loop) & self.state.values.keys():
            self.state.values[written] = opaque_in(self.flattened(self.state.values[written]))
        return Outcome(returned)

    def _unknown(self, statement: UnknownStatement) -> Outcome:
        self.is_exact = False
        names = [name.simple or "" for name in statement.names]
        value = opaque_in(*(self.flattened(self.state.values[name]) for name in names if name in self.state.values))
        for name in names:
            self.state.values[name] = value
        everything = opaque_in(*map(self.flattened, self.state.values.values())) if statement.may_return else None
        return Outcome(everything)

    # ---- variables

    def _bind(self, name: str, value: Any, roots: frozenset[str]) -> None:
        self.state.values[name] = value
        self.state.roots[name] = roots

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

    def _assign(self, target: Expr, operator: str, right: Any, value_node: Expr) -> Any:
        target = unparenthesized(target)
        if isinstance(target, Call) and operator == "=" and _callee(target) in _SEVERAL:
            for position, each in enumerate(target.args):
                several = is_several(right) and position < len(right)
                self._assign(each, "=", right[position] if several else self.flattened(right), value_node)
            return right
        if operator == "=":
            value = right
        else:
            old, new = self.sum(target), self.flattened(right)
            if operator in ("+=", "-="):
                value = added(old, new)
            elif operator == "*=":
                value = times(old, new)
            else:
                value = self._quotient(old, new)
        if isinstance(target, Name) and target.simple is not None:
            self.state.values[target.simple] = value
            if operator == "=":
                self.state.roots[target.simple] = self._roots(value_node)
            else:
                self._written_through(target.simple, value)
        else:
            self._write_part(target, self.flattened(value), is_sum=operator in ("+=", "-="))
        return value

    def _write_part(self, target: Expr, value: Sum, *, is_sum: bool = False) -> None:
        """A part of what a variable holds is written: an item of a list, a view of a tensor."""
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
        """A variable is changed in place: what shares its memory may be, too."""
        roots = self.state.roots.get(name, frozenset()) | {name}
        for other, others in self.state.roots.items():
            if other != name and (others | {other}) & roots and other in self.state.values:
                self.state.values[other] = self._either(
                    CONSTANT, self.flattened(self.state.values[other]), self.flattened(value)
                )

    def _roots(self, node: Expr, *, is_written: bool = False) -> frozenset[str]:
        """The variables whose memory a value may share."""
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
        if isinstance(node, Binary) and node.op in _ASSIGNS:
            return self._roots(node.left)
        if isinstance(node, Call):
            callee = node.callee
            name = _callee(node)
            if isinstance(callee, Member):
                shares = is_written or base_name(name) in _VIEWS or name.endswith("_") or name in _TRANSPARENT
                return self._roots(callee.object, is_written=is_written) if shares else frozenset()
            if name in _TRANSPARENT or name in _SEVERAL:
                return _NONE.union(*map(self._roots, node.args))
            if base_name(name) in _VIEWS and node.args:
                # the first argument of this one is what the second is for
                return self._roots(node.args[1 if name == REAL_FROM_COMPLEX and len(node.args) > 1 else 0])
        if isinstance(node, (BraceList, Construct)):
            items = node.items if isinstance(node, BraceList) else node.braces.items
            return frozenset().union(*(self._roots(item) for item in items))
        return frozenset()

    # ---- values

    def of(self, node: Expr) -> Any:
        # variables change: what an expression meant earlier is not what it means now
        self._count()
        return self._methods[type(node)](self, node)

    def sum(self, node: Expr) -> Sum:
        """The value of an expression, of a list the sum of its items."""
        return self.flattened(self.of(node))

    def flattened(self, value: Any) -> Sum:
        """A value as a sum; a lambda is constant as long as it is not called."""
        if isinstance(value, _Closure):
            return CONSTANT
        if is_several(value):
            return flat(tuple(map(self.flattened, value)))
        found: Sum = value
        return found

    def _curved(self, *values: Sum, parity: Parity | None = None) -> Sum:
        """A function that is linear in none of its arguments; of gradients that is not sure."""
        found = curved_in(*values, parity=parity)
        terms = [
            SumTerm(term.linear, term.curved - self._seeds, term.unclear | (term.curved & self._seeds), term.is_sure)
            for term in found.terms
        ]
        return made(terms, found.parities)

    def _quotient(self, left: Sum, right: Sum) -> Sum:
        return times(left, self._curved(right, parity=Parity.HOLOMORPHIC))

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
        asked = self._curved(condition)
        if asked == CONSTANT:
            return chosen(CONSTANT, a, b)
        return _asked(asked, chosen(CONSTANT, a, b))

    def _choice(self, node: Expr | None, condition: Sum, then: Any, otherwise: Any) -> Any:
        """One of two values, as a condition says."""
        negated = False
        while isinstance(node, (Unary, Parenthesized)):
            if isinstance(node, Unary):
                if node.op != "!":
                    break
                negated = not negated
                node = node.operand
            else:
                node = node.inner
        asked = asked_of(node) if node is not None else None
        if asked is not None:
            question, of = asked
            first, second = (otherwise, then) if negated else (then, otherwise)
            if question == "is_complex" and isinstance(of, Name):
                second = _without(second, of.simple or "")
            elif question in ("defined", "isDefined", "has_value"):
                rest = absent_terms(first, second, self.sum(of).all)
                if rest is not None:
                    return rest
            then, otherwise = (second, first) if negated else (first, second)
        return self._either(condition, then, otherwise)

    # ---- expressions

    def otherwise(self, node: Expr) -> Any:
        return CONSTANT

    def name(self, node: Name) -> Any:
        if node.simple is not None:
            if node.simple in self.state.values:
                return self.state.values[node.simple]
            return ABSENT if node.simple in ("nullopt", "nullptr") else CONSTANT
        return ABSENT if node.parts[-1].identifier == "nullopt" else CONSTANT

    def number(self, node: Number) -> Any:
        digits = node.text.lower().rstrip("flu")
        return ZERO if digits and not digits.strip("0.") else CONSTANT

    def unary(self, node: Unary | Postfix) -> Any:
        operand = self.of(node.operand)
        if node.op in ("*", "&"):
            return operand
        if node.op in ("++", "--"):
            return CONSTANT
        value = self.flattened(operand)
        return self._curved(value) if node.op in ("!", "~") else value

    postfix = unary

    def cast(self, node: Cast) -> Any:
        return self.of(node.operand)

    def binary(self, node: Binary) -> Any:
        if node.op in _ASSIGNS:
            return self._assign(node.left, node.op, self.of(node.right), node.right)
        left, right = self.sum(node.left), self.sum(node.right)
        if node.op in ("+", "-"):
            return added(left, right)
        if node.op == "*":
            return times(left, right)
        if node.op == "/":
            return self._quotient(left, right)
        if node.op == ",":
            return right
        return self._curved(left, right)

    def conditional(self, node: Conditional) -> Any:
        condition = self.sum(node.condition)
        cases = possible_branches(node, self.of, _NeverError)
        if len(cases) == 1:
            return cases[0]
        return self._choice(node.condition, condition, cases[0], cases[1])

    def braces(self, node: BraceList) -> Any:
        return tuple(map(self.of, node.items)) if node.items else ABSENT

    def construct(self, node: Construct) -> Any:
        return self.of(node.braces)

    def index(self, node: Index) -> Any:
        if len(node.args) != 1:
            return opaque_in(self.sum(node.object))
        self.of(node.args[0])
        held = self.of(node.object)
        if is_several(held):
            return item_of(tuple(map(self.flattened, held)), node.args[0])
        return self.flattened(held)

    def member(self, node: Member) -> Any:
        return self.flattened(self.of(node.object))

    def lambda_(self, node: Lambda) -> Any:
        return _Closure(node)

    # ---- calls

    def call(self, node: Call) -> Any:
        callee = node.callee
        if isinstance(callee, Member):
            return self._method(node, callee)
        if isinstance(callee, Parenthesized):
            inner = callee.inner
            held = self.of(inner)
            return self._apply(held, node.args)
        if isinstance(callee, Lambda):
            return self._apply(_Closure(callee), node.args)
        if not isinstance(callee, Name):
            return opaque_in(*(self.sum(argument) for argument in node.args), self.sum(callee))
        held = self.state.values.get(callee.simple or "")
        if isinstance(held, _Closure):
            return self._apply(held, node.args)
        if held is not None:
            # an object that is called: a functor, a std::function
            return opaque_in(self.flattened(held), *(self.sum(argument) for argument in node.args))
        return self._function(node, callee)

    def _method(self, node: Call, callee: Member) -> Any:
        name = callee.name
        base = base_name(name)
        if base in METADATA_MEMBERS:
            self._look(callee.object, *node.args)
            return CONSTANT
        held = self.of(callee.object)
        if name in _ADDS_ITEM and node.args:
            for argument in node.args:
                self._write_part(callee.object, self.sum(argument), is_sum=True)
            return CONSTANT
        if name in _TRANSPARENT and not node.args:
            return held
        arguments = [self.flattened(held), *(self.sum(argument) for argument in node.args)]
        if name in ("clear", "reset", "reserve"):
            return CONSTANT
        value = self._known(name, arguments, is_own=False)
        if base != name and name.endswith("_") and not name.endswith("__"):
            target = unparenthesized(callee.object)
            written = self.flattened(value)
            if isinstance(target, Name) and target.simple is not None:
                self.state.values[target.simple] = written
                self._written_through(target.simple, written)
            else:
                self._write_part(target, written)
        return value

    def _look(self, *nodes: Expr) -> None:
        """Expressions whose values do not count, but what they write does."""
        for node in nodes:
            if not isinstance(node, Name):
                self.of(node)

    def _function(self, node: Call, callee: Name) -> Any:
        name = callee.parts[-1].identifier
        access = tuple_access(node)
        if access is not None:
            held = self.of(access[0])
            return item_of(tuple(map(self.flattened, held)) if is_several(held) else self.flattened(held), access[1])
        if name.startswith(_CHECKS):
            if node.args and isinstance(node.args[0], Name) and node.args[0].simple == "false":
                raise _NeverError
            return CONSTANT
        if name in RAISING:
            raise _NeverError
        if name.isupper():
            return self._macro(node)
        if name in _MAPS and len(node.args) >= 2:
            held = self.of(node.args[-1])
            if isinstance(held, _Closure):
                return self._applied(held, [self.sum(argument) for argument in node.args[:-1]])
        if name in _SEVERAL:
            return tuple(self.of(argument) for argument in node.args)
        if not node.args and name in ("Tensor", "Variable", "nullopt", "TensorList", "variable_list"):
            return ABSENT
        if name in _TRANSPARENT:
            values = [self.of(argument) for argument in node.args]
            return values[0] if len(values) == 1 else opaque_in(*map(self.flattened, values)) if values else ABSENT
        values = [self.of(argument) for argument in node.args]
        owner = callee.parts[0].identifier if len(callee.parts) > 1 else ""
        is_own = owner not in ("at", "std", "c10") and self._functions.has(name)
        if any(isinstance(value, _Closure) for value in values):
            definition = self._functions.definition(name, len(values)) if is_own else None
            return self._higher_order(values) if definition is None else self._inlined(definition, values)
        value = self._known(name, list(map(self.flattened, values)), is_own=is_own)
        if name.endswith(("_out", "_")) and not name.endswith("__") and node.args and not is_own:
            self._write_part(node.args[0], self.flattened(value))
        return value

    def _higher_order(self, values: list[Any]) -> Any:
        """A function that is given a lambda: what it does with it is not known, only what it could give."""
        return opaque_in(
            *(
                self.flattened(self._applied(value, [opaque_in(*map(self.flattened, values))] * len(value.node.params)))
                if isinstance(value, _Closure)
                else self.flattened(value)
                for value in values
            )
        )

    def _inlined(self, definition: FunctionDefinition, values: list[Any]) -> Any:
        """A function of the same file that is given a lambda: its body is run here."""
        self._depth += 1
        if self._depth > MAX_CALLS:
            raise TooLongError
        outer = self.state
        named = [param.name for param in definition.params]
        # the lambda sees the variables around it
        self.state = outer.copy()
        for name, value in zip(named, values, strict=False):
            self._bind(name, value, _NONE)
        try:
            returned = self.run(definition.body).returned
        finally:
            self._depth -= 1
            self.state = outer
        return CONSTANT if returned is None else returned

    def _macro(self, node: Call) -> Any:
        """A macro: the lambda in it is run, as ``AT_DISPATCH_FLOATING_TYPES`` does."""
        value: Any = CONSTANT
        for argument in node.args:
            held = self.of(argument)
            if isinstance(held, _Closure):
                value = self._applied(held, [])
        return value

    def _known(self, name: str, arguments: list[Sum], *, is_own: bool) -> Any:
        if is_own:
            value = self._functions.value(name, arguments)
            if value is not None:
                return value
        base = base_name(name)
        is_question = base in METADATA_MEMBERS or base in Book.by_hand("reads-metadata") or _QUESTION.fullmatch(base)
        if is_question or not arguments:
            return CONSTANT
        if _CONVERSION.fullmatch(base):
            return arguments[0]
        if base == "value_or":
            return self._either(CONSTANT, arguments[0], arguments[-1])
        known = known_call(base, arguments)
        if known is None:
            found = derived(base)
            if found is not None and len(arguments) <= len(found.parameters):
                return self._unsure(applied(found, arguments), arguments)
            if all(not value.all for value in arguments):
                # a function of constants is one
                return CONSTANT
            return opaque_in(*arguments)
        return self._unsure(known, arguments)

    def _unsure(self, value: Any, arguments: list[Sum]) -> Any:
        """The value of a function: where it is not linear in a seed, that is only sure for products of it."""
        if is_several(value):
            return tuple(self._unsure(each, arguments) for each in value)
        already = _NONE.union(*(term.curved for argument in arguments for term in argument.terms))
        several = {seed for seed in self._seeds if sum(seed in argument.all for argument in arguments) > 1}
        doubtful = self._seeds - already - several
        terms = (
            SumTerm(term.linear, term.curved - doubtful, term.unclear | (term.curved & doubtful), term.is_sure)
            for term in value.terms
        )
        return value if value is ABSENT else made(terms, value.parities)

    def _apply(self, held: Any, nodes: Iterable[Expr]) -> Any:
        values = [self.of(node) for node in nodes]
        if not isinstance(held, _Closure):
            return opaque_in(self.flattened(held), *map(self.flattened, values))
        return self._applied(held, values)

    def _applied(self, held: _Closure, values: list[Any]) -> Any:
        """What a lambda gives; what it writes to variables outside is written."""
        node = held.node
        self._depth += 1
        if self._depth > MAX_CALLS:
            raise TooLongError
        outer = self.state
        self.state = outer.copy()
        own = {param.name for param in node.params}
        for param, value in zip(node.params, values, strict=False):
            self._bind(param.name, value, frozenset())
        try:
            if node.body is not None:
                value = self.of(node.body)
            elif isinstance(node.statements, Block):
                own |= {
                    name.simple or ""
                    for each in walk(node.statements)
                    if isinstance(each, Declared)
                    for name in each.names
                }
                outcome = self.run(node.statements)
                value = CONSTANT if outcome.returned is None else outcome.returned
            else:
                value = opaque_in(*map(self.flattened, self.state.values.values()))
        finally:
            self._depth -= 1
            inner, self.state = self.state, outer
        for outside in outer.values:
            if outside not in own and outside in inner.values:
                outer.values[outside] = inner.values[outside]
        return value


def _callee(node: Call) -> str:
    callee = node.callee
    if isinstance(callee, Member):
        return callee.name
    return callee.parts[-1].identifier if isinstance(callee, Name) else ""


def _asked(asked: Sum, value: Any) -> Any:
    """A value that is there where a condition says so."""
    if is_several(value):
        return tuple(_asked(asked, each) for each in value)
    if not isinstance(value, Sum) or value is ABSENT or asked == CONSTANT:
        return value
    return times(asked, value)


def _without(value: Any, parameter: str) -> Any:
    if is_several(value):
        return tuple(_without(each, parameter) for each in value)
    return without(value, parameter) if isinstance(value, Sum) else value


def _same(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return all(name in before and before[name] == value for name, value in after.items())


def _written(loop: Loop) -> frozenset[str]:
    """The variables that a loop may change."""
    found = set()
    for node in walk(loop.body):
        if isinstance(node, Name) and node.simple is not None:
            found.add(node.simple)
    return frozenset(found)
