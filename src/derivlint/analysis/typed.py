"""The formulas of an entry as typed syntax trees, the input of all analyses.

The trees are those of the expressions in generated code: saved properties are variables (``self.sym_sizes()`` is
``self_sym_sizes``), and ``auto_linear`` and ``auto_element_wise`` are expanded.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from derivlint.analysis.interpretation.callee import CallFacts, call_facts
from derivlint.cpp.cpp_type import UNKNOWN_VALUE, CppType, Value
from derivlint.cpp.declarations.declaration import Function
from derivlint.cpp.types import TENSOR
from derivlint.formula import Call, Expr, Formula, Index, Name, Node, Number, Word, unparenthesized
from derivlint.model import DerivativeFormula, Entry, Model
from derivlint.model.generated.evaluation import Evaluation, Mode, Origin
from derivlint.model.generated.forward import TANGENT, packed_lists
from derivlint.model.generated.gradients import GRAD, GRADS
from derivlint.model.generated.typing import Typed, is_checkable
from derivlint.schema.native_function import FRAMEWORK
from derivlint.source import Span
from derivlint.source.lazy import cached_property, memoized


class TypedFormula(Struct, eq=False, dict=True):
    """A formula of an entry, typed as in the generated code of the entry's own function.

    Attributes:
        evaluation: the expression and its variables.
        formula: the expression, parsed.
        tree: its syntax tree.
        values: the type of each expression; unsupported expressions are missing.
        callees: the called function of each call, if known.
        namespace: the namespace of unqualified functions, if not PyTorch's.
    """

    evaluation: Evaluation
    formula: Formula
    tree: Expr
    values: dict[Expr, Value]
    callees: dict[Expr, Function]
    namespace: str | None = None

    @staticmethod
    def of(evaluation: Evaluation, typed: Typed, namespace: str | None) -> TypedFormula:
        """Make a formula of a typed evaluation."""
        typer = typed.typer
        return TypedFormula(evaluation, typed.formula, typed.tree, typer.found, typer.callees, namespace)

    @property
    def written(self) -> DerivativeFormula:
        """The key and the formula as written."""
        return self.evaluation.written

    @cached_property
    def is_backward(self) -> bool:
        """Whether it is a backward formula rather than a forward formula."""
        return self.evaluation.mode is Mode.BACKWARD

    @property
    def text(self) -> str:
        """The expression."""
        return self.evaluation.text

    @cached_property
    def names(self) -> frozenset[str]:
        """The arguments or outputs in the key."""
        return frozenset(name.text for name in self.written.names)

    @cached_property
    def variables(self) -> frozenset[str]:
        """The variables in the expression."""
        return frozenset(node.simple for node in self.nodes if isinstance(node, Name) and node.simple is not None)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes of the tree in source order, parents first."""
        return self.formula.nodes

    def type_of(self, node: Expr) -> CppType:
        """The C++ type of an expression, or ``UNKNOWN``."""
        return self.values.get(node, UNKNOWN_VALUE).type

    @cached_property
    def _calls(self) -> dict[Call, CallFacts | None]:
        return {}

    def call(self, node: Call) -> CallFacts | None:
        """The name, function and arguments of a call; None if the callee is neither a name nor a member."""
        if node not in self._calls:
            self._calls[node] = call_facts(node, self.callees.get(node), self.namespace)
        return self._calls[node]

    def source_of(self, node: Node | Word) -> str:
        """Return the source text of a part of the expression, or its generated text."""
        written = self.evaluation.written_range(node.start, node.end)
        if written is None:
            return self.text[node.start : node.end]
        return self.written.parsed.text[written[0] : written[1]]

    def span_of(self, node: Node | Word) -> Span:
        """The span of a part of the expression; of the whole formula if the part is generated."""
        written = self.evaluation.written_range(node.start, node.end)
        return self.written.value_span if written is None else self.written.range(*written)


def typed_formulas(model: Model, entry: Entry) -> Iterator[TypedFormula]:
    """The backward and forward formulas of an entry, as its own function evaluates them.

    Formulas under meaningless keys, and misspelt keywords, are skipped.
    """
    namespace = FRAMEWORK if model.natives.are_of_framework else None
    for evaluation in model.evaluations(entry):
        if evaluation.origin is not Origin.YAML or evaluation.mode is Mode.SAVE or not is_checkable(evaluation.written):
            continue
        typed = model.typing.typed(evaluation, evaluation.text)
        if typed is not None:
            yield TypedFormula.of(evaluation, typed, namespace)


#: The suffix of the kernel's variables for tangents that may be undefined.
RAW = "_raw"


@memoized
def seed_names(formula: TypedFormula) -> frozenset[str]:
    """The names of all gradients, or of all tangents, that are in scope of a formula."""
    variables = formula.evaluation.variables
    if formula.is_backward:
        info = formula.written.body.info
        named = info.available_named_gradients if info is not None else ()
        return frozenset({GRAD, GRADS, *named}) & (variables.keys() | {GRAD, GRADS})
    function = formula.written.entry.function
    if function is None:
        return frozenset()
    # the name of an argument or output may end like that of a tangent
    taken = {*(binding.name for binding in function.arguments), *(output.name for output in function.outputs)}
    return frozenset(
        name
        for name, type in variables.items()
        if type is TENSOR and name.removesuffix(RAW).endswith(TANGENT) and name not in taken
    )


def dual_lists(formula: TypedFormula) -> frozenset[str]:
    """The tensor lists in a forward formula whose tangents the called functions unpack."""
    info = formula.written.body.info
    return frozenset() if formula.is_backward or info is None else frozenset(packed_lists(info))


def seed_of(node: Expr, names: frozenset[str]) -> str | None:
    """The seed that an expression is, ``grad``, ``(grads[1])``, ``self_t``; or None."""
    node = unparenthesized(node)
    if isinstance(node, Name) and node.simple in names:
        return node.simple
    if isinstance(node, Index) and isinstance(node.object, Name) and node.object.simple == GRADS and GRADS in names:
        index = node.args[0] if len(node.args) == 1 else None
        if isinstance(index, (Number, Name)):
            return f"{GRADS}[{index.spelling}]"
    return None
