"""The entries of a derivatives file, their keys and formulas, and torchgen's records of their derivatives.

Entries are immutable and include malformed parts, as :class:`FormProblem` and unresolved names. Facts are computed on
demand from the entry and the operators. :class:`Derivative`, :class:`ForwardDerivative` and
:class:`DifferentiabilityInfo` have the names and fields of torchgen/api/autograd.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from derivlint.formula import Formula, parse_formula
from derivlint.model.entry_syntax import (
    BodySyntax,
    EntrySyntax,
    KeyName,
    split_names,
)
from derivlint.model.generated.saved import SavedAttribute
from derivlint.model.keys import AUTO_ELEMENT_WISE, AUTO_LINEAR, NON_DIFFERENTIABLE
from derivlint.model.resolve import EntryFunction, NameKind, ResolvedName, SchemaProblem, resolve_function
from derivlint.schema import NativeFunctions
from derivlint.source import Span
from derivlint.source.lazy import cached_property
from derivlint.source.records import KeyedEquality
from derivlint.yaml_reader import Mapping, Pair, PlacedNode, Scalar, YamlNode

if TYPE_CHECKING:
    from derivlint.cpp import Binding
    from derivlint.formula import Edit, Node, Word
    from derivlint.formula.vocabulary import Token
    from derivlint.model.layout import Layout
    from derivlint.schema import NativeFunction, Type


class EntryContext(Protocol):
    """The context in which an entry computes facts: operators, layout of the file, torchgen's infos."""

    @property
    def natives(self) -> NativeFunctions:
        """The operators."""
        ...

    @property
    def layout(self) -> Layout:
        """The layout of the file."""
        ...

    def info_of(self, body: DispatchBody) -> DifferentiabilityInfo | None:
        """The ``DifferentiabilityInfo`` for the formulas of one dispatch key."""
        ...


class Role(Enum):
    """The kinds of derivatives, given by the key of a formula."""

    BACKWARD = "backward"
    FORWARD = "forward"
    NON_DIFFERENTIABLE = "non_differentiable"
    UNRESOLVED = "unresolved"


