"""Derivation of the formulas of an operator defined by an expression, simplified and printed as C++."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct

from derivlint.authoring.cxx import Printer
from derivlint.authoring.shapes import Sizes, SizesOf, drop_needless_sums, is_zero, shorten
from derivlint.formula import parse_formula
from derivlint.graph.differentiation.entries import Entries, operator_name
from derivlint.graph.differentiation.forward import PRIMAL, TANGENT, jvp
from derivlint.graph.differentiation.reverse import differentiate
from derivlint.graph.ir import LIST_UNPACK, TUPLE_UNPACK, Graph, GraphValue, copy_graph
from derivlint.graph.lowering import formula_graph
from derivlint.graph.operators import GRAPH_TYPES
from derivlint.graph.passes import drop_sum_to_size, eliminate_dead_code, inline_linear_blocks, optimize, simplify
from derivlint.graph.types import TENSOR, GraphError, GraphType, UnknownOperatorError, complex_tensor
from derivlint.lint.wording import unknown_name
from derivlint.model.keys import NON_DIFFERENTIABLE
from derivlint.operators import Book
from derivlint.project.errors import InputError
from derivlint.schema import Argument, BaseType

GRAD = "grad"
GRAD_OUTPUT = "grad_output"


Result = TypeVar("Result")


class DerivedOperator(Struct, frozen=True):
    """An operator defined by an expression.

    Attributes:
        name: its name.
        schema: its schema.
        entry: its entry.
        body: the statements of its kernel.
    """

    name: str
    schema: str
    entry: str
    body: tuple[str, ...]


class Deriver:
    """Derives operators.

    Attributes:
        entries: the formulas of the operators that expressions call.
    """

    def __init__(
        self,
        entries: Entries,
        constants: Collection[str] = (),
        *,
        is_complex: bool = False,
        has_one_shape: bool = False,
    ) -> None:
        """Create the deriver.

        Args:
            entries: the formulas of the operators that expressions call.
            constants: the names of tensors without gradient.
            is_complex: whether tensors may be complex.
            has_one_shape: whether all combined tensors have the same shape, so that nothing is broadcast.
        """
        self.entries = entries
        self._constants = constants
        self._has_one_shape = has_one_shape
        self._tensor = complex_tensor() if is_complex else TENSOR
        self._sizes = SizesOf()

    def graph(self, text: str, arguments: Sequence[Argument]) -> Graph:
        """Parse the graph of an expression.

        Raises:
            InputError: the expression cannot be parsed, uses other names, or does not return a tensor.
        """
        if any(item.name == GRAD for item in arguments):
            raise InputError(f'an argument cannot be called "{GRAD}"')
        types = {item.name: self._type(item) for item in arguments}
        try:
            graph = formula_graph(parse_formula(text), self.entries.operators, types)
        except UnknownOperatorError as error:
            fact = f'"{text}" calls "{error.name}", which is not an operator'
            names = self.entries.operators.natives.operator_names()
            raise InputError(unknown_name(fact, error.name, names)) from error
        except GraphError as error:
            raise InputError(f'cannot differentiate "{text}": {error}') from error
        if not graph.outputs[0].type.is_tensor:
            raise InputError(f'"{text}" is not a tensor')
        used = {value for node in graph.walk() for value in node.inputs} | set(graph.outputs)
        unused = [item.name for item in graph.inputs if item not in used]
        if unused:
            raise InputError(f'"{text}" does not use "{unused[0]}"')
        return graph

    def _type(self, argument: Argument) -> GraphType:
        name = str(argument.type)
        if name == "Tensor":
            return self._tensor
        graph_type = GRAPH_TYPES.get(name)
        if graph_type is None:
            raise InputError(f'the argument "{argument.name}" is of type "{name}"; expected a tensor or a number')
        return graph_type

    def operators(self, name: str, graph: Graph, arguments: Sequence[Argument], inline: bool) -> list[DerivedOperator]:
        """Derive an operator, and the operators of its gradients.

        Args:
            name: its name.
            graph: its definition.
            arguments: its arguments.
            inline: whether to write the gradients into its entry instead of defining operators.

        Raises:
            InputError: a gradient cannot be derived.
        """
        tensors = self._differentiable(graph)
        inputs = {value.name: self._sizes.of_input(value.name) for value in graph.inputs if value.type.is_tensor}
        gradients = self._gradients(graph, tensors, inputs)
        if inline:
            formulas = {wrt: self._expression(gradient, {}) for wrt, gradient in gradients.items()}
            return [self._operator(name, graph, arguments, formulas, inputs)]
        if any(item.name == GRAD_OUTPUT for item in arguments):
            raise InputError(f'an argument called "{GRAD_OUTPUT}" needs --inline')
        inputs[GRAD_OUTPUT] = self._sizes.of(graph, inputs)[graph.outputs[0]]
        formulas, backward_operators = {}, []
        for wrt, gradient in gradients.items():
            if is_zero(gradient.outputs[0]):
                continue
            backward = f"{name}_{wrt}_backward" if len(tensors) > 1 else f"{name}_backward"
            formulas[wrt] = f"{backward}({', '.join([GRAD, *(item.name for item in arguments)])})"
            backward_operators.append(self._backward(backward, gradient, arguments, inputs))
        return [self._operator(name, graph, arguments, formulas, inputs), *backward_operators]

    def _backward(
        self, name: str, graph: Graph, arguments: Sequence[Argument], inputs: Mapping[str, Sizes]
    ) -> DerivedOperator:
        """Return the operator that computes a gradient; its own gradients are the second derivatives."""
        renamed, _ = copy_graph(graph)
        for value in renamed.inputs:
            if value.name == GRAD:
                value.name = GRAD_OUTPUT
        renamed.inputs.sort(key=lambda value: value.name != GRAD_OUTPUT)
        taken = [
            Argument(GRAD_OUTPUT, BaseType("Tensor")),
            *(Argument(item.name, item.type) for item in arguments),
        ]
        return self._operator(name, renamed, taken, self._second_derivatives(name, renamed, inputs), inputs)

    def _second_derivatives(self, name: str, graph: Graph, inputs: Mapping[str, Sizes]) -> dict[str, str]:
        """Return the gradients of a gradient operator; those that cannot be derived or are too long raise."""
        tensors = self._differentiable(graph)
        refusal = f'not_implemented("{name}")'
        formulas = {}
        try:
            gradients = self._gradients(graph, tensors, inputs)
        except InputError:
            return dict.fromkeys(tensors, refusal)
        for wrt, gradient in gradients.items():
            try:
                formulas[wrt] = self._expression(gradient, {})
            except InputError:
                formulas[wrt] = refusal
        return formulas

    def _gradients(self, graph: Graph, names: Sequence[str], inputs: Mapping[str, Sizes]) -> dict[str, Graph]:
        """Return the gradient of each variable that has one, as a separate graph."""
        gradient = self._guarded(lambda: differentiate(graph, self.entries, names))
        joined = gradient.joined([GRAD])
        sizes = {**inputs, GRAD: self._sizes.of(graph, inputs)[graph.outputs[0]]}
        return {
            graph.inputs[place].name: self._single(joined, position, sizes)
            for position, place in enumerate(gradient.df_output_vjps)
        }

    def _single(self, graph: Graph, output: int, inputs: Mapping[str, Sizes]) -> Graph:
        """Return a graph of one of the outputs, without linear blocks."""
        single, _ = copy_graph(graph)
        single.outputs = [single.outputs[output]]
        inline_linear_blocks(single)
        optimize(single)
        if self._has_one_shape:
            drop_sum_to_size(single)
        else:
            drop_needless_sums(single, self._sizes.of(single, inputs))
            shorten(single, self._sizes.of(single, inputs))
        simplify(single)
        eliminate_dead_code(single)
        return single

    def _operator(
        self,
        name: str,
        graph: Graph,
        arguments: Sequence[Argument],
        gradients: Mapping[str, str],
        inputs: Mapping[str, Sizes],
    ) -> DerivedOperator:
        schema = f"{name}({', '.join(map(str, arguments))}) -> Tensor"
        tensors = self._differentiable(graph)
        lines = [f"- name: {schema}"]
        lines += [f"  {wrt}: {gradients.get(wrt, f'zeros_like({wrt})')}" for wrt in tensors]
        lines += [f"  {value.name}: {NON_DIFFERENTIABLE}" for value in graph.inputs if value.name in self._constants]
        try:
            lines.append(f"  result: {self._tangent(graph, tensors, inputs)}")
        except GraphError as error:
            lines.append(f"  # no forward formula: {' '.join(str(error).split())}")
        body = self._guarded(lambda: Printer(graph, self.entries.operators, {}).body())
        return DerivedOperator(name, schema, "\n".join(lines) + "\n", tuple(body))

    def _tangent(self, graph: Graph, tensors: Sequence[str], inputs: Mapping[str, Sizes]) -> str:
        """Derive the forward formula.

        Raises:
            GraphError: the result has no derivable tangent.
        """
        sizes = {**inputs, **{name + TANGENT: inputs[name] for name in tensors}}
        tangents = jvp(graph, self.entries, tensors)
        if len(tangents.outputs) < 2:
            raise GraphError("the result has no derivative by its arguments")
        tangent = self._single(tangents, 1, sizes)
        if is_zero(tangent.outputs[0]):
            raise GraphError("the derivative of the result is zero")
        (text,) = Printer(tangent, self.entries.operators, {name: name + PRIMAL for name in tensors}).expressions()
        # a tangent must be neither an argument's tangent itself nor a view of it
        return f"{text}.clone()" if _shares_memory(tangent.outputs[0]) else text

    def _expression(self, graph: Graph, names: Mapping[str, str]) -> str:
        (text,) = self._guarded(lambda: Printer(graph, self.entries.operators, names).expressions())
        return text

    def _differentiable(self, graph: Graph) -> list[str]:
        return [value.name for value in graph.inputs if value.type.is_tensor and value.name not in self._constants]

    @staticmethod
    def _guarded(work: Callable[[], Result]) -> Result:
        try:
            return work()
        except GraphError as error:
            raise InputError(f"cannot derive the gradient: {error}") from error


def _shares_memory(value: GraphValue) -> bool:
    """Whether a value is an input of the graph, or a view of something."""
    node = value.node
    if node is not None and node.kind in (LIST_UNPACK, TUPLE_UNPACK):
        return _shares_memory(node.inputs[0])
    return node is None or operator_name(node) in Book.by_hand("returns-view")
