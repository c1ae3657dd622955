"""The entries of a derivatives file, as they stand in it: names, keys and formulas with their places.

An entry keeps what was written even where it makes no sense; what could not be understood is a :class:`ShapeProblem`
or an unresolved name, and a rule reports it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from derivlint.formula import Formula, parse_formula
from derivlint.source import Span
from derivlint.source.lazy import cached_property
from derivlint.yaml_reader import Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from derivlint.model.derivative import Derivative, DifferentiabilityInfo, ForwardDerivative
    from derivlint.model.gradients import BodyGradients
    from derivlint.model.resolve import EntryFunction, ResolvedName
    from derivlint.model.scope import UndeclaredName
    from derivlint.model.versions import EntryVersions

AUTO_LINEAR = "auto_linear"
AUTO_ELEMENT_WISE = "auto_element_wise"
NON_DIFFERENTIABLE = "non_differentiable"


class InFormula(Protocol):
    """Anything with offsets into a formula: a node or a word."""

    @property
    def start(self) -> int:
        """The offset of the first character."""
        ...

    @property
    def end(self) -> int:
        """The offset behind the last character."""
        ...


class ShapeProblem(Struct, frozen=True):
    """Something about the YAML of an entry that is not what an entry is made of.

    Attributes:
        kind: which rule of the file's form is broken, such as ``formula-type``.
        node: the YAML node that is wrong.
        key: the text of the key it stands under, if any.
    """

    kind: str
    node: Node
    key: str | None = None


class Role(Enum):
    """What a key and its formula declare."""

    BACKWARD = "backward"
    FORWARD = "forward"
    NON_DIFFERENTIABLE = "non_differentiable"
    UNRESOLVED = "unresolved"


class KeyName(Struct, frozen=True):
    """One name of a key such as ``self, other``.

    Attributes:
        text: the name without surrounding blanks; empty after a stray comma.
        span: its place in the file.
    """

    text: str
    span: Span


class KeyedFormula:
    """One pair ``key: formula`` of an entry.

    Attributes:
        body: the formulas of one dispatch key that it belongs to.
        index: its position among them, in file order.
        key: the key's YAML scalar.
        names: the names in the key.
        value: the YAML node of the formula.
        role: what it declares, decided by the first name of the key, as torchgen does.
        derivative: the backward formula's derivative, once built.
        forward: the forward formula's derivative, once built.
        undeclared: the uses of names that are not declared, once :func:`undeclared_names` was asked for them.
        checkable: whether its types mean something, once :func:`is_checkable` was asked.
    """

    __slots__ = (
        "__dict__",
        "body",
        "checkable",
        "derivative",
        "forward",
        "index",
        "key",
        "names",
        "role",
        "undeclared",
        "value",
    )

    def __init__(self, body: DispatchBody, index: int, key: Scalar, names: tuple[KeyName, ...], value: Node) -> None:
        self.body = body
        self.index = index
        self.key = key
        self.names = names
        self.value = value
        self.role = Role.UNRESOLVED
        self.derivative: Derivative | None = None
        self.forward: ForwardDerivative | None = None
        self.undeclared: tuple[UndeclaredName, ...] | None = None
        self.checkable: bool | None = None

    @property
    def entry(self) -> Entry:
        """The entry it belongs to."""
        return self.body.entry

    @property
    def key_text(self) -> str:
        """The key as written, decoded."""
        return self.key.value

    @cached_property
    def text(self) -> str | None:
        """The formula's text, or None where the value is no string."""
        value = self.value
        return value.value if isinstance(value, Scalar) and value.kind == "str" else None

    @cached_property
    def auto(self) -> str | None:
        """``auto_linear`` or ``auto_element_wise`` where the formula is exactly that word."""
        return self.text if self.text in (AUTO_LINEAR, AUTO_ELEMENT_WISE) else None

    @cached_property
    def resolved_names(self) -> tuple[tuple[KeyName, ResolvedName], ...]:
        """The names of the key with what they stand for; empty where the entry's function is not known."""
        function = self.entry.function
        return () if function is None else tuple((name, function.resolve(name.text)) for name in self.names)

    @cached_property
    def says_non_differentiable(self) -> bool:
        """Whether the value is ``non_differentiable``, in any case and with any blanks around, whatever the key."""
        return self.text is not None and self.text.lower().strip() == NON_DIFFERENTIABLE

    def key_written_with(self, names: Collection[str]) -> str | None:
        """The key as YAML text, in its own quotes, with other names; None where a name would need escapes."""
        if not names or not all(name.isidentifier() for name in names):
            return None
        text = ", ".join(names)
        if self.key.style == "plain":
            return text
        return f'"{text}"' if self.key.style == "double" else f"'{text}'"

    @cached_property
    def is_expression(self) -> bool:
        """Whether the value is C++ and none of the words that stand for something else."""
        if self.text is None or self.role is Role.NON_DIFFERENTIABLE:
            return False
        return not (self.role is Role.FORWARD and self.auto is not None)

    @cached_property
    def formula(self) -> Formula:
        """The syntax tree of the formula; of the empty text where the value is no string."""
        return parse_formula(self.text or "")

    def span_of(self, part: InFormula) -> Span:
        """The place in the file of a node or word of the formula."""
        return self.range(part.start, part.end)

    def range(self, start: int, end: int) -> Span:
        """The place in the file of a range of the formula's text."""
        if isinstance(self.value, Scalar):
            return self.value.span_of(start, end)
        return self.value.span

    def is_exact(self) -> bool:
        """Whether ranges of the formula have exact places, so that they can be edited."""
        return isinstance(self.value, Scalar) and self.value.exact