class DerivativeFormula:
    """A pair ``key: formula`` of an entry.

    Attributes:
        body: the formulas of its dispatch key.
        index: its position in the body, in file order.
        key: the key's YAML scalar.
        names: the names in the key.
        value: the YAML node of the formula.
    """

    __slots__ = ("__dict__", "body", "index", "key", "names", "value")

    def __init__(self, body: DispatchBody, index: int, key: Scalar, value: YamlNode) -> None:
        self.body = body
        self.index = index
        self.key = key
        self.names = split_names(key.value)
        self.value = value

    @property
    def entry(self) -> Entry:
        """The entry of the formula."""
        return self.body.entry

    @property
    def key_text(self) -> str:
        """The text of the key, decoded from YAML."""
        return self.key.value

    @property
    def key_span(self) -> Span:
        """The span of the key."""
        return self.entry.place(self.key)

    def name_span(self, name: KeyName) -> Span:
        """The span of a name in the key; the whole key for an empty name after a stray comma."""
        return self.entry.place_in(self.key, name.start, name.end) if name.text else self.key_span

    @property
    def value_span(self) -> Span:
        """The span of the formula."""
        return self.entry.place(self.value)

    @cached_property
    def text(self) -> str | None:
        """The formula's text, or None if the value is not a string."""
        value = self.value
        return value.value if isinstance(value, Scalar) and value.kind == "str" else None

    @cached_property
    def auto(self) -> str | None:
        """The whole formula if it is ``auto_linear`` or ``auto_element_wise``, else None."""
        return self.text if self.text in (AUTO_LINEAR, AUTO_ELEMENT_WISE) else None

    @cached_property
    def role(self) -> Role:
        """The kind of derivative, given by the first name of the key.

        Follows ``is_forward_derivative_definition`` and ``create_forward_derivative`` of torchgen.
        """
        function = self.entry.function
        if function is None:
            return Role.UNRESOLVED
        kind = function.resolve(self.names[0].text).kind
        if kind is NameKind.ARGUMENT:
            return Role.NON_DIFFERENTIABLE if self.says_non_differentiable else Role.BACKWARD
        return Role.FORWARD if kind in (NameKind.OUTPUT, NameKind.GENERIC_OUTPUT) else Role.UNRESOLVED

    @cached_property
    def derivative(self) -> Derivative | None:
        """The ``Derivative`` of torchgen; None for what is not a backward formula or does not resolve."""
        return self.body.derivatives.get(self)

    @cached_property
    def forward(self) -> ForwardDerivative | None:
        """The record of a forward formula, or None if the role differs or the formula does not resolve."""
        return self.body.forwards.get(self)

    @cached_property
    def resolved_names(self) -> tuple[tuple[KeyName, ResolvedName], ...]:
        """The names of the key with their meanings; empty if the entry's function is unknown."""
        function = self.entry.function
        return () if function is None else tuple((name, function.resolve(name.text)) for name in self.names)

    @cached_property
    def says_non_differentiable(self) -> bool:
        """Whether the value is ``non_differentiable`` under any key, ignoring case and surrounding blanks."""
        return self.text is not None and self.text.lower().strip() == NON_DIFFERENTIABLE

    def key_written_with(self, names: Collection[str]) -> str | None:
        """The key with other names and the same quotes, or None if a name would need escapes."""
        if not names or not all(name.isidentifier() for name in names):
            return None
        text = ", ".join(names)
        if self.key.style == "plain":
            return text
        return f'"{text}"' if self.key.style == "double" else f"'{text}'"

    @cached_property
    def is_expression(self) -> bool:
        """Whether the value is C++ rather than ``auto_linear``, ``auto_element_wise`` or ``non_differentiable``."""
        if self.text is None or self.role is Role.NON_DIFFERENTIABLE:
            return False
        return not (self.role is Role.FORWARD and self.auto is not None)

    @cached_property
    def parsed(self) -> Formula:
        """The parsed formula; that of the empty text if the value is not a string."""
        return parse_formula(self.text or "")

    def span_of(self, part: Node | Word | Token) -> Span:
        """The span of a node or word of the formula."""
        return self.range(part.start, part.end)

    def range(self, start: int, end: int) -> Span:
        """The span of a range of the formula's text."""
        if isinstance(self.value, Scalar):
            return self.entry.place_in(self.value, start, end)
        return self.value_span

    def is_exact(self) -> bool:
        """Whether offsets in the formula map exactly to the file, as edits require."""
        return isinstance(self.value, Scalar) and self.value.exact


