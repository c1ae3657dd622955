"""The nodes of a formula's syntax tree.

Every node has ``start`` and ``end``, offsets into the formula's text, and ``children``, its child nodes in source
order. Nodes compare by identity and are immutable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct


class Node(Struct, eq=False, tag=True, tag_field="node", array_like=True):
    """A node of the tree: an expression, or a type in template arguments or a cast."""

    start: int
    end: int

    @property
    def children(self) -> tuple[Node, ...]:
        """The child nodes, in source order."""
        return ()


class Expr(Node, eq=False):
    """An expression."""


class TypeName(Node, eq=False):
    """A type in template arguments or a cast, such as ``const at::Tensor&``.

    Attributes:
        names: its identifiers, including ``const`` and the like.
        spelling: the text with normalized blanks.
    """

    names: tuple[Name, ...]
    spelling: str

    @property
    def children(self) -> tuple[Node, ...]:
        """The names in the type."""
        return self.names


class NamePart(Struct, eq=False, array_like=True):
    """One segment of a qualified name: ``get<1>`` of ``std::get<1>``.

    Attributes:
        identifier: the identifier, ``get``.
        start: where the identifier begins.
        end: where the segment ends, after its template arguments.
        template_args: the template arguments, or None without angle brackets.
    """

    identifier: str
    start: int
    end: int
    template_args: tuple[Number | TypeName, ...] | None = None


class Name(Expr, eq=False):
    """A name: ``x``, ``at::real``, ``std::get<1>``; ``true``, ``nullptr`` and ``this`` are names too.

    Attributes:
        parts: the segments between ``::``.
        leading_colons: whether it begins with ``::``.
        simple: the identifier if the name is nothing else, or None.
    """

    parts: tuple[NamePart, ...]
    leading_colons: bool
    simple: str | None

    @property
    def spelling(self) -> str:
        """The name without blanks, ``std::vector<c10::SymInt>``."""
        segments = []
        for part in self.parts:
            if part.template_args is None:
                segments.append(part.identifier)
            else:
                arguments = ", ".join(argument.spelling for argument in part.template_args)
                segments.append(f"{part.identifier}<{arguments}>")
        return ("::" if self.leading_colons else "") + "::".join(segments)

    @property
    def children(self) -> tuple[Node, ...]:
        """The template arguments of all segments."""
        if self.simple is not None:
            return ()
        return tuple(argument for part in self.parts for argument in part.template_args or ())


class Number(Expr, eq=False):
    """A number, ``0.5``, ``1e-5f`` or ``2L``."""

    text: str

    @property
    def spelling(self) -> str:
        """The number as written."""
        return self.text

    @property
    def is_zero(self) -> bool:
        """Whether it is zero, ``0`` or ``0.0f``."""
        digits = self.text.lower().rstrip("flu")
        return bool(digits) and not digits.strip("0.")


class String(Expr, eq=False):
    """A string literal, or several adjacent ones, which C++ joins; ``text`` is the source with its quotes."""

    text: str


class Char(Expr, eq=False):
    """A character literal; ``text`` is the source with its quotes."""

    text: str


class Call(Expr, eq=False):
    """A call, ``f(x, y)`` or ``x.f(y)``; a functional cast ``double(x)`` looks just like it."""

    callee: AnyExpr
    args: tuple[AnyExpr, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        """The callee and the arguments."""
        return (self.callee, *self.args)


class Member(Expr, eq=False):
    """A member access, ``x.name``, ``x->name`` or ``x.name<T>``."""

    object: AnyExpr
    name: str
    name_start: int
    name_end: int
    arrow: bool
    template_args: tuple[Number | TypeName, ...] | None = None

    @property
    def children(self) -> tuple[Node, ...]:
        """The object and the template arguments."""
        return (self.object, *(self.template_args or ()))


class Index(Expr, eq=False):
    """A subscript, ``x[i]``."""

    object: AnyExpr
    args: tuple[AnyExpr, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        """The object and the arguments."""
        return (self.object, *self.args)


class Unary(Expr, eq=False):
    """A prefix operator with its operand: one of ``! ~ + - * & ++ --``."""

    op: str
    operand: AnyExpr

    @property
    def children(self) -> tuple[Node, ...]:
        """The operand."""
        return (self.operand,)


class Postfix(Expr, eq=False):
    """``x++`` or ``x--``."""

    op: str
    operand: AnyExpr

    @property
    def children(self) -> tuple[Node, ...]:
        """The operand."""
        return (self.operand,)


class Cast(Expr, eq=False):
    """A cast in the notation of C, ``(double) x``."""

    type: TypeName
    operand: AnyExpr

    @property
    def children(self) -> tuple[Node, ...]:
        """The type and the operand."""
        return (self.type, self.operand)


class Binary(Expr, eq=False):
    """Two operands with an operator between, assignments included; ``and`` is spelled ``&&`` here, ``or`` ``||``."""

    op: str
    op_start: int
    left: AnyExpr
    right: AnyExpr

    @property
    def children(self) -> tuple[Node, ...]:
        """The left and the right operand."""
        return (self.left, self.right)


class Conditional(Expr, eq=False):
    """``condition ? then : otherwise``; ``question`` is the offset of the question mark."""

    question: int
    condition: AnyExpr
    then: AnyExpr
    otherwise: AnyExpr

    @property
    def children(self) -> tuple[Node, ...]:
        """The condition and the two branches."""
        return (self.condition, self.then, self.otherwise)


class Parenthesized(Expr, eq=False):
    """An expression in parentheses; the parentheses belong to the node."""

    inner: AnyExpr

    @property
    def children(self) -> tuple[Node, ...]:
        """The expression in the parentheses."""
        return (self.inner,)


class BraceList(Expr, eq=False):
    """A braced list, ``{1, 2}``."""

    items: tuple[AnyExpr, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        """The items."""
        return self.items


class Construct(Expr, eq=False):
    """An object built with braces, ``std::vector<int64_t>{1, 2}``."""

    type: Name
    braces: BraceList

    @property
    def children(self) -> tuple[Node, ...]:
        """The type's name and the braced list."""
        return (self.type, self.braces)


