"""Translates C++ expressions to Python expressions over torch, for the emitter and all interpreters.

The tree of a formula, with types and callees from :mod:`derivlint.cpp.expressions.inference`, becomes the text of one
Python expression. Variables keep their names (:func:`python_name` renames Python's reserved words), and have these
Python values:

===========================================  ========================================================================
C++                                          Python
===========================================  ========================================================================
``Tensor``, also an optional or undefined    ``torch.Tensor`` or ``None``
``TensorList``, ``std::vector<Tensor>``      a sequence of such; of a forward formula ``functional.Duals``
``variable_list grads``                      a sequence with one gradient, or ``None``, for every differentiable output
``Scalar``, ``SymInt``, ``double``, ...      ``int``, ``float``, ``bool`` or ``complex``
``IntArrayRef``, ``std::vector``, ...        a sequence; an absent ``std::optional`` of anything is ``None``
``TensorOptions``                            a ``dict`` with ``dtype``, ``layout`` and ``device``
``TypeAndSize``, ``TensorGeometry``          ``functional.TensorInfo``, ``functional.TensorGeometry``
``std::array<bool, N> grad_input_mask``      a sequence of ``bool``
``std::tuple``                               a ``tuple``
===========================================  ========================================================================

The text mentions ``torch``, ``math``, ``aten`` (``torch.ops.aten``) and ``F`` (:mod:`derivlint.functional`), whose
functions stand for the helpers of PyTorch's FunctionsManual.cpp.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from derivlint.cpp.cpp_type import (
    INT,
    INT64,
    SCALAR,
    SIZE,
    SYM_INT,
    TENSOR,
    UNKNOWN,
    UNKNOWN_VALUE,
    CppType,
    Value,
    cpp_type,
)
from derivlint.cpp.declarations.declaration import Function
from derivlint.cpp.expressions.conversion import FLOATS
from derivlint.cpp.operator_signatures import without_symint
from derivlint.emit.python.calls import called_operator
from derivlint.emit.python.spelling import (
    BINARY,
    CASTS,
    EMPTY_OF,
    LIBRARY,
    LIST_PROPERTIES,
    MATH,
    METHODS,
    NAMES,
    NO_METHOD,
    OPTIONS,
    PREDICATES,
    PROPERTIES,
    RECORDED,
    SAVED_BY,
    WRAPPERS,
    Precedence,
    literal,
    number,
    operator_parameters,
    packet,
    python_name,
    recorded,
)
from derivlint.formula import (
    Binary,
    BraceList,
    Call,
    Cast,
    Conditional,
    Expr,
    Index,
    Lambda,
    Member,
    Name,
    Number,
    String,
    Unary,
    unparenthesized,
)
from derivlint.formula.analysis import Analysis, position_of, tuple_access
from derivlint.operators.constants import constant_named, plain_spelling, scalar_type_named
from derivlint.schema import NativeFunction, NativeFunctions

__all__ = ["PythonExpression", "Typing", "Untranslatable", "python_name", "translate"]

DEVICE = cpp_type("Device")
#: The largest integer of any C++ type.
MAX_INTEGER = 2**64 - 1
INTEGRAL = frozenset({INT, INT64, SYM_INT, SIZE})


class PythonExpression(Struct, frozen=True):
    """A Python expression.

    Attributes:
        text: the expression, on one line.
        helpers: the functions of :mod:`derivlint.functional` that it calls.
        operators: the operators that it calls, by full name.
        names: the variables that it mentions, by their C++ names.
    """

    text: str
    helpers: frozenset[str]
    operators: frozenset[str]
    names: frozenset[str]


class Untranslatable(Struct, frozen=True):
    """The reason why an expression cannot be translated; ``start`` and ``end`` are the range of its cause."""

    reason: str
    start: int = 0
    end: int = 0


class Typing(Struct, frozen=True):
    """The known types of the nodes of a tree.

    Attributes:
        values: the C++ values of expressions.
        callees: the C++ functions that calls call.
    """

    values: Mapping[Expr, Value] = field(default_factory=dict)
    callees: Mapping[Expr, Function] = field(default_factory=dict)


class _CannotTranslateError(Exception):
    def __init__(self, reason: str, node: Expr) -> None:
        super().__init__(reason)
        self.result = Untranslatable(reason, node.start, node.end)


def translate(
    tree: Expr,
    natives: NativeFunctions,
    helpers: Mapping[str, str],
    typing: Typing | None = None,
    elements: frozenset[str] = frozenset(),
    unrecorded: frozenset[str] = frozenset(),
) -> PythonExpression | Untranslatable:
    """Translate a C++ expression to Python.

    Args:
        tree: the syntax tree of a formula.
        natives: the operators.
        helpers: the helpers available in Python, each with the name of its module,
            :func:`derivlint.emit.python.calls.helper_modules`.
        typing: the types of the tree's nodes and the functions that its calls call; without them overloads that share
            a number of arguments cannot be distinguished.
        elements: the variables that are lists in Python and stand for their element ``i``.
        unrecorded: the operators, by full name, that may lack an autograd kernel; differentiating their outputs raises.
    """
    translator = _Translator(natives, helpers, typing if typing is not None else Typing(), elements, unrecorded)
    try:
        text, _ = translator.of(tree)
    except _CannotTranslateError as error:
        return error.result
    return PythonExpression(
        text, frozenset(translator.used_helpers), frozenset(translator.used_operators), frozenset(translator.names)
    )


_Text = tuple[str, int]


class _Translator(Analysis[_Text]):
    """Translates a tree; the result of a node is text with the precedence of its outermost operator."""

    def __init__(
        self,
        natives: NativeFunctions,
        helpers: Mapping[str, str],
        typing: Typing,
        elements: frozenset[str],
        unrecorded: frozenset[str],
    ) -> None:
        super().__init__()
        self.elements = elements
        self.unrecorded = unrecorded
        self.natives = natives
        self.helpers = helpers
        self.typing = typing
        self.used_helpers: set[str] = set()
        self.used_operators: set[str] = set()
        self.names: set[str] = set()
        self.bound: list[str] = []

    def type_of(self, node: Expr) -> CppType:
        return self.typing.values.get(node, UNKNOWN_VALUE).type

    def text(self, node: Expr, least: int = Precedence.LOWEST) -> str:
        """The text of a node, parenthesized if its precedence is below ``least``."""
        text, precedence = self.of(node)
        return f"({text})" if precedence < least else text

    def helper(self, name: str) -> str:
        self.used_helpers.add(name)
        return f"{self.helpers.get(name, LIBRARY)}.{name}"

    def otherwise(self, node: Expr) -> _Text:
        raise _CannotTranslateError("there is no Python for this kind of expression", node)

    def number(self, node: Number) -> _Text:
        text = number(node)
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            # octal and hexadecimal fractions, user-defined suffixes, and overlong digits
            value = None
        if value is None or (isinstance(value, int) and value > MAX_INTEGER):
            shown = node.text if len(node.text) <= 40 else f"{node.text[:20]}..."
            raise _CannotTranslateError(f'there is no Python for the number "{shown}"', node)
        return text, Precedence.ATOM

    def string(self, node: String) -> _Text:
        return string(node), Precedence.ATOM

    def index(self, node: Index) -> _Text:
        indices = ", ".join(self.text(item) for item in node.args)
        return f"{self.text(node.object, Precedence.ATOM)}[{indices}]", Precedence.ATOM

    def conditional(self, node: Conditional) -> _Text:
        then, condition = self.text(node.then, Precedence.OR), self.text(node.condition, Precedence.OR)
        otherwise = self.text(node.otherwise, Precedence.CONDITIONAL)
        return f"{then} if {condition} else {otherwise}", Precedence.CONDITIONAL

    def braces(self, node: BraceList) -> _Text:
        return self.sequence(node.items), Precedence.ATOM

    def member(self, node: Member) -> _Text:
        raise _CannotTranslateError(f'there is no Python for the member "{node.name}"', node)

    def sequence(self, items: Sequence[Expr]) -> str:
        return f"[{', '.join(map(self.text, items))}]"

    # ---- names, casts, operators

    def name(self, node: Name) -> _Text:
        constant = constant_named(node) or scalar_type_named(node)
        if constant is not None:
            return constant.python, Precedence.ATOM
        spelling = NAMES.get(plain_spelling(node))
        if spelling is not None:
            return spelling, Precedence.ATOM
        if node.simple is None:
            raise _CannotTranslateError(f'there is no Python for "{node.spelling.removeprefix("::")}"', node)
        if node.simple not in self.bound:
            self.names.add(node.simple)
            if node.simple in self.elements:
                return f"{python_name(node.simple)}[i]", Precedence.ATOM
        return python_name(node.simple), Precedence.ATOM

    def cast(self, node: Cast) -> _Text:
        spelling = node.type.spelling
        function = CASTS.get(spelling.removeprefix("c10::").removeprefix("at::"))
        if function is None:
            raise _CannotTranslateError(f'there is no Python for a cast to "{spelling}"', node)
        return f"{function}({self.text(node.operand)})", Precedence.ATOM

    def lambda_(self, node: Lambda) -> _Text:
        parameters, body = self.lambda_parts(node)
        return f"lambda {parameters}: {body}", Precedence.LOWEST

    def lambda_parts(self, node: Lambda) -> tuple[str, str]:
        """The parameters and the body of a lambda."""
        if node.body is None:
            raise _CannotTranslateError("a function with several statements has no Python expression", node)
        names = [param.name or "_" for param in node.params]
        self.bound.extend(names)
        body = self.text(node.body)
        del self.bound[len(self.bound) - len(names) :]
        return ", ".join(map(python_name, names)), body

    def unary(self, node: Unary) -> _Text:
        if node.op == "!":
            inner = unparenthesized(node.operand)
            if isinstance(inner, Call) and isinstance(inner.callee, Member) and inner.callee.name in PREDICATES:
                return f"{self.text(inner.callee.object, Precedence.COMPARISON + 1)} is None", Precedence.COMPARISON
            return f"not {self.text(node.operand, Precedence.NOT)}", Precedence.NOT
        if node.op in ("-", "+", "~"):
            return f"{node.op}{self.text(node.operand, Precedence.UNARY)}", Precedence.UNARY
        if node.op == "*":
            # an optional is represented by its value
            return self.of(node.operand)
        raise _CannotTranslateError(f'there is no Python for the operator "{node.op}"', node)

    def binary(self, node: Binary) -> _Text:
        operation = BINARY.get(node.op)
        if operation is None:
            raise _CannotTranslateError(f'there is no Python for the operator "{node.op}"', node)
        operator, precedence = operation
        if node.op == "/" and self.type_of(node.left) in INTEGRAL and self.type_of(node.right) in INTEGRAL:
            operator = "//"
        # Python chains comparisons, and groups operators of equal precedence from the left
        left_operand = self.text(node.left, precedence + (precedence == Precedence.COMPARISON))
        return f"{left_operand} {operator} {self.text(node.right, precedence + 1)}", precedence

    # ---- calls

    def call(self, node: Call) -> _Text:
        callee = node.callee
        if isinstance(callee, Member):
            return self.method(node, callee)
        if isinstance(callee, Name):
            return self.function(node, callee)
        raise _CannotTranslateError("the callee is not a name", node)

    def method(self, node: Call, callee: Member) -> _Text:
        name = without_symint(callee.name)
        owner, args = callee.object, node.args
        kind = self.type_of(owner)
        if name in PREDICATES and not args:
            return f"{self.text(owner, Precedence.COMPARISON + 1)} is not None", Precedence.COMPARISON
        if name in ("value", "get") and not args:
            return self.of(owner)
        if name == "value_or":
            value = self.text(owner, Precedence.COMPARISON + 1)
            default = self.text(args[0], Precedence.CONDITIONAL)
            return f"{value} if {value} is not None else {default}", Precedence.CONDITIONAL
        receiver = self.text(owner, Precedence.ATOM)
        if name == "conj" and kind is SCALAR:
            return f"{receiver}.conjugate()", Precedence.ATOM
        if name in CASTS and not args:
            return f"{CASTS[name]}({self.text(owner)})", Precedence.ATOM
        if name == "isComplex":
            return f"isinstance({self.text(owner)}, complex)", Precedence.ATOM
        if name == "options" and not args:
            return f"{self.helper('options')}({self.text(owner)})", Precedence.ATOM
        if name == "sym_strides" and not args:
            return f"{self.helper('strides')}({self.text(owner)})", Precedence.ATOM
        if name == "size" and not args and kind not in (TENSOR, UNKNOWN):
            return f"len({self.text(owner)})", Precedence.ATOM
        if name == "back" and not args:
            return f"{receiver}[-1]", Precedence.ATOM
        if kind is DEVICE and name.startswith("is_"):
            return f'{receiver}.type == "{name.removeprefix("is_")}"', Precedence.COMPARISON
        if name in PROPERTIES and not args:
            return f"{receiver}.{PROPERTIES[name]}", Precedence.ATOM
        if name in METHODS:
            return f"{receiver}.{METHODS[name]}({', '.join(map(self.text, args))})", Precedence.ATOM
        if name == "suggest_memory_format":
            return f"{self.helper('memory_format')}({self.text(owner)})", Precedence.ATOM
        function = called_operator(node, name, owner, self.typing.callees.get(node), self.natives)
        if function is None and name == "to" and len(args) == 1:
            return f"{receiver}.to({self.text(args[0])})", Precedence.ATOM
        if function is None:
            raise _CannotTranslateError(f'there is no Python for the method "{callee.name}"', node)
        self.used_operators.add(str(function.name))
        parameters = operator_parameters(function, method=True)
        is_method = "method" in function.variants and not name.startswith("_") and name not in NO_METHOD
        if is_method and function.namespace == "aten":
            return f"{receiver}.{name}({', '.join(self.arguments(node, parameters, function))})", Precedence.ATOM
        rest = [self.text(owner), *self.arguments(node, parameters, function)]
        return f"{self.operator(function)}({', '.join(rest)})", Precedence.ATOM

    def operator(self, function: NativeFunction) -> str:
        if str(function.name) not in self.unrecorded:
            return packet(function)
        self.used_helpers.add(RECORDED)
        return recorded(function)

    def function(self, node: Call, callee: Name) -> _Text:
        spelling = callee.spelling.removeprefix("::")
        last = callee.parts[-1]
        base = last.identifier
        if base in LIST_PROPERTIES and len(node.args) == 1:
            return f"[{LIST_PROPERTIES[base]} for each in {self.text(node.args[0])}]", Precedence.ATOM
        special = self.special(node, callee, spelling)
        if special is not None:
            return special
        name = without_symint(base)
        function = called_operator(node, name, None, self.typing.callees.get(node), self.natives)
        if function is not None:
            self.used_operators.add(str(function.name))
            arguments = self.arguments(node, operator_parameters(function, method=False), function)
            return f"{self.operator(function)}({', '.join(arguments)})", Precedence.ATOM
        helper = base if base in self.helpers else name
        if helper not in self.helpers:
            raise _CannotTranslateError(f'there is no Python for "{spelling}"', node)
        return f"{self.helper(helper)}({', '.join(map(self.text, node.args))})", Precedence.ATOM

    def special(self, node: Call, callee: Name, spelling: str) -> _Text | None:
        """Translate constructors, casts and C++ functions; None for other functions."""
        base = callee.parts[-1].identifier
        args = node.args
        template = callee.parts[-1].template_args
        if base == "Tensor" and not args:
            return "None", Precedence.ATOM
        if base in ("tuple", "make_tuple"):
            if not args and template is not None:
                return f"({', '.join(['None'] * len(template))})", Precedence.ATOM
            return f"({', '.join(map(self.text, args))})", Precedence.ATOM
        access = tuple_access(node)
        if access is not None and (position := position_of(access[1])) is not None:
            return f"{self.text(access[0], Precedence.ATOM)}[{position}]", Precedence.ATOM
        if base == "vector" and len(args) == 1 and (self.type_of(args[0]) in INTEGRAL or _is_size(args[0])):
            return f"[None] * {self.text(args[0], Precedence.UNARY)}", Precedence.PRODUCT
        if base == "vector" and len(args) == 2:
            return f"[{self.text(args[1])}] * {self.text(args[0], Precedence.UNARY)}", Precedence.PRODUCT
        if base == "fmap" and len(args) == 2 and isinstance(args[1], Lambda) and len(args[1].params) == 1:
            parameters, body = self.lambda_parts(args[1])
            return f"[{body} for {parameters} in {self.text(args[0], Precedence.OR)}]", Precedence.ATOM
        if base == "fmap" and len(args) == 2:
            return f"list(map({self.text(args[1])}, {self.text(args[0])}))", Precedence.ATOM
        if base in SAVED_BY and args:
            return f"{self.helper(SAVED_BY[base])}({self.text(args[0])})", Precedence.ATOM
        if spelling.endswith("GradMode::is_enabled"):
            return "torch.is_grad_enabled()", Precedence.ATOM
        if base == "complex" and template is not None and len(args) == 2:
            return f"complex({', '.join(map(self.text, args))})", Precedence.ATOM
        if base in WRAPPERS:
            return (EMPTY_OF.get(base, "None"), Precedence.ATOM) if not args else self.of(args[0])
        if base in CASTS and template is None and len(args) == 1 and base == spelling:
            return f"{CASTS[base]}({self.text(args[0])})", Precedence.ATOM
        kinds = {self.type_of(item) for item in args}
        if base in MATH and (spelling.startswith("std::") or kinds <= FLOATS | INTEGRAL):
            return f"math.{base}({', '.join(map(self.text, args))})", Precedence.ATOM
        return None

    def arguments(self, node: Call, parameters: Sequence[str], function: NativeFunction) -> list[str]:
        """The arguments of an operator call in Python."""
        keywords = {argument.name for argument in function.schema.arguments.flat_kwarg_only}
        types = {argument.name: str(argument.type) for argument in function.schema.arguments.flat_all}
        passed = []
        for parameter, item in zip(parameters, node.args, strict=False):
            if parameter == OPTIONS:
                passed.append(f"**{self.text(item, Precedence.UNARY)}")
                continue
            value = unparenthesized(item)
            if isinstance(value, BraceList) and len(value.items) == 1 and isinstance(value.items[0], BraceList):
                # "{{0, 0}}" makes a list of two
                value = value.items[0]
            if types[parameter].startswith(("Tensor?[", "Tensor[")) and isinstance(value, BraceList):
                text = self.sequence(value.items)
            else:
                text = self.text(value)
            passed.append(f"{parameter}={text}" if parameter in keywords else text)
        return passed


def _is_size(node: Expr) -> bool:
    """Whether an expression is a call for a size."""
    return isinstance(node, Call) and isinstance(node.callee, Member) and node.callee.name == "size" and not node.args


def string(node: String) -> str:
    """A C++ string literal as a Python literal."""
    try:
        value = ast.literal_eval(f"({node.text})")
    except (ValueError, SyntaxError):
        raise _CannotTranslateError("the string is not valid in Python", node) from None
    return literal(str(value))