class DispatchBody:
    """The formulas of an entry under one dispatch key.

    Attributes:
        entry: the entry.
        key: the dispatch key; ``Default`` for an entry without ``dispatch``.
        key_node: the YAML key, or None for an entry without ``dispatch``.
        mapping: the mapping of formulas, or None if the value is not a mapping.
        formulas: the pairs of key and formula, in file order.
    """

    __slots__ = ("__dict__", "entry", "formulas", "key", "key_node", "mapping")

    def __init__(self, entry: Entry, syntax: BodySyntax) -> None:
        self.entry = entry
        self.key = syntax.key
        self.key_node = syntax.key_node
        self.mapping = syntax.mapping
        self.formulas = tuple(
            DerivativeFormula(self, index, key, value) for index, (key, value) in enumerate(syntax.pairs)
        )

    @cached_property
    def info(self) -> DifferentiabilityInfo | None:
        """The ``DifferentiabilityInfo`` for the resolvable formulas; None for an unknown operator."""
        operators = self.entry.operators
        return operators.info_of(self) if operators is not None and self.entry.function is not None else None

    @cached_property
    def derivatives(self) -> dict[DerivativeFormula, Derivative]:
        """The records of the backward formulas, by formula."""
        derivatives = self.info.derivatives if self.info is not None else ()
        return {derivative.written: derivative for derivative in derivatives if derivative.written is not None}

    @cached_property
    def forwards(self) -> dict[DerivativeFormula, ForwardDerivative]:
        """The records of the forward formulas, by formula."""
        forwards = self.info.forward_derivatives if self.info is not None else ()
        return {forward.written: forward for forward in forwards if forward.written is not None}

    @cached_property
    def keys_with(self) -> Counter[str]:
        """The number of keys that contain each name."""
        return Counter(name for formula in self.formulas for name in {name.text for name in formula.names})

    @property
    def sorted_formulas(self) -> list[DerivativeFormula]:
        """The formulas sorted by the text of their keys, as in torchgen."""
        return sorted(self.formulas, key=lambda formula: formula.key_text)

    def with_role(self, role: Role) -> list[DerivativeFormula]:
        """The formulas of one role, in file order."""
        return [formula for formula in self.formulas if formula.role is role]

    @property
    def is_resolved(self) -> bool:
        """Whether every key and formula resolves, so that a missing one is certainly missing."""
        declared = self.entry.output_differentiability
        if (declared is not None and declared.values is None) or self.entry.beside_dispatch:
            return False
        return all(formula.role is not Role.UNRESOLVED and formula.text is not None for formula in self.formulas)


class Expression(Struct, frozen=True):
    """A C++ expression of an entry: a formula, or the condition in ``output_differentiability``.

    Attributes:
        entry: the entry.
        scalar: its YAML scalar.
        written: the formula with its key; None for the condition.
    """

    entry: Entry
    scalar: Scalar
    written: DerivativeFormula | None

    @property
    def parsed(self) -> Formula:
        """The syntax tree of the expression."""
        return parse_formula(self.scalar.value)

    def range(self, start: int, end: int) -> Span:
        """The span of a range of the expression's text."""
        return self.entry.place_in(self.scalar, start, end)

    @property
    def span(self) -> Span:
        """The span of the expression."""
        return self.entry.place(self.scalar)

    def is_exact(self) -> bool:
        """Whether offsets in the expression map exactly to the file, as edits require."""
        return self.scalar.exact