if TYPE_CHECKING:
    AnyExpr = Expr
else:
    #: The classes of expressions that are serialized.
    _Leaf = Name | Number | String | Char
    _Operation = Unary | Postfix | Cast | Binary | Conditional | Parenthesized
    AnyExpr = _Leaf | _Operation | Call | Member | Index | BraceList | Construct


class LambdaParam(Struct, eq=False):
    """A parameter of a lambda.

    Attributes:
        start: where its declaration begins, with the type.
        end: where its declaration ends.
        name: its name, empty if it has none.
        name_start: where the name begins; the end where there is no name.
        name_end: where the name ends.
        type_start: where the type begins.
        type_end: where the type ends.
    """

    start: int
    end: int
    name: str
    name_start: int
    name_end: int
    type_start: int
    type_end: int


class Lambda(Expr, eq=False):
    """A lambda, ``[](int64_t i) { return -i; }``.

    Attributes:
        capture_start: where the opening bracket of the captures is.
        capture_end: after their closing bracket.
        params: the parameters.
        body: the returned expression, where the body is a single ``return``; else None.
        uses: the names of variables outside that the captures and a body of several statements mention.
        types: the names in the types of its parameters and variables, and of its result.
        statements: a body of several statements.
    """

    capture_start: int
    capture_end: int
    params: tuple[LambdaParam, ...]
    body: Expr | None
    uses: tuple[Name, ...]
    types: tuple[Name, ...] = ()
    statements: Block | None = None

    @property
    def children(self) -> tuple[Node, ...]:
        """The outside names that are mentioned, and the body."""
        return self.uses if self.body is None else (*self.uses, self.body)


class Statement(Node, eq=False):
    """A statement in the body of a function or of a lambda."""


class Empty(Statement, eq=False):
    """A lone semicolon."""