class DispatchBody:
    """The formulas of an entry for one dispatch key.

    Attributes:
        entry: the entry.
        key: the dispatch key; ``Default`` for an entry without ``dispatch``.
        key_node: where the key is written, None for an entry without ``dispatch``.
        mapping: the mapping that holds the formulas; None where there is something else.
        lines: the pairs of key and formula, in file order.
        info: what torchgen makes of them, as far as it could be built.
        gradients: the gradients that they use, once :func:`gradients_of` was asked for them.
    """

    __slots__ = ("_keys_with", "entry", "gradients", "info", "key", "key_node", "lines", "mapping")

    def __init__(self, entry: Entry, key: str, key_node: Scalar | None) -> None:
        self.entry = entry
        self.key = key
        self.key_node = key_node
        self.mapping: Mapping | None = None
        self.lines: tuple[KeyedFormula, ...] = ()
        self.info: DifferentiabilityInfo | None = None
        self.gradients: BodyGradients | None = None
        self._keys_with: Counter[str] | None = None

    @property
    def keys_with(self) -> Counter[str]:
        """How many keys have each name."""
        if self._keys_with is None:
            self._keys_with = Counter(name for line in self.lines for name in {name.text for name in line.names})
        return self._keys_with

    @property
    def sorted_lines(self) -> list[KeyedFormula]:
        """The lines in the order in which torchgen reads them: keys sorted as text."""
        return sorted(self.lines, key=lambda line: line.key_text)

    def with_role(self, role: Role) -> list[KeyedFormula]:
        """The lines of one role, in file order."""
        return [line for line in self.lines if line.role is role]

    @property
    def is_resolved(self) -> bool:
        """Whether everything in it could be understood, so that conclusions from what is absent are sound."""
        declared = self.entry.output_differentiability
        if (declared is not None and declared.values is None) or self.entry.beside_dispatch:
            return False
        return all(line.role is not Role.UNRESOLVED and line.text is not None for line in self.lines)


class OutputDifferentiability(Struct, frozen=True):
    """The value of ``output_differentiability``.

    Attributes:
        key: the YAML key.
        node: the YAML value.
        values: one truth value for each output, as torchgen understands them; None where it means "not given".
        conditions: the C++ condition, for a list of one string.
    """

    key: Scalar
    node: Node
    values: tuple[bool, ...] | None
    conditions: tuple[str, ...] | None

    def value_node(self, index: int) -> Node:
        """The YAML node of one value; the whole node where it is no list or has no such item."""
        if isinstance(self.node, Sequence) and index < len(self.node.items):
            return self.node.items[index]
        return self.node

    @property
    def condition(self) -> Scalar | None:
        """The YAML scalar of the condition, if there is one."""
        if self.conditions is None or not isinstance(self.node, Sequence):
            return None
        node = self.node.items[0]
        return node if isinstance(node, Scalar) else None


