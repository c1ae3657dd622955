"""Slips that a C++ compiler may notice: each operator makes a wrong, and sometimes a right, formula of a right one.

The verdict is never assumed: a compiler gives it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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

LITERALS = ("0", "1", "0.5", "true", '"text"', "{}", "{1, 2}", "std::nullopt", "nullptr", "Tensor()")
METHODS = ("conj", "dim", "sum", "sym_sizes", "value", "size", "defined", "scalar_type", "options", "isComplex")
FUNCTIONS = ("maybe_multiply", "handle_r_to_c", "at::sum", "at::pow", "zeros_like", "sum_to", "at::scalar_tensor")
OPERATORS = ("+", "*", "/", "==", "<", "&&", "%", "&", "<<")
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
    """What an operator works with: the formula, its nodes, the variables around it, and the dice."""

    text: str
    nodes: tuple[Node, ...]
    variables: tuple[str, ...]
    dice: random.Random

    def pick(self, *types: type[Node]) -> Node | None:
        """A random node of these types."""
        found = [node for node in self.nodes if isinstance(node, types)]
        return self.dice.choice(found) if found else None

    def call_with_arguments(self) -> Call | None:
        """A random call that has arguments."""
        found = [node for node in self.nodes if isinstance(node, Call) and node.args]
        return self.dice.choice(found) if found else None

    def replaced(self, start: int, end: int, text: str) -> str:
        """The formula with a part replaced."""
        return apply_edits(self.text, [Edit(start, end, text)])

    def of(self, node: Node) -> str:
        """The text of a node."""
        return self.text[node.start : node.end]


Operator = Callable[[Material], str | None]


def misspelt(word: str, dice: random.Random) -> str:
    """A word with a letter dropped, doubled or swapped."""
    at = dice.randrange(len(word))
    ways = (word[:at] + word[at + 1 :], word[: at + 1] + word[at:], word[:at] + "q" + word[at + 1 :])
    return dice.choice(ways) or "q"


def misspell_name(m: Material) -> str | None:
    node = m.pick(Name)
    if not isinstance(node, Name):
        return None
    part = m.dice.choice(node.parts)
    end = part.start + len(part.identifier)
    return m.replaced(part.start, end, misspelt(part.identifier, m.dice))


def misspell_member(m: Material) -> str | None:
    node = m.pick(Member)
    return m.replaced(node.name_start, node.name_end, misspelt(node.name, m.dice)) if isinstance(node, Member) else None


def drop_argument(m: Material) -> str | None:
    node = m.call_with_arguments()
    if node is None:
        return None
    kept = list(node.args)
    kept.pop(m.dice.randrange(len(kept)))
    return m.replaced(node.args[0].start, node.args[-1].end, ", ".join(map(m.of, kept)))


def add_argument(m: Material) -> str | None:
    node = m.pick(Call)
    if not isinstance(node, Call):
        return None
    extra = m.dice.choice((*LITERALS, *m.variables))
    return m.replaced(node.end - 1, node.end - 1, f", {extra}" if node.args else extra)


def swap_arguments(m: Material) -> str | None:
    node = m.call_with_arguments()
    if node is None or len(node.args) < 2:
        return None
    at = m.dice.randrange(len(node.args) - 1)
    first, second = node.args[at], node.args[at + 1]
    between = m.text[first.end : second.start]
    return m.replaced(first.start, second.end, m.of(second) + between + m.of(first))


def replace_argument(m: Material) -> str | None:
    node = m.call_with_arguments()
    if node is None:
        return None
    argument = m.dice.choice(node.args)
    return m.replaced(argument.start, argument.end, m.dice.choice((*LITERALS, *m.variables)))


def replace_variable(m: Material) -> str | None:
    node = m.pick(Name)
    if not isinstance(node, Name) or node.simple is None or not m.variables:
        return None
    return m.replaced(node.start, node.end, m.dice.choice(m.variables))


def other_method(m: Material) -> str | None:
    node = m.pick(Member)
    return m.replaced(node.name_start, node.name_end, m.dice.choice(METHODS)) if isinstance(node, Member) else None


def append_method(m: Material) -> str | None:
    node = m.pick(Call, Index, Parenthesized, Name)
    return m.replaced(node.end, node.end, f".{m.dice.choice(METHODS)}()") if node is not None else None


def other_function(m: Material) -> str | None:
    node = m.pick(Call)
    if not isinstance(node, Call) or not isinstance(node.callee, Name):
        return None
    return m.replaced(node.callee.start, node.callee.end, m.dice.choice(FUNCTIONS))


def toggle_symint(m: Material) -> str | None:
    node = m.pick(Call)
    if not isinstance(node, Call):
        return None
    end = node.callee.end
    if m.text[:end].endswith("_symint"):
        return m.replaced(end - len("_symint"), end, "")
    return m.replaced(end, end, "_symint")


def toggle_namespace(m: Material) -> str | None:
    node = m.pick(Name)
    if not isinstance(node, Name):
        return None
    if len(node.parts) > 1:
        return m.replaced(node.start, node.parts[-1].start, m.dice.choice(("", "at::", "c10::", "std::")))
    return m.replaced(node.start, node.start, m.dice.choice(("at::", "c10::", "std::", "at::native::", "::")))


def toggle_arrow(m: Material) -> str | None:
    node = m.pick(Member)
    if not isinstance(node, Member):
        return None
    return m.replaced(node.object.end, node.name_start, "." if node.arrow else "->")


def drop_parentheses(m: Material) -> str | None:
    node = m.pick(Call)
    return m.replaced(node.callee.end, node.end, "") if isinstance(node, Call) and not node.args else None


def add_index(m: Material) -> str | None:
    node = m.pick(Name, Call)
    return m.replaced(node.end, node.end, m.dice.choice(("[0]", "[1]", "[self]", "[i]"))) if node is not None else None


def drop_index(m: Material) -> str | None:
    node = m.pick(Index)
    return m.replaced(node.object.end, node.end, "") if isinstance(node, Index) else None


def other_operator(m: Material) -> str | None:
    node = m.pick(Binary)
    if not isinstance(node, Binary):
        return None
    return m.replaced(node.op_start, node.op_start + len(node.op), m.dice.choice(OPERATORS))


def add_unary(m: Material) -> str | None:
    node = m.pick(Name, Call, Parenthesized)
    return m.replaced(node.start, node.start, m.dice.choice(UNARY)) if node is not None else None


def add_conditional(m: Material) -> str | None:
    node = m.pick(Name, Call, Number)
    if node is None:
        return None
    other = m.dice.choice((*LITERALS, *m.variables))
    condition = m.dice.choice(("true", "1 > 0", "self", "grad.defined()"))
    return m.replaced(node.start, node.end, f"({condition} ? {m.of(node)} : {other})")


def other_branch(m: Material) -> str | None:
    node = m.pick(Conditional)
    if not isinstance(node, Conditional):
        return None
    branch = m.dice.choice((node.then, node.otherwise))
    return m.replaced(branch.start, branch.end, m.dice.choice((*LITERALS, *m.variables)))


def wrap(m: Material) -> str | None:
    node = m.pick(Name, Call, Number)
    if node is None:
        return None
    return m.replaced(node.start, node.end, m.dice.choice(WRAPPERS).format(m.of(node)))


def other_number(m: Material) -> str | None:
    node = m.pick(Number)
    return (
        m.replaced(node.start, node.end, m.dice.choice(("1.5", "-1", '"2"', "7", "{0}"))) if node is not None else None
    )


def other_string(m: Material) -> str | None:
    node = m.pick(String)
    return m.replaced(node.start, node.end, m.dice.choice(("1", "'x'", "grad", "true"))) if node is not None else None


def other_braces(m: Material) -> str | None:
    node = m.pick(BraceList)
    if node is None:
        return None
    return m.replaced(node.start, node.end, m.dice.choice(("{}", "{0.5}", "{1, 2, 3}", "{{1}}", "1", "{self}")))


def without_receiver(m: Material) -> str | None:
    node = m.pick(Member)
    return m.replaced(node.object.start, node.name_start, "") if isinstance(node, Member) else None


def method_as_function(m: Material) -> str | None:
    node = m.pick(Call)
    if not isinstance(node, Call) or not isinstance(node.callee, Member):
        return None
    arguments = ", ".join([m.of(node.callee.object), *map(m.of, node.args)])
    return m.replaced(node.start, node.end, f"{node.callee.name}({arguments})")


def function_as_method(m: Material) -> str | None:
    node = m.call_with_arguments()
    if node is None or not isinstance(node.callee, Name):
        return None
    first, *others = node.args
    name = node.callee.parts[-1].identifier
    return m.replaced(node.start, node.end, f"{m.of(first)}.{name}({', '.join(map(m.of, others))})")


def whole_formula(m: Material) -> str | None:
    return m.dice.choice((*LITERALS, *m.variables))


OPERATORS_OF_SLIPS: dict[str, Operator] = {
    function.__name__: function
    for function in (
        misspell_name,
        misspell_member,
        drop_argument,
        add_argument,
        swap_arguments,
        replace_argument,
        replace_variable,
        other_method,
        append_method,
        other_function,
        toggle_symint,
        toggle_namespace,
        toggle_arrow,
        drop_parentheses,
        add_index,
        drop_index,
        other_operator,
        add_unary,
        add_conditional,
        other_branch,
        wrap,
        other_number,
        other_string,
        other_braces,
        without_receiver,
        method_as_function,
        function_as_method,
        whole_formula,
    )
}


def mutate(text: str, variables: Sequence[str], operator: str, dice: random.Random) -> Mutant | None:
    """One mutant of a formula, None where the operator finds nothing to change."""
    tree = parse_formula(text).tree
    if tree is None:
        return None
    changed = OPERATORS_OF_SLIPS[operator](Material(text, tuple(walk(tree)), tuple(variables), dice))
    return Mutant(operator, changed) if changed is not None and changed != text else None
