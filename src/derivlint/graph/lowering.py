"""Lower C++ formulas to nodes: evaluate syntax trees over graph values."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from inspect import signature

from derivlint.cpp.operator_signatures import functional, without_symint
from derivlint.formula import (
    Binary,
    BraceList,
    Call,
    Cast,
    Conditional,
    Expr,
    Formula,
    Index,
    Member,
    Name,
    Number,
    String,
    Unary,
    walk,
)
from derivlint.formula.analysis import FAILURES, Analysis, not_understood, position_of, tuple_access
from derivlint.formula.vocabulary import words
from derivlint.graph.builder import Builder, Item, TensorOptions
from derivlint.graph.built_in_helpers import BUILT_IN
from derivlint.graph.ir import Graph, GraphValue
from derivlint.graph.numbers import read_number
from derivlint.graph.operators import GraphOperators
from derivlint.graph.types import FLOAT, INT, GraphError, GraphType, UnknownOperatorError, complex_tensor, list_of
from derivlint.operators.constants import constant_named, scalar_type_named
from derivlint.operators.reference.definitions import Definition, helper_named, tree_of
from derivlint.operators.special import RAISING

#: Calls that return their first argument.
TRANSPARENT = words(
    "double Scalar Tensor c10::SymInt c10::Scalar at::Scalar int64_t std::optional<Tensor> IntArrayRef SymInt bool "
    "c10::SymIntArrayRef c10::fromIntArrayRefSlow wrap_opt_if std::move at::IntArrayRef std::vector<Tensor> "
    "std::optional<at::Tensor> toTensorOptionsForDevice expect_int asIntArrayRefUnchecked C10_AS_INTARRAYREF_SLOW "
    "wrapped_scalar_tensor"
)
#: Methods that return their object.
IDENTITIES = words(
    "vec to_vec value toDouble toTensor unpack contiguous item guard_int expect_int detach_unless resolve_conj"
)
MAX_DEPTH = 40


class Lowering:
    """Lowers formulas to nodes.

    Attributes:
        builder: the builder of nodes.
    """

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._depth = 0

    def evaluate(self, formula: Formula, names: Mapping[str, Item]) -> Item:
        """Lower a formula to nodes.

        Raises:
            GraphError: it calls an unsupported function.
        """
        if formula.tree is None:
            text = formula.text if len(formula.text) <= 80 else f"{formula.text[:60]}..."
            detail = f": {formula.problems[0].message}" if formula.problems else ""
            raise GraphError(f'"{text}" cannot be read{detail}')
        return self.expression(formula.tree, names)

    def expression(self, node: Expr, names: Mapping[str, Item]) -> Item:
        """Lower an expression to nodes.

        Raises:
            GraphError: it calls an unsupported function, or passes unsupported arguments.
        """
        evaluation = _Evaluation(self, names)
        try:
            return evaluation.of(node)
        except FAILURES as error:
            not_understood(error)
            # innermost parts first
            unknown = (part for part in reversed(list(walk(node))) if part not in evaluation.found)
            part = next((part for part in unknown if isinstance(part, (Call, Binary, Unary))), node)
            raise GraphError(f"{_described(part)} is not supported in graphs for these operands") from error

    def function(self, name: str, arguments: Sequence[Item]) -> Item:
        """Call a helper or an operator by its C++ name."""
        if name in RAISING:
            raise GraphError("the derivative is not implemented")
        built_in = BUILT_IN.get(name)
        if built_in is not None:
            required, most = _parameters(built_in)
            if not required <= len(arguments) <= most:
                counts = (
                    required if most == required else f"{required} {'or more' if most == sys.maxsize else f'or {most}'}"
                )
                raise GraphError(f'"{name}" takes {counts} arguments here, not {len(arguments)}')
            return built_in(self.builder, *arguments)
        name = without_symint(name)
        if name in _NUMERIC and not any(isinstance(item, GraphValue) for item in arguments):
            return _NUMERIC[name](*arguments)
        definition = helper_named(name)
        if definition is not None:
            return self.helper(definition, arguments)
        # an in-place call on a new tensor
        bare = functional(name)
        if not self.builder.operators.exists(bare):
            raise UnknownOperatorError(f'the helper "{name}" is opaque', bare)
        return self.builder.call(bare, arguments)

    def helper(self, definition: Definition, arguments: Sequence[Item]) -> Item:
        """Lower a call of a helper by its definition."""
        if len(arguments) > len(definition.parameters):
            count = len(definition.parameters)
            raise GraphError(f'the helper "{definition.name}" takes {count} arguments here, not {len(arguments)}')
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                raise GraphError(f'the helper "{definition.name}" calls itself')
            return self.expanded(definition, arguments)
        finally:
            self._depth -= 1

    def expanded(self, definition: Definition, arguments: Sequence[Item]) -> Item:
        """Lower a definition with arguments; missing ones get their defaults or are absent."""
        names: dict[str, Item] = dict.fromkeys(definition.parameters)
        names.update((name, self.expression(tree_of(text), {})) for name, text in definition.defaults.items())
        names.update(zip(definition.parameters, arguments, strict=False))
        evaluation = _Evaluation(self, names)
        for part, tree in definition.trees:
            names[part] = evaluation.of(tree)
        return names[""]

    def method(self, held: Item, name: str, arguments: list[Item]) -> Item:
        """Call a method by its C++ name."""
        builder = self.builder
        if name in ("defined", "has_value"):
            return held is not None
        if name in IDENTITIES and not arguments:
            return held
        if name == "value_or":
            return arguments[0] if held is None else held
        if name in ("conj", "resolve_conj") and not is_complex(held):
            # the identity for real numbers
            return held
        if isinstance(held, list):
            if name == "size":
                return len(held)
            if name == "empty":
                return not held
        if name == "equal" and not (isinstance(held, GraphValue) and held.type.is_tensor):
            return builder.binary("==", held, arguments[0])
        if isinstance(held, (int, float)):
            return self._of_number(held, name)
        if isinstance(held, TensorOptions) and name in ("dtype", "device", "layout"):
            return held
        if not isinstance(held, GraphValue):
            raise GraphError(f'"{name}" cannot be applied to an absent value')
        if not held.type.is_tensor:
            return self._of_value(held, name)
        return self._of_tensor(held, name, arguments)

    def _of_number(self, held: float, name: str) -> Item:
        if name in ("isComplex", "isFloatingPoint", "isIntegral", "isBoolean"):
            return {
                "isFloatingPoint": isinstance(held, float),
                "isIntegral": isinstance(held, int),
                "isBoolean": isinstance(held, bool),
                "isComplex": False,
            }[name]
        if name == "log":
            if held <= 0:
                raise GraphError(f"the logarithm of {held} is not a number")
            return math.log(held)
        if name in ("to", "toInt", "toLong", "toFloat", "conj"):
            return held
        raise GraphError(f'"{name}" is not defined for a number')

    def _of_value(self, held: GraphValue, name: str) -> Item:
        if name == "size":
            return self.builder.node("aten::len", [held], [INT]).output
        if name == "log":
            return self.builder.node("aten::log", [held], [FLOAT]).output
        if name in ("isComplex", "is_complex"):
            return False
        if name in ("to", "toInt", "toLong", "conj"):
            return held
        raise GraphError(f'"{name}" is not defined for a {held.type}')

    def _of_tensor(self, held: GraphValue, name: str, arguments: list[Item]) -> Item:
        builder = self.builder
        name = name.removeprefix("sym_") if name.removeprefix("sym_") in ("sizes", "size", "numel") else name
        if name == "sizes":
            return builder.sizes(held)
        if name in ("strides", "sym_strides", "layout", "device"):
            # formulas use these only for layouts other than strided
            return None
        if name == "size":
            return builder.size(builder.sizes(held), arguments[0])
        if name in ("dim", "ndimension"):
            return builder.rank(held)
        if name == "numel":
            return builder.node("aten::numel", [held], [INT]).output
        if name in ("scalar_type", "dtype"):
            return builder.dtype(held)
        if name == "options":
            return TensorOptions(held)
        if name == "is_complex":
            return held.type.is_complex
        if name in _FALSE:
            return False
        if name == "to" and len(arguments) == 1:
            return self._to(held, arguments[0])
        if name == "mH" and not held.type.is_complex:
            name = "mT"
        if name in ("mT", "t") and not builder.operators.exists(name):
            return builder.call("transpose", [held, -2, -1])
        return self.function(name, [held, *arguments])

    def _to(self, held: GraphValue, target: Item) -> Item:
        builder = self.builder
        if isinstance(target, TensorOptions):
            target = builder.dtype(target.of)
        return builder.call("to.dtype", [held, target])


@cache
def _parameters(function: Callable[..., Item]) -> tuple[int, int]:
    """The minimum and maximum number of arguments of a helper, without the builder."""
    parameters = list(signature(function).parameters.values())[1:]
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return sum(parameter.kind is not parameter.VAR_POSITIONAL for parameter in parameters), sys.maxsize
    return sum(parameter.default is parameter.empty for parameter in parameters), len(parameters)


def _described(node: Expr) -> str:
    """Format an expression for messages."""
    if isinstance(node, (Binary, Unary)):
        return f'the operator "{node.op}"'
    callee = node.callee if isinstance(node, Call) else node
    if isinstance(callee, Member):
        return f'"{callee.name}"'
    return f'"{callee.spelling}"' if isinstance(callee, Name) else "an expression"


class _Evaluation(Analysis[Item]):
    """Evaluates expressions under bindings of names."""

    def __init__(self, lowering: Lowering, names: Mapping[str, Item]) -> None:
        super().__init__()
        self._lowering = lowering
        self._builder = lowering.builder
        self._names = names

    def otherwise(self, node: Expr) -> Item:
        raise GraphError(f"a {type(node).__name__.lower()} is not supported in graphs")

    def name(self, node: Name) -> Item:
        if node.simple is not None and node.simple in self._names:
            return self._names[node.simple]
        constant = constant_named(node) or scalar_type_named(node)
        if constant is not None:
            return constant.value
        raise GraphError(f'"{node.spelling}" is not supported in graphs')

    def number(self, node: Number) -> Item:
        return read_number(node.text)

    def string(self, node: String) -> Item:
        return node.text.strip('"')

    def cast(self, node: Cast) -> Item:
        return self.of(node.operand)

    def unary(self, node: Unary) -> Item:
        operand = self.of(node.operand)
        if node.op == "-":
            return self._builder.negative(operand)
        if node.op == "!":
            return self._builder.negation(operand)
        if node.op in "+*":
            return operand
        raise GraphError(f'unknown operator "{node.op}"')

    def binary(self, node: Binary) -> Item:
        left = self.of(node.left)
        if node.op in ("&&", "||") and not isinstance(left, GraphValue) and bool(left) == (node.op == "||"):
            # short circuit: the right side is not evaluated
            return bool(left)
        return self._builder.binary(node.op, left, self.of(node.right))

    def conditional(self, node: Conditional) -> Item:
        return self._builder.conditional(
            self.of(node.condition), lambda: self.of(node.then), lambda: self.of(node.otherwise)
        )

    def braces(self, node: BraceList) -> Item:
        return list(map(self.of, node.items))

    def index(self, node: Index) -> Item:
        held = self.of(node.object)
        index = self.of(node.args[0])
        if isinstance(held, list) and isinstance(index, int):
            if not -len(held) <= index < len(held):
                raise GraphError(f"there is no item {index}")
            return held[index]
        if isinstance(held, GraphValue) and held.type == list_of(INT):
            return self._builder.size(held, index)
        raise GraphError("a subscript is not supported here")

    def call(self, node: Call) -> Item:
        callee = node.callee
        if isinstance(callee, Member):
            held = self.of(callee.object)
            return self._lowering.method(held, callee.name, list(map(self.of, node.args)))
        if not isinstance(callee, Name):
            raise GraphError("a call of an expression is not supported in graphs")
        spelling = callee.spelling
        if spelling in ("GradMode::is_enabled", "at::GradMode::is_enabled", "any_grad_defined"):
            # the result must be differentiable
            return True
        if spelling in ("areAnyTensorSubclassLike", "isTensorSubclassLike", "at::isTensorSubclassLike"):
            return False
        arguments = list(map(self.of, node.args))
        access = tuple_access(node)
        if access is not None:
            held, position = self.of(access[0]), position_of(access[1])
            if isinstance(held, list) and position is not None:
                if position >= len(held):
                    raise GraphError(f"there is no item {position} among {len(held)}")
                return held[position]
        if spelling.startswith("std::tuple<") or spelling == "std::make_tuple":
            return arguments
        if spelling in TRANSPARENT or spelling.startswith(("std::optional<", "std::vector<")):
            return arguments[0] if arguments else None
        if spelling in ("task_should_compute_output", "should_compute_output"):
            return True
        if spelling in ("isComplexType", "at::isComplexType"):
            return is_complex(arguments[0])
        return self._lowering.function(callee.parts[-1].identifier, arguments)


_FALSE = words("is_sparse is_sparse_csr is_mkldnn is_cuda is_meta is_nested is_quantized _is_zerotensor")


def _square_root(value: Item) -> float:
    if not isinstance(value, (int, float)) or value < 0:
        raise GraphError("the square root needs a number")
    return math.sqrt(value)


_NUMERIC: dict[str, Callable[..., Item]] = {"sqrt": _square_root}


def is_complex(item: Item) -> bool:
    """Whether a tensor, or the scalar type of one, is complex."""
    if isinstance(item, TensorOptions):
        return item.of.type.is_complex
    if not isinstance(item, GraphValue):
        return False
    if item.node is not None and item.node.kind == "prim::dtype":
        item = item.node.inputs[0]
    return item.type == complex_tensor() or item.type.is_complex


#: Names of literals in expressions.
WORDS = frozenset({"true", "false", "nullptr"})


def variables_of(formula: Formula) -> tuple[str, ...]:
    """The variables of an expression in order of occurrence, without called functions."""
    callees = {id(node.callee) for node in formula.nodes if isinstance(node, Call)}
    names = (name for name in formula.names if id(name) not in callees)
    return tuple(dict.fromkeys(name.simple for name in names if name.simple is not None and name.simple not in WORDS))


def formula_graph(formula: Formula, operators: GraphOperators, inputs: Mapping[str, GraphType]) -> Graph:
    """Build the graph of an expression.

    Args:
        formula: the expression.
        operators: the operators that it may call.
        inputs: its variables with their types, in the order of the graph's inputs.

    Raises:
        GraphError: it calls a missing or unsupported function.
    """
    graph = Graph()
    builder = Builder(operators, graph)
    names: dict[str, Item] = {name: graph.add_input(type_, name) for name, type_ in inputs.items()}
    graph.outputs.append(builder.value(Lowering(builder).evaluate(formula, names)))
    return graph
