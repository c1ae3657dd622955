"""Slips that compile and give a wrong gradient, made of right entries: what the rules about meaning are measured by.

Each operator changes one formula of an entry of the released file. All results are valid C++ of the right types, as far
as tensors go, and all are wrong (the operators avoid changes that could be right).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from derivlint.analysis.typed import TypedFormula, seed_names, seed_of
from derivlint.cpp.cpp_type import cpp_type
from derivlint.formula import Binary, Call, Edit, Index, Member, Name, Node, apply_edits, walk
from derivlint.model import Entry


@dataclass(frozen=True, slots=True)
class SemanticMutant:
    """A changed formula.

    Attributes:
        operator: the kind of slip.
        entry: the position of the entry.
        key: the key of the changed formula.
        text: the changed formula.
    """

    operator: str
    entry: int
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Subject:
    """A formula with what an operator works on."""

    formula: TypedFormula
    tree: Node
    text: str
    seeds: frozenset[str]
    dice: random.Random

    def replaced(self, node: Node, text: str) -> str:
        """The formula with one node replaced."""
        return apply_edits(self.text, [Edit(node.start, node.end, text)])

    def of(self, node: Node) -> str:
        """The text of a node."""
        return self.text[node.start : node.end]

    def used(self) -> list[Node]:
        """The places of gradients or tangents that count by value: not ``grad.sizes()`` or ``grad.defined()``."""
        metadata = {
            id(node.object)
            for node in walk(self.tree)
            if isinstance(node, Member) and node.name in ("defined", "sym_sizes", "options", "scalar_type", "dim")
        }
        inside = {id(node.object) for node in walk(self.tree) if isinstance(node, Index)}
        return [
            node
            for node in walk(self.tree)
            if isinstance(node, (Name, Index))
            and seed_of(node, self.seeds) is not None
            and id(node) not in metadata
            and id(node) not in inside
            and self.of(node) != "grads"
        ]


Operator = Callable[[Subject], str | None]


def _all_zero(text: str) -> bool:
    return text.startswith(("zeros_like(", "not_implemented(", "auto_", "self_t.zero_"))


def squared(subject: Subject) -> str | None:
    """A gradient or tangent is multiplied by itself."""
    places = subject.used()
    if not places or _all_zero(subject.text):
        return None
    node = subject.dice.choice(places)
    return subject.replaced(node, f"({subject.of(node)} * {subject.of(node)})")


def replaced_by_input(subject: Subject) -> str | None:
    """Every gradient is replaced by an input."""
    places = subject.used()
    function = subject.formula.written.entry.function
    if not subject.formula.is_backward or not places or function is None or _all_zero(subject.text):
        return None
    names = [item.name for item in function.arguments if item.argument and str(item.argument.type) == "Tensor"]
    if not names:
        return None
    name = subject.dice.choice(names)
    return apply_edits(subject.text, [Edit(node.start, node.end, name) for node in places])


def dropped_factor(subject: Subject) -> str | None:
    """``grad * x`` becomes ``x``."""
    for node in walk(subject.tree):
        if isinstance(node, Binary) and node.op == "*" and subject.formula.is_backward:
            left = isinstance(node.left, Name) and node.left.simple == "grad"
            if left and subject.of(subject.tree) == subject.of(node):
                return subject.replaced(node, subject.of(node.right))
    return None


def constant_term(subject: Subject) -> str | None:
    """A constant is added to a tangent."""
    if subject.formula.is_backward or not subject.used() or subject.formula.written.auto or "std::" in subject.text:
        return None
    types = subject.formula.evaluation.consumer.type
    return f"{subject.text} + 1" if types is cpp_type("optional<Tensor>") else None


def primal_for_tangent(subject: Subject) -> str | None:
    """One of several tangents in a sum becomes a primal."""
    if subject.formula.is_backward or not isinstance(subject.tree, Binary) or subject.tree.op not in ("+", "-"):
        return None
    inside = [node for node in subject.used() if subject.tree.left.start <= node.start < subject.tree.left.end]
    if len(inside) != 1 or not subject.of(inside[0]).endswith("_t"):
        return None
    return subject.replaced(inside[0], subject.of(inside[0])[:-1] + "p")


def tangent_for_primal(subject: Subject) -> str | None:
    """A primal that multiplies a tangent becomes a tangent."""
    if subject.formula.is_backward:
        return None
    declared = subject.formula.evaluation.variables
    for node in walk(subject.tree):
        if not isinstance(node, Binary) or node.op != "*":
            continue
        names = [side for side in (node.left, node.right) if isinstance(side, Name)]
        primals = [
            side for side in names if subject.of(side).endswith("_p") and subject.of(side)[:-1] + "t" in declared
        ]
        if len(names) == 2 and len(primals) == 1:
            return subject.replaced(primals[0], subject.of(primals[0])[:-1] + "t")
    return None


def conjugate_dropped(subject: Subject) -> str | None:
    """``x.conj()`` becomes ``x`` in a product with the gradient."""
    if not subject.formula.is_backward:
        return None
    for node in walk(subject.tree):
        if not isinstance(node, Binary) or node.op not in ("*", "/"):
            continue
        right = node.right
        is_conj = isinstance(right, Call) and isinstance(right.callee, Member) and right.callee.name == "conj"
        if is_conj and isinstance(node.left, Name) and node.left.simple == "grad":
            return subject.replaced(right, subject.of(right)[: -len(".conj()")])
    return None


def gradient_repeated(subject: Subject) -> str | None:
    """``f(grads[0], grads[1])`` becomes ``f(grads[0], grads[0])``."""
    calls = [node for node in walk(subject.tree) if isinstance(node, Call)]
    for node in calls:
        passed = [argument for argument in node.args if subject.of(argument) in ("grads[0]", "grads[1]")]
        if len(passed) == 2 and subject.of(passed[0]) != subject.of(passed[1]):
            return subject.replaced(passed[1], subject.of(passed[0]))
    return None


OPERATORS: dict[str, Operator] = {
    "gradient or tangent squared": squared,
    "gradient replaced by an input": replaced_by_input,
    "gradient dropped": dropped_factor,
    "constant added to a tangent": constant_term,
    "primal for tangent": primal_for_tangent,
    "tangent for primal": tangent_for_primal,
    "conjugation dropped": conjugate_dropped,
    "gradient repeated": gradient_repeated,
}


def mutants(entries: list[tuple[Entry, tuple[TypedFormula, ...]]], dice: random.Random) -> Iterator[SemanticMutant]:
    """Every operator on every formula, in file order; formulas of operators for tests and automatic ones left out."""
    for entry, formulas in entries:
        if (entry.operator or "").startswith("_test_"):
            continue
        for formula in formulas:
            written = formula.written
            tree = written.parsed.tree
            if tree is None or written.text is None or written.auto is not None or written.body.key != "Default":
                continue
            subject = Subject(formula, tree, written.text, seed_names(formula), dice)
            for name, operator in OPERATORS.items():
                text = operator(subject)
                if text is not None and text != written.text:
                    yield SemanticMutant(name, entry.index, written.key_text, text)