class Expression(Struct, frozen=True):
    """A C++ expression of an entry: a formula, or the condition in ``output_differentiability``.

    Attributes:
        scalar: its YAML scalar.
        line: the pair of key and formula, None for the condition.
    """

    scalar: Scalar
    line: KeyedFormula | None

    @property
    def formula(self) -> Formula:
        """Its syntax tree."""
        return parse_formula(self.scalar.value)

    def range(self, start: int, end: int) -> Span:
        """The place in the file of a range of the expression's text."""
        return self.scalar.span_of(start, end)

    def is_exact(self) -> bool:
        """Whether ranges have exact places, so that they can be edited."""
        return self.scalar.exact


class Entry:
    """One item of the file's list.

    Attributes:
        index: its position in the list, from 0.
        node: its YAML node.
        name: the scalar with the schema, None where there is none.
        bodies: its formulas, one group for each dispatch key.
        dispatch: the YAML value of ``dispatch``, if the entry has that key.
        beside_dispatch: the pairs beside ``dispatch`` that torchgen ignores.
        output_differentiability: its value, if the entry has that key.
        problems: what is wrong with its form.
        misnamed: the key of the first value that is a schema, in an entry without ``name``.
        function: what its schema resolves to, once resolved.
        versions: the versions for which it holds, None in a file without versions.
    """

    __slots__ = (
        "__dict__",
        "beside_dispatch",
        "bodies",
        "dispatch",
        "dispatch_key_node",
        "function",
        "index",
        "misnamed",
        "name",
        "node",
        "output_differentiability",
        "problems",
        "versions",
    )

    def __init__(self, index: int, node: Node) -> None:
        self.index = index
        self.node = node
        self.name: Scalar | None = None
        self.bodies: tuple[DispatchBody, ...] = ()
        self.dispatch: Node | None = None
        self.dispatch_key_node: Scalar | None = None
        self.beside_dispatch: tuple[tuple[Scalar, Node], ...] = ()
        self.output_differentiability: OutputDifferentiability | None = None
        self.problems: list[ShapeProblem] = []
        self.misnamed: Scalar | None = None
        self.function: EntryFunction | None = None
        self.versions: EntryVersions | None = None

    @property
    def span(self) -> Span:
        """The place of the whole entry."""
        return self.node.span

    @property
    def mapping(self) -> Mapping | None:
        """The entry's YAML mapping, if it is one."""
        return self.node if isinstance(self.node, Mapping) else None

    @cached_property
    def operator(self) -> str | None:
        """The operator's name with its overload, as written: ``sort.stable``."""
        if self.name is None or not self.name.value:
            return None
        head, parenthesis, _ = self.name.value.partition("(")
        head = head.strip()
        return head if parenthesis and head else None

    @property
    def name_span(self) -> Span:
        """The place of the operator's name in the schema, or of the entry where it has none."""
        if self.name is None:
            return self.node.span
        operator = self.operator
        if operator is None:
            return self.name.span
        start = self.name.value.index(operator)
        return self.name.span_of(start, start + len(operator))

    @property
    def lines(self) -> list[KeyedFormula]:
        """The pairs of key and formula of all dispatch keys, in file order."""
        return [line for body in self.bodies for line in body.lines]

    @property
    def expressions(self) -> list[Expression]:
        """The C++ expressions of the entry: its formulas in file order, and the condition at the end."""
        found = [
            Expression(line.value, line) for line in self.lines if line.is_expression and isinstance(line.value, Scalar)
        ]
        declared = self.output_differentiability
        condition = declared.condition if declared is not None else None
        if condition is not None:
            found.append(Expression(condition, None))
        return found
