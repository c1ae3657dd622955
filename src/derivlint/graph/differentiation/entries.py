"""The formulas for the nodes of a graph, from a derivatives file."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from msgspec import Struct

from derivlint.analysis.differentiability.operators import Answer, Way, derivatives_of
from derivlint.graph.builder import Builder, Item, default_of, item_of
from derivlint.graph.ir import GraphNode, GraphValue, NodeOrigin
from derivlint.graph.lowering import Lowering
from derivlint.graph.operators import GraphOperators
from derivlint.graph.types import GraphError, UnknownOperatorError
from derivlint.model import Derivative, DifferentiabilityInfo, ForwardDerivative, Model, build_model
from derivlint.model.keys import DEFAULT, RESULT
from derivlint.operators import Book
from derivlint.operators.book import BOOK_OF_DERIVATIVES
from derivlint.operators.reference.definitions import Definition, DefinitionKind, composite_named, operator_named
from derivlint.schema import Argument, ListType, NativeFunction, NativeFunctions
from derivlint.source import SourceFile

#: Operators with discrete results: comparisons, booleans, counts and indices.
_DISCRETE = frozenset[str]().union(*map(Book.by_hand, ("compares", "answers", "boolean-output", "integral-output")))
_of_natives: WeakKeyDictionary[NativeFunctions, Model] = WeakKeyDictionary()


def model_of_book(natives: NativeFunctions) -> Model:
    """The model of the operator book's derivatives, for given operators."""
    model = _of_natives.get(natives)
    if model is None:
        text = BOOK_OF_DERIVATIVES.read_text(encoding="ascii")
        model = _of_natives[natives] = build_model(SourceFile(str(BOOK_OF_DERIVATIVES), text), natives)
    return model


class NodeArguments(Struct, frozen=True):
    """The arguments of a node, by parameter name.

    Attributes:
        function: the overload.
        items: the item of each argument.
        values: the operands, each with its argument.
    """

    function: NativeFunction
    items: dict[str, Item]
    values: tuple[tuple[Argument, GraphValue], ...]


