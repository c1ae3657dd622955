"""Derivatives of expressions: ``derivlint derive`` and :func:`derivlint.derive`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from derivlint.formula import parse_formula
from derivlint.graph.differentiation.entries import Entries
from derivlint.graph.differentiation.forward import jvp
from derivlint.graph.differentiation.reverse import differentiate
from derivlint.graph.ir import Graph
from derivlint.graph.lowering import formula_graph, variables_of
from derivlint.graph.passes import drop_sum_to_size, optimize
from derivlint.graph.syntax.drawing import dot, svg
from derivlint.graph.syntax.expression import print_expression, read_expression
from derivlint.graph.syntax.printer import print_graph
from derivlint.graph.syntax.reader import read_graph
from derivlint.graph.types import TENSOR, GraphError, GraphSyntaxError, UndifferentiableError, UnknownOperatorError
from derivlint.lint.wording import quoted_list, unknown_name
from derivlint.model import Model
from derivlint.project.errors import InputError


class DerivedGraph(Struct, frozen=True):
    """The derivative of an expression.

    Attributes:
        graph: its operations; private.
    """

    graph: Graph

    def __str__(self) -> str:
        try:
            return self.expression()
        except InputError:
            return self.torchscript()

    def expression(self) -> str:
        """The derivative as definitions and an expression, each line with the entries that it comes from.

        Raises:
            InputError: the derivative has control flow, as that of ``pow`` by an exponent that may be 0.
        """
        try:
            return print_expression(self.graph, origins=True)
        except GraphError as error:
            raise InputError(f"{error}; use --output-format graph") from error

    def torchscript(self) -> str:
        """The graph in TorchScript's notation."""
        return print_graph(self.graph, origins=True)

    def dot(self) -> str:
        """The graph in Graphviz's dot language."""
        return dot(self.graph)

    def svg(self) -> str:
        """The graph as an SVG image."""
        return svg(self.graph)


class Differentiator:
    """Differentiates expressions by the entries of a model.

    Attributes:
        entries: the formulas.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.entries = Entries(model)

    def read(self, text: str) -> Graph:
        """Parse an expression: calls of operators, C++ as in formulas, or a graph in TorchScript's notation.

        Raises:
            InputError: the expression cannot be parsed, or returns nothing.
        """
        with self._user_errors():
            graph = self._read(text)
        if not graph.outputs:
            raise InputError("the graph returns no differentiable value")
        return graph

    def _read(self, text: str) -> Graph:
        if text.lstrip().startswith("graph("):
            return read_graph(text)
        try:
            return read_expression(text, self.entries.operators)
        except (GraphSyntaxError, UnknownOperatorError) as error:
            formula = parse_formula(text)
            # "a.mul(b)" and "at::mul(a, b)" read like calls of operators of those names
            is_name = isinstance(error, UnknownOperatorError) and error.name.isidentifier()
            if formula.problems or is_name:
                raise
            return formula_graph(formula, self.entries.operators, dict.fromkeys(variables_of(formula), TENSOR))

    def derivative(
        self, graph: Graph, wrt: Sequence[str], order: int = 1, mode: str = "reverse", *, same_shape: bool = False
    ) -> DerivedGraph:
        """Differentiate a graph.

        Args:
            graph: the graph.
            wrt: the variables.
            order: the order of the derivative.
            mode: ``reverse`` computes gradients of the variables, ``forward`` the tangent of the result.
            same_shape: whether all operands have one shape, so that gradients are not summed after broadcasts.

        Raises:
            InputError: a variable or the derivative does not exist.
        """
        names = [value.name for value in graph.inputs]
        for name in wrt:
            if name not in names:
                raise InputError(f'the expression has no variable "{name}"; it has {", ".join(names) or "none"}')
        with self._user_errors():
            for number in range(order):
                if mode == "forward":
                    graph = jvp(graph, self.entries, wrt, suffix="t" * (number + 1))
                else:
                    graph = differentiate(graph, self.entries, wrt).joined()
                if not graph.outputs:
                    raise InputError(f"the result has no derivative by {quoted_list(wrt)}")
                if same_shape:
                    drop_sum_to_size(graph)
                    optimize(graph)
        return DerivedGraph(graph)

    def compared(self, graph: Graph, wrt: Sequence[str], order: int) -> str:
        """Compare gradients with those of the installed PyTorch, which runs both, and describe the result.

        Raises:
            InputError: PyTorch is missing or cannot run the graph.
        """
        from derivlint.graph.checking import compare

        with self._user_errors():
            return compare(graph, self.entries, tuple(wrt), order)

    @contextmanager
    def _user_errors(self) -> Iterator[None]:
        try:
            yield
        except UndifferentiableError as error:
            raise InputError(*error.reasons) from error
        except UnknownOperatorError as error:
            names = self._model.natives.operator_names()
            raise InputError(unknown_name(f'no operator "{error.name}"', error.name, names)) from error
        except GraphError as error:
            raise InputError(str(error)) from error