class Entry:
    """One item of the file's list.

    Attributes:
        index: its position in the list, from 0.
        node: its YAML node.
        start: the offset in the file of the text that contains the node.
        operators: the context, or None if only the syntax was read.
        bodies: its formulas, grouped by dispatch key. name, dispatch, dispatch_key_node, beside_dispatch,
            output_differentiability, problems, misnamed, versions: see :class:`EntrySyntax`.
    """

    __slots__ = (
        "__dict__",
        "beside_dispatch",
        "bodies",
        "dispatch",
        "dispatch_key_node",
        "index",
        "misnamed",
        "name",
        "node",
        "operators",
        "output_differentiability",
        "problems",
        "start",
        "versions",
    )

    def __init__(
        self, index: int, item: PlacedNode, syntax: EntrySyntax, operators: EntryContext | None = None
    ) -> None:
        self.index = index
        self.node, self.start = item
        self.operators = operators
        self.name = syntax.name
        self.dispatch = syntax.dispatch
        self.dispatch_key_node = syntax.dispatch_key_node
        self.beside_dispatch = syntax.beside_dispatch
        self.output_differentiability = syntax.output_differentiability
        self.problems = syntax.problems
        self.misnamed = syntax.misnamed
        self.versions = syntax.versions
        self.bodies = tuple(DispatchBody(self, body) for body in syntax.bodies)

    @property
    def has_keys(self) -> bool:
        """Whether the item is a mapping; one rule reports other items."""
        return isinstance(self.node, Mapping) and bool(self.node.pairs)

    @cached_property
    def _resolved(self) -> EntryFunction | SchemaProblem | None:
        if self.name is None or self.operators is None:
            return None
        text = self.name.value
        declares = self.operators.layout.declares_operator(text.partition("(")[0].strip())
        return resolve_function(text, self.operators.natives, declares=declares)

    @cached_property
    def function(self) -> EntryFunction | None:
        """The function with the entry's schema, or None if the schema does not resolve."""
        resolved = self._resolved
        return resolved if isinstance(resolved, EntryFunction) else None

    @cached_property
    def schema_problem(self) -> SchemaProblem | None:
        """The reason why the entry's schema does not resolve, or None."""
        resolved = self._resolved
        return resolved if isinstance(resolved, SchemaProblem) else None

    @property
    def span(self) -> Span:
        """The span of the whole entry."""
        return self.place(self.node)

    def place(self, part: YamlNode | Pair) -> Span:
        """The span of a part of the entry."""
        return part.within.shift(self.start)

    def place_in(self, scalar: Scalar, start: int, end: int) -> Span:
        """The span of a range of the text of one of the entry's scalars."""
        return scalar.range_of(start, end).shift(self.start)

    @property
    def mapping(self) -> Mapping | None:
        """The entry's YAML mapping, or None."""
        return self.node if isinstance(self.node, Mapping) else None

    @cached_property
    def operator(self) -> str | None:
        """The operator's full name as written: ``sort.stable``."""
        if self.name is None or not self.name.value:
            return None
        head, parenthesis, _ = self.name.value.partition("(")
        head = head.strip()
        return head if parenthesis and head else None

    @property
    def name_span(self) -> Span:
        """The span of the operator's name in the schema; of the whole entry if there is none."""
        if self.name is None:
            return self.span
        operator = self.operator
        if operator is None:
            return self.place(self.name)
        start = self.name.value.index(operator)
        return self.place_in(self.name, start, start + len(operator))

    @property
    def formulas(self) -> list[DerivativeFormula]:
        """The formulas of all dispatch keys, in file order."""
        return [formula for body in self.bodies for formula in body.formulas]

    @property
    def expressions(self) -> list[Expression]:
        """The C++ expressions of the entry: its formulas in file order, then the condition if any."""
        expressions = [
            Expression(self, formula.value, formula)
            for formula in self.formulas
            if formula.is_expression and isinstance(formula.value, Scalar)
        ]
        declared = self.output_differentiability
        condition = declared.condition if declared is not None else None
        if condition is not None:
            expressions.append(Expression(self, condition, None))
        return expressions


class Derivative(KeyedEquality, Struct, frozen=True):
    """A backward formula, for one or several arguments.

    Attributes:
        formula: the C++ expression, with saved attributes in place of property expressions.
        original_formula: the expression as written.
        var_names: the arguments whose gradient it computes.
        saved_inputs: saved arguments and properties of arguments.
        saved_outputs: saved outputs and properties of outputs.
        named_gradients: the ``grad_<return>`` that it uses.
        strides_of: arguments or outputs whose ``sym_strides()`` it calls, with the span of the call.
        edits: the edits from ``original_formula`` to ``formula``; empty for generated formulas.
        uses_grad: whether torchgen finds ``grad`` in the formula.
        written: the formula in the file.
    """

    formula: str
    original_formula: str
    var_names: tuple[str, ...]
    saved_inputs: tuple[SavedAttribute, ...]
    saved_outputs: tuple[SavedAttribute, ...]
    named_gradients: frozenset[str]
    strides_of: tuple[tuple[str, Word], ...] = ()
    edits: tuple[Edit, ...] = ()
    uses_grad: bool = False
    written: DerivativeFormula | None = None

    def identity(self) -> tuple[Any, ...]:
        """The fields that equality compares."""
        return (
            self.formula,
            self.original_formula,
            self.var_names,
            self.saved_inputs,
            self.saved_outputs,
            self.named_gradients,
            self.strides_of,
            self.uses_grad,
        )

    @property
    def saves_strides(self) -> bool:
        """Whether it saves the strides of an argument."""
        saved = {f"{name}_sym_strides" for name, _ in self.strides_of}
        return any(item.name in saved for item in self.saved_inputs)