class Entries:
    """The entries of a model, for the nodes of graphs.

    If the file lacks an entry for an operator, the operator book's entry is used, or the operator is decomposed by its
    reference definition.

    Attributes:
        model: the model.
        operators: its operators.
        from_book: the operators whose derivatives come from the book, by full name, in order of use.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.operators = GraphOperators(model.natives)
        self.from_book: dict[str, None] = {}
        self._infos: dict[str, DifferentiabilityInfo | None] = {}
        self._forwards: dict[str, tuple[ForwardDerivative, ...]] = {}

    def arguments(self, node: GraphNode) -> NodeArguments:
        """The overload that a node calls, with its arguments.

        Raises:
            GraphError: there is none.
        """
        name = operator_name(node)
        bound = self.operators.bind(
            str(node.function.name) if node.function is not None else name, [value.type for value in node.inputs]
        )
        if bound is None:
            if not self.operators.exists(name):
                raise UnknownOperatorError(f'there is no operator "{name}"', name)
            types = ", ".join(str(value.type) for value in node.inputs)
            raise GraphError(f'no overload of "{name}" takes ({types})')
        node.function = bound.function
        items: dict[str, Item] = {}
        values = []
        passed = len(bound.places)
        for index, argument in enumerate(bound.function.schema.arguments.flat_non_out):
            if index < passed:
                values.append((argument, node.inputs[index]))
                item = item_of(node.inputs[index])
                size = argument.type.size if isinstance(argument.type, ListType) else None
                # a list of a declared size accepts one number
                items[argument.name] = [item] * size if size and isinstance(item, int) else item
            else:
                items[argument.name] = default_of(argument)
        return NodeArguments(bound.function, items, tuple(values))

    def info(self, function: NativeFunction) -> DifferentiabilityInfo | None:
        """The formulas of an overload, or None if no entry has any."""
        name = str(function.name)
        if name not in self._infos:
            match = self._model_for(function).match(function)
            self._infos[name] = match.infos.get(DEFAULT) or next(iter(match.infos.values()), None)
            forwards = match.forwards or {}
            self._forwards[name] = forwards.get(DEFAULT) or next(iter(forwards.values()), ())
        return self._infos[name]

    def _model_for(self, function: NativeFunction) -> Model:
        """The model with the derivatives of an overload: the file's, or the book's if the file lacks it."""
        if not self._is_silent(function):
            return self.model
        book = model_of_book(self.model.natives)
        if not book.match(function).infos:
            return self.model
        self.from_book[str(function.name)] = None
        return book

    def _is_silent(self, function: NativeFunction) -> bool:
        """Whether the file lacks an entry that PyTorch has: it is incomplete, a back end's, or the book's."""
        way = derivatives_of(self.model).of(function).way
        return way is Way.UNKNOWN or (
            way is Way.MISSING
            and self.model.source.path == str(BOOK_OF_DERIVATIVES)
            and self.model.book.has_entry(function)
        )

    def _definition(self, function: NativeFunction) -> Definition | None:
        """The reference definition by which an operator without entry is decomposed, or None."""
        if self.info(function) is not None:
            # the entry of a composite operator may be for some backends only, such as nested tensors
            is_composed = function.has_composite_implicit_autograd_kernel
            return composite_named(str(function.name)) if is_composed else None
        definition = composite_named(str(function.name))
        if definition is None and self._is_silent(function):
            definition = operator_named(function)
            if definition is not None:
                self.from_book[str(function.name)] = None
        return definition

    def forwards(self, function: NativeFunction) -> tuple[ForwardDerivative, ...]:
        """The forward formulas of an overload."""
        self.info(function)
        return self._forwards[str(function.name)]

    def is_decomposed(self, function: NativeFunction) -> bool:
        """Whether an operator is decomposed: it is composite with known parts, or has a definition."""
        return self._definition(function) is not None

    def decompose(self, builder: Builder, function: NativeFunction, arguments: NodeArguments) -> Item:
        """Decompose an operator without entry.

        Raises:
            GraphError: it has no supported decomposition.
        """
        definition = self._definition(function)
        assert definition is not None, f"{function.name} is not decomposed"
        items = arguments.items
        if definition.kind is DefinitionKind.OPERATOR:
            # a definition has only the relevant parameters of the schema
            items = {name: items[name] for name in definition.parameters if name in items}
        return Lowering(builder).expanded(definition, list(items.values()))

    def differentiable_outputs(self, function: NativeFunction, count: int) -> list[bool]:
        """The differentiable outputs of an overload, as its entry declares."""
        info = self.info(function)
        if info is not None and info.output_differentiability is not None:
            declared = list(info.output_differentiability)
            return (declared + [True] * count)[:count]
        return [True] * count

    def ignored(self, function: NativeFunction) -> frozenset[str]:
        """The arguments through which no gradient flows."""
        return derivatives_of(self._model_for(function)).of(function).ignored

    def carries_gradients(self, function: NativeFunction) -> bool:
        """Whether gradients can flow through an operator."""
        way = derivatives_of(self._model_for(function)).of(function).way
        is_constant = way is not Way.FORMULA and not _DISCRETE.isdisjoint(
            (function.name.base, f"{function.name.base}(0)")
        )
        return way is not Way.NON_DIFFERENTIABLE and not is_constant

    def undifferentiable_reason(self, function: NativeFunction) -> str:
        """Explain why an operator without formulas cannot be differentiated."""
        derivatives = derivatives_of(self.model).of(function)
        if derivatives.way is Way.DECOMPOSES:
            return "it is composite, and what it is made of is not known here"
        if derivatives.way is Way.MANUAL:
            return "its derivative is written by hand in PyTorch"
        if derivatives.way is Way.UNKNOWN:
            return "neither the file nor the operator book has a derivative of it"
        if derivatives.backward.answer is not Answer.YES and derivatives.backward.reasons:
            return "it has no derivative"
        return "it has no entry"

    def origin(self, function: NativeFunction, derivative: Derivative | ForwardDerivative) -> NodeOrigin:
        """The origin of nodes from a formula."""
        formula = derivative.written
        key = ", ".join(derivative.var_names)
        if formula is None:
            return NodeOrigin(str(function.name), key)
        source = self._model_for(function).source
        text = formula.text or ""
        return NodeOrigin(
            formula.entry.operator or "",
            formula.key_text,
            "the operator book" if source.path == str(BOOK_OF_DERIVATIVES) else source.path,
            source.position(formula.key_span.start).line,
            text,
        )


def operator_name(node: GraphNode) -> str:
    """The PyTorch name of a node's operator."""
    return node.kind.rpartition("::")[2]


def output_names(function: NativeFunction, outputs: Sequence[GraphValue]) -> dict[str, Item]:
    """The outputs by the names that formulas use."""
    names: dict[str, Item] = {}
    for number, (value, item) in enumerate(zip(outputs, function.schema.returns, strict=False)):
        names[f"result{number}"] = value
        if item.name is not None:
            names[item.name] = value
    if len(outputs) == 1:
        names[RESULT] = outputs[0]
    return names
