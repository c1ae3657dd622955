"""Evaluation of the expressions of a body: calls of operators, lambdas, and functions of the same file."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from derivlint.bodies.values import (
    ASSIGNS,
    SEVERAL,
    TRANSPARENT,
    Closure,
    Functions,
    NeverError,
    StatementEnd,
    Values,
)
from derivlint.cpp.declarations.definitions import FunctionDefinition
from derivlint.cpp.operator_signatures import base_name
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
    TypeName,
    Unary,
    unparenthesized,
    walk,
)
from derivlint.formula.analysis import tuple_access
from derivlint.formula.nodes import (
    Block,
    Declared,
    Statement,
)
from derivlint.operators.book import Book
from derivlint.operators.reference.derived import derived
from derivlint.operators.reference.sums import (
    ABSENT,
    CONSTANT,
    ZERO,
    Sum,
    SumTerm,
    added,
    applied,
    is_several,
    item_of,
    known_call,
    made,
    opaque_in,
    possible_branches,
    times,
)
from derivlint.operators.special import METADATA_MEMBERS, RAISING

#: The nesting levels charged for a call of a lambda or of a function that takes one, which needs more Python frames.
CALL = 2
#: Functions whose result does not depend on values: tests of the kind of a tensor or number.
_QUESTION = re.compile(r"_?is_\w+|is[A-Z]\w*|are(?:Any|All|_)\w*|\w+_is_\w+|\w*wrap_dim\w*|result_type")
_CONVERSION = re.compile(r"to[A-Z]\w*|guard_int|item|c?r?(?:begin|end)")
#: Functions that apply another one to each item of a list.
_MAPS = frozenset({"fmap", "transform"})
#: Methods of ``std::vector`` that add an item; ``sizes`` has its own list.
_ADDS_ITEM = frozenset({"push_back", "emplace_back", "insert"})
_NONE: frozenset[str] = frozenset()
#: Nodes that pass gradients on and only raise when differentiated again.
_ERRORS_LATER = frozenset({"DelayedError"})
#: Functions whose result is uninitialized or empty.
_UNWRITTEN = Book.by_hand("uninitialized")
#: NaN: values computed from it are NaN, and do not count against linearity.
_NOT_A_NUMBER = frozenset({"quiet_NaN", "NAN"})
#: Assertions: their arguments are conditions, which do not affect values.
_CHECKS = (
    "TORCH_CHECK",
    "TORCH_INTERNAL_ASSERT",
    "TORCH_WARN",
    "AT_ASSERT",
    "C10_",
    "AT_ERROR",
    "TORCH_CHECK_NOT_IMPLEMENTED",
)


class Expressions(Values):
    """An evaluator of the expressions of a body."""

    def __init__(self, parameters: Mapping[str, Sum], seeds: frozenset[str], functions: Functions, nested: int) -> None:
        """Make an evaluator, see :func:`derivlint.bodies.following.execute`."""
        super().__init__(parameters, seeds, functions, nested)
        self._depth = 0

    @abstractmethod
    def run(self, statement: Statement) -> StatementEnd:
        """Run a statement."""

    def otherwise(self, node: Expr) -> Any:
        """Evaluate any other kind of expression as a constant."""
        return CONSTANT

    def name(self, node: Name) -> Any:
        """Evaluate a variable."""
        if node.simple is not None:
            if node.simple in self.state.values:
                return self.state.values[node.simple]
            return ABSENT if node.simple in ("nullopt", "nullptr") else CONSTANT
        return ABSENT if node.parts[-1].identifier == "nullopt" else CONSTANT

    def number(self, node: Number) -> Any:
        """Evaluate a literal."""
        return ZERO if node.is_zero else CONSTANT

    def unary(self, node: Unary | Postfix) -> Any:
        """Evaluate a unary operator."""
        operand = self.of(node.operand)
        if node.op in ("*", "&"):
            return operand
        if node.op in ("++", "--"):
            return CONSTANT
        value = self.flattened(operand)
        return self._curved(value) if node.op in ("!", "~") else value

    postfix = unary

    def cast(self, node: Cast) -> Any:
        """Evaluate the operand of a cast."""
        return self.of(node.operand)

    def binary(self, node: Binary) -> Any:
        """Evaluate a binary operator or an assignment."""
        if node.op in ASSIGNS:
            return self._assign(node.left, node.op, self.of(node.right), node.right)
        first, second = self.sum(node.left), self.sum(node.right)
        if node.op in ("+", "-"):
            return added(first, second)
        self._spend((first, second))
        if node.op == "*":
            return times(first, second)
        if node.op == "/":
            return self._quotient(first, second)
        if node.op == ",":
            return second
        return self._curved(first, second)

    def conditional(self, node: Conditional) -> Any:
        """Evaluate a conditional expression."""
        condition = self.sum(node.condition)
        cases = possible_branches(node, self.of, NeverError)
        if len(cases) == 1:
            return cases[0]
        return self._choice(node.condition, condition, cases[0], cases[1])

    def braces(self, node: BraceList) -> Any:
        """Evaluate a braced list."""
        return tuple(map(self.of, node.items)) if node.items else ABSENT

    def construct(self, node: Construct) -> Any:
        """Evaluate the arguments of a constructed object."""
        return self.of(node.braces)

    def index(self, node: Index) -> Any:
        """Evaluate a subscript: an item of a list, or a part of a tensor."""
        if len(node.args) != 1:
            return opaque_in(self.sum(node.object))
        self.of(node.args[0])
        held = self.of(node.object)
        if is_several(held):
            return item_of(tuple(map(self.flattened, held)), node.args[0])
        return self.flattened(held)

    def member(self, node: Member) -> Any:
        """Evaluate a member of an object other than a tensor."""
        return self.flattened(self.of(node.object))

    def lambda_(self, node: Lambda) -> Any:
        """Return the closure of a lambda, whose body runs when it is called."""
        return Closure(node)

    # ---- calls

    def call(self, node: Call) -> Any:
        """Evaluate a call."""
        callee = node.callee
        if isinstance(callee, Member):
            return self._method(node, callee)
        if isinstance(callee, Parenthesized):
            inner = callee.inner
            held = self.of(inner)
            return self._apply(held, node.args)
        if isinstance(callee, Lambda):
            return self._apply(Closure(callee), node.args)
        if not isinstance(callee, Name):
            return opaque_in(*(self.sum(argument) for argument in node.args), self.sum(callee))
        held = self.state.values.get(callee.simple or "")
        if isinstance(held, Closure):
            return self._apply(held, node.args)
        if held is not None:
            # a called object: a functor, a std::function
            return opaque_in(self.flattened(held), *(self.sum(argument) for argument in node.args))
        return self._function(node, callee)

    def _method(self, node: Call, callee: Member) -> Any:
        name = callee.name
        base = base_name(name)
        if base in METADATA_MEMBERS or (name == "empty" and not node.args):
            self._look(callee.object, *node.args)
            return CONSTANT
        held = self.of(callee.object)
        if isinstance(held, Closure) and name == "apply":
            return self._apply(held, node.args)
        if name in _ADDS_ITEM and node.args:
            for argument in node.args:
                self._write_part(callee.object, self.sum(argument), is_sum=True)
            return CONSTANT
        if name in TRANSPARENT and not node.args:
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
        """Evaluate expressions for their side effects only."""
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
                raise NeverError
            return CONSTANT
        if name in RAISING:
            raise NeverError
        if name in _NOT_A_NUMBER:
            return ZERO
        if name.isupper():
            return self._macro(node)
        types = callee.parts[-1].template_args
        if types and isinstance(types[0], TypeName) and types[0].spelling in _ERRORS_LATER:
            return Closure(None)
        if name in _MAPS and len(node.args) >= 2:
            held = self.of(node.args[-1])
            if isinstance(held, Closure):
                return self._applied(held, [self.sum(argument) for argument in node.args[:-1]])
        if name in SEVERAL:
            return tuple(self.of(argument) for argument in node.args)
        if not node.args and name in ("Tensor", "Variable", "nullopt", "TensorList", "variable_list"):
            return ABSENT
        if name in TRANSPARENT:
            values = [self.of(argument) for argument in node.args]
            return values[0] if len(values) == 1 else opaque_in(*map(self.flattened, values)) if values else ABSENT
        values = [self.of(argument) for argument in node.args]
        owner = callee.parts[0].identifier if len(callee.parts) > 1 else ""
        is_own = owner not in ("at", "std", "c10") and self._functions.has(name)
        if any(isinstance(value, Closure) for value in values):
            definition = self._functions.definition(name, len(values)) if is_own else None
            return self._higher_order(values) if definition is None else self._inlined(definition, values)
        value = self._known(name, list(map(self.flattened, values)), is_own=is_own)
        if name.endswith(("_out", "_")) and not name.endswith("__") and node.args and not is_own:
            self._write_part(node.args[0], self.flattened(value))
        return value

    def _higher_order(self, values: list[Any]) -> Any:
        """Approximate an unknown function that takes lambdas: its value may depend on their results."""
        return opaque_in(
            *(
                self.flattened(self._applied(value, [opaque_in(*map(self.flattened, values))] * len(value.node.params)))
                if isinstance(value, Closure) and value.node is not None
                else self.flattened(value)
                for value in values
            )
        )

    def _inlined(self, definition: FunctionDefinition, values: list[Any]) -> Any:
        """Execute the body of a function of the same file that takes a lambda."""
        self.budget.enter(CALL)
        self._depth += 1
        outer = self.state
        named = [param.name for param in definition.params]
        # the lambda captures the variables around it
        self.state = outer.copy()
        for name, value in zip(named, values, strict=False):
            self._bind(name, value, _NONE)
        try:
            returned = self.run(definition.body).returned
        finally:
            self._depth -= 1
            self.budget.nested -= CALL
            self.state = outer
        return CONSTANT if returned is None else returned

    def _macro(self, node: Call) -> Any:
        """Execute the lambda in a macro such as ``AT_DISPATCH_FLOATING_TYPES``."""
        value: Any = CONSTANT
        for argument in node.args:
            held = self.of(argument)
            if isinstance(held, Closure):
                value = self._applied(held, [])
        return value

    def _known(self, name: str, arguments: list[Sum], *, is_own: bool) -> Any:
        self._spend(arguments)
        if is_own:
            value = self._functions.value(name, arguments, self.budget.nested)
            if value is not None:
                return value
        base = base_name(name)
        is_question = base in METADATA_MEMBERS or base in Book.by_hand("reads-metadata") or _QUESTION.fullmatch(base)
        if is_question or not arguments:
            return CONSTANT
        if base in _UNWRITTEN:
            return ZERO
        if _CONVERSION.fullmatch(base):
            return arguments[0]
        if base == "value_or":
            return self._either(CONSTANT, arguments[0], arguments[-1])
        result = known_call(base, arguments)
        if result is None:
            derivation = derived(base)
            if derivation is not None and len(arguments) <= len(derivation.parameters):
                return self._unsure(applied(derivation, arguments), arguments)
            if all(not value.all for value in arguments):
                # a function of constants is constant
                return CONSTANT
            return opaque_in(*arguments)
        return self._unsure(result, arguments)

    def _unsure(self, value: Any, arguments: list[Sum]) -> Any:
        """Mark new nonlinearity in a seed as uncertain unless several arguments depend on the seed."""
        if is_several(value):
            return tuple(self._unsure(item, arguments) for item in value)
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
        if not isinstance(held, Closure):
            return opaque_in(self.flattened(held), *map(self.flattened, values))
        return self._applied(held, values)

    def _applied(self, held: Closure, values: list[Any]) -> Any:
        """Call a lambda; its assignments to outside variables take effect."""
        node = held.node
        if node is None:
            return values[0] if len(values) == 1 else tuple(values)
        self.budget.enter(CALL)
        self._depth += 1
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
                    for node_inside in walk(node.statements)
                    if isinstance(node_inside, Declared)
                    for name in node_inside.names
                }
                outcome = self.run(node.statements)
                value = CONSTANT if outcome.returned is None else outcome.returned
            else:
                value = opaque_in(*map(self.flattened, self.state.values.values()))
        finally:
            self._depth -= 1
            self.budget.nested -= CALL
            inner, self.state = self.state, outer
        for outside in outer.values:
            if outside not in own and outside in inner.values:
                outer.values[outside] = inner.values[outside]
        return value