class ForwardDerivative(KeyedEquality, Struct, frozen=True):
    """A forward formula, for one or several outputs.

    Attributes:
        formula: the C++ expression; ``auto_linear`` and ``auto_element_wise`` are expanded.
        var_names: the outputs whose tangent it computes.
        var_types: the schema types of those outputs.
        required_inputs_fw_grad: the arguments whose tangent it needs.
        required_inputs_primal: the arguments whose primal it needs; None if torchgen leaves it unset.
        required_original_self_value: whether an in-place kernel must keep a copy of ``self``.
        is_reusing_outplace_formula: whether an in-place kernel reuses the out-of-place formula.
        written: the formula in the file.
    """

    formula: str
    var_names: tuple[str, ...]
    var_types: tuple[Type, ...]
    required_inputs_fw_grad: tuple[str, ...] | None
    required_inputs_primal: tuple[str, ...] | None
    required_original_self_value: bool = False
    is_reusing_outplace_formula: bool = False
    written: DerivativeFormula | None = None

    def identity(self) -> tuple[Any, ...]:
        """The fields that equality compares."""
        return (
            self.formula,
            self.var_names,
            self.var_types,
            self.required_inputs_fw_grad,
            self.required_inputs_primal,
            self.required_original_self_value,
            self.is_reusing_outplace_formula,
        )


class InfoSource(Struct, frozen=True):
    """The origins of infos: ``entry`` (with its index), ``view_copy`` and ``foreach``."""

    kind: str
    index: int | None = None


class DifferentiabilityInfo(Struct):
    """The derivatives of one function under one dispatch key.

    Attributes:
        name: the operator's name without its overload.
        key: the dispatch key.
        func: the function whose autograd code it describes: the canonical one of the entry's signature.
        prefix: the name of the generated autograd node without its number (:meth:`Model.node_name`), or None if
            nothing is differentiable.
        derivatives: the backward formulas, keys in alphabetical order as torchgen reads them.
        forward_derivatives: the forward formulas, in the same order.
        all_saved_inputs: the saved inputs of all derivatives, each once.
        all_saved_outputs: the saved outputs of all derivatives, each once.
        available_named_gradients: the ``grad_<return>`` that formulas may use.
        used_named_gradients: the ``grad_<return>`` that formulas use.
        args_with_derivatives: the arguments with a backward formula, in schema order.
        non_differentiable_arg_names: the arguments declared ``non_differentiable``.
        output_differentiability: one boolean for each return, or None.
        output_differentiability_conditions: the C++ condition under which the output is differentiable, or None.
        source: its origin.
        made_of: the info of an entry that it is derived from.
    """

    name: str
    key: str
    func: NativeFunction
    prefix: str | None
    derivatives: tuple[Derivative, ...]
    forward_derivatives: tuple[ForwardDerivative, ...]
    all_saved_inputs: tuple[SavedAttribute, ...]
    all_saved_outputs: tuple[SavedAttribute, ...]
    available_named_gradients: tuple[str, ...]
    used_named_gradients: frozenset[str]
    args_with_derivatives: tuple[Binding, ...]
    non_differentiable_arg_names: tuple[str, ...]
    output_differentiability: tuple[bool, ...] | None
    output_differentiability_conditions: tuple[str, ...] | None
    source: InfoSource
    made_of: DifferentiabilityInfo | None = None

    @property
    def has_derivatives(self) -> bool:
        """Whether any argument has a backward formula."""
        return bool(self.args_with_derivatives)

    @property
    def origin(self) -> DifferentiabilityInfo:
        """The info of the entry that holds the formulas: this one, unless it is derived from another."""
        return self if self.made_of is None else self.made_of.origin
