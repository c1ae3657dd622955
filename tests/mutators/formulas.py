"""Slips that a C++ compiler may notice: each operator makes a wrong, and sometimes a right, formula of a right one.

The verdict is never assumed: a compiler gives it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from derivlint.formula import (
    Binary,
    BraceList,
    Call,
    Conditional,
    Edit,
    Index,
    Member,
    Name,
    Node,
    Number,
    Parenthesized,
    String,
    apply_edits,
    parse_formula,
    walk,
)
from tests.mutators.syntax import Change

LITERALS = ("0", "1", "0.5", "true", '"text"', "{}", "{1, 2}", "std::nullopt", "nullptr", "Tensor()")
METHODS = ("conj", "dim", "sum", "sym_sizes", "value", "size", "defined", "scalar_type", "options", "isComplex")
FUNCTIONS = ("maybe_multiply", "handle_r_to_c", "at::sum", "at::pow", "zeros_like", "sum_to", "at::scalar_tensor")
SYMBOLS = ("+", "*", "/", "==", "<", "&&", "%", "&", "<<")
UNARY = ("-", "!", "*", "&", "~", "++")
WRAPPERS = ("std::get<0>({})", "{{{}}}", "double({})", "at::Scalar({})", "std::optional<Tensor>({})", "IntArrayRef({})")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed formula.

    Attributes:
        operator: the kind of slip.
        text: the formula.
    """

    operator: str
    text: str


@dataclass(frozen=True, slots=True)
class Material:
    """What an operator works with.

    Attributes:
        text: the formula.
        variables: the variables around it.
        dice: what it draws from.
    """

    text: str
    variables: tuple[str, ...]
    dice: random.Random

    def of(self, node: Node) -> str:
        """The text of a node."""
        return self.text[node.start : node.end]

    def value(self) -> str:
        """A literal or a variable."""
        return self.dice.choice((*LITERALS, *self.variables))


#: Gives the change of a node, None where there is nothing to change.
Operator = Callable[[Material, Any], "Change | None"]
#: The operators by name, each with the types of the nodes that it changes.
OPERATORS: dict[str, tuple[tuple[type[Node], ...], Operator]] = {}


def on(*types: type[Node]) -> Callable[[Operator], Operator]:
    """Register an operator on a random node of these types."""

    def register(operator: Operator) -> Operator:
        OPERATORS[operator.__name__] = types, operator
        return operator

    return register


def misspelt(word: str, dice: random.Random) -> str:
    """A word with a letter dropped, doubled or swapped."""
    at = dice.randrange(len(word))
    ways = (word[:at] + word[at + 1 :], word[: at + 1] + word[at:], word[:at] + "q" + word[at + 1 :])
    return dice.choice(ways) or "q"


@on(Name)
def misspell_name(m: Material, node: Name) -> Change | None:
    part = m.dice.choice(node.parts)
    return part.start, part.start + len(part.identifier), misspelt(part.identifier, m.dice)


@on(Member)
def misspell_member(m: Material, node: Member) -> Change | None:
    return node.name_start, node.name_end, misspelt(node.name, m.dice)


@on(Call)
def drop_argument(m: Material, node: Call) -> Change | None:
    if not node.args:
        return None
    arguments = list(map(m.of, node.args))
    del arguments[m.dice.randrange(len(arguments))]
    return node.args[0].start, node.args[-1].end, ", ".join(arguments)


@on(Call)
def add_argument(m: Material, node: Call) -> Change | None:
    extra = m.value()
    return node.end - 1, node.end - 1, f", {extra}" if node.args else extra


@on(Call)
def swap_arguments(m: Material, node: Call) -> Change | None:
    if len(node.args) < 2:
        return None
    at = m.dice.randrange(len(node.args) - 1)
    first, second = node.args[at], node.args[at + 1]
    return first.start, second.end, m.of(second) + m.text[first.end : second.start] + m.of(first)


@on(Call)
def replace_argument(m: Material, node: Call) -> Change | None:
    if not node.args:
        return None
    argument = m.dice.choice(node.args)
    return argument.start, argument.end, m.value()


@on(Name)
def replace_variable(m: Material, node: Name) -> Change | None:
    return (node.start, node.end, m.dice.choice(m.variables)) if node.simple is not None and m.variables else None


@on(Member)
def other_method(m: Material, node: Member) -> Change | None:
    return node.name_start, node.name_end, m.dice.choice(METHODS)