class Block(Statement, eq=False):
    """A sequence of statements: a block in braces, or the body of a function without its braces."""

    statements: tuple[Statement, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        """The statements."""
        return self.statements


class ExpressionStatement(Statement, eq=False):
    """An expression as a statement: a call or an assignment; ``x = {a, b}`` has a braced list on the right."""

    expression: Expr

    @property
    def children(self) -> tuple[Node, ...]:
        """The expression."""
        return (self.expression,)


class Declared(Node, eq=False):
    """A declared variable with its initializer; ``auto [a, b] = f()`` declares two at once.

    Attributes:
        names: the variables: several of a structured binding.
        type_words: the identifiers of the type, ``const`` and the like included.
        is_binding: whether it is a structured binding.
        is_reference: whether it is a reference or a pointer.
        value: the expression after ``=``, or None.
        arguments: the arguments in parentheses or braces after the name, or None.
    """

    names: tuple[Name, ...]
    type_words: tuple[str, ...]
    is_binding: bool
    is_reference: bool
    value: Expr | None = None
    arguments: tuple[Expr, ...] | None = None

    @property
    def children(self) -> tuple[Node, ...]:
        """The names and what follows them."""
        return (*self.names, *(() if self.value is None else (self.value,)), *(self.arguments or ()))


class Declaration(Statement, eq=False):
    """A statement that declares variables."""

    declared: tuple[Declared, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        """The variables."""
        return self.declared


class ReturnStatement(Statement, eq=False):
    """``return``, with a value or without."""

    value: Expr | None

    @property
    def children(self) -> tuple[Node, ...]:
        """The value."""
        return () if self.value is None else (self.value,)


class Jump(Statement, eq=False):
    """``break`` or ``continue``."""


class If(Statement, eq=False):
    """``if (condition) then else otherwise``."""

    condition: Expr
    then: Statement
    otherwise: Statement | None

    @property
    def children(self) -> tuple[Node, ...]:
        """The condition and the branches."""
        return (self.condition, self.then, *(() if self.otherwise is None else (self.otherwise,)))


class Loop(Statement, eq=False):
    """A loop: ``for (variable : over) body``, ``for (begin; condition; step) body`` or ``while (condition) body``.

    Attributes:
        begin: the initialization.
        variable: the variable of a range.
        over: the range.
        condition: the condition.
        step: the step after each iteration.
        body: the body.
    """

    begin: Statement | None
    variable: Declared | None
    over: Expr | None
    condition: Expr | None
    step: Expr | None
    body: Statement

    @property
    def children(self) -> tuple[Node, ...]:
        """All parts that it has, in source order."""
        parts = (self.begin, self.variable, self.over, self.condition, self.step, self.body)
        return tuple(part for part in parts if part is not None)


class UnknownStatement(Statement, eq=False):
    """A statement outside of the grammar.

    Attributes:
        names: the identifiers in it.
        may_return: whether there is a ``return`` in it.
    """

    names: tuple[Name, ...]
    may_return: bool

    @property
    def children(self) -> tuple[Node, ...]:
        """The identifiers."""
        return self.names


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, parents first, in source order."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        children = node.children
        if children:
            stack += children[::-1]


def unparenthesized(node: Expr) -> Expr:
    """The expression without its outer parentheses."""
    while isinstance(node, Parenthesized):
        node = node.inner
    return node


#: Deeper trees are rejected: code that walks a tree may recurse with at most four frames a level, which leaves half of
#: Python's limit to its callers. PyTorch's deepest formula has 15 levels, its deepest function 20.
MAX_DEPTH = 120


class Tree(Protocol):
    """A node of any tree."""

    @property
    def children(self) -> Sequence[Tree]:
        """The child nodes."""


def depth(node: Tree) -> int:
    """The number of levels a tree has: 1 for a node without children."""
    deepest = 0
    stack: list[tuple[Tree, int]] = [(node, 1)]
    while stack:
        node, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((child, level + 1) for child in node.children)
    return deepest