@on(Call, Index, Parenthesized, Name)
def append_method(m: Material, node: Node) -> Change | None:
    return node.end, node.end, f".{m.dice.choice(METHODS)}()"


@on(Call)
def other_function(m: Material, node: Call) -> Change | None:
    return (node.callee.start, node.callee.end, m.dice.choice(FUNCTIONS)) if isinstance(node.callee, Name) else None


@on(Call)
def toggle_symint(m: Material, node: Call) -> Change | None:
    end = node.callee.end
    return (end - len("_symint"), end, "") if m.text[:end].endswith("_symint") else (end, end, "_symint")


@on(Name)
def toggle_namespace(m: Material, node: Name) -> Change | None:
    if len(node.parts) > 1:
        return node.start, node.parts[-1].start, m.dice.choice(("", "at::", "c10::", "std::"))
    return node.start, node.start, m.dice.choice(("at::", "c10::", "std::", "at::native::", "::"))


@on(Member)
def toggle_arrow(m: Material, node: Member) -> Change | None:
    return node.object.end, node.name_start, "." if node.arrow else "->"


@on(Call)
def drop_parentheses(m: Material, node: Call) -> Change | None:
    return (node.callee.end, node.end, "") if not node.args else None


@on(Name, Call)
def add_index(m: Material, node: Node) -> Change | None:
    return node.end, node.end, m.dice.choice(("[0]", "[1]", "[self]", "[i]"))


@on(Index)
def drop_index(m: Material, node: Index) -> Change | None:
    return node.object.end, node.end, ""


@on(Binary)
def other_operator(m: Material, node: Binary) -> Change | None:
    return node.op_start, node.op_start + len(node.op), m.dice.choice(SYMBOLS)


@on(Name, Call, Parenthesized)
def add_unary(m: Material, node: Node) -> Change | None:
    return node.start, node.start, m.dice.choice(UNARY)


@on(Name, Call, Number)
def add_conditional(m: Material, node: Node) -> Change | None:
    condition = m.dice.choice(("true", "1 > 0", "self", "grad.defined()"))
    return node.start, node.end, f"({condition} ? {m.of(node)} : {m.value()})"


@on(Conditional)
def other_branch(m: Material, node: Conditional) -> Change | None:
    branch = m.dice.choice((node.then, node.otherwise))
    return branch.start, branch.end, m.value()


@on(Name, Call, Number)
def wrap(m: Material, node: Node) -> Change | None:
    return node.start, node.end, m.dice.choice(WRAPPERS).format(m.of(node))


@on(Number)
def other_number(m: Material, node: Number) -> Change | None:
    return node.start, node.end, m.dice.choice(("1.5", "-1", '"2"', "7", "{0}"))


@on(String)
def other_string(m: Material, node: String) -> Change | None:
    return node.start, node.end, m.dice.choice(("1", "'x'", "grad", "true"))


@on(BraceList)
def other_braces(m: Material, node: BraceList) -> Change | None:
    return node.start, node.end, m.dice.choice(("{}", "{0.5}", "{1, 2, 3}", "{{1}}", "1", "{self}"))


@on(Member)
def without_receiver(m: Material, node: Member) -> Change | None:
    return node.object.start, node.name_start, ""


@on(Call)
def method_as_function(m: Material, node: Call) -> Change | None:
    if not isinstance(node.callee, Member):
        return None
    return node.start, node.end, f"{node.callee.name}({', '.join(map(m.of, (node.callee.object, *node.args)))})"


@on(Call)
def function_as_method(m: Material, node: Call) -> Change | None:
    if not isinstance(node.callee, Name) or not node.args:
        return None
    first, *rest = map(m.of, node.args)
    return node.start, node.end, f"{first}.{node.callee.parts[-1].identifier}({', '.join(rest)})"


@on()
def whole_formula(m: Material, node: Node) -> Change | None:
    return 0, len(m.text), m.value()


def mutate(text: str, variables: Sequence[str], operator: str, dice: random.Random) -> Mutant | None:
    """One mutant of a formula, None where the operator finds nothing to change."""
    tree = parse_formula(text).tree
    if tree is None:
        return None
    types, change = OPERATORS[operator]
    nodes = [node for node in walk(tree) if isinstance(node, types)] if types else [tree]
    made = change(Material(text, tuple(variables), dice), dice.choice(nodes)) if nodes else None
    changed = apply_edits(text, [Edit(*made)]) if made is not None else text
    return Mutant(operator, changed) if changed != text else None
