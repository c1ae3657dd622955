"""Expressions on several lines, as ``ruff format`` breaks them: at the outermost brackets and operators first."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from msgspec import Struct

WIDTH = 120
STEP = 4


class _Source(Struct, frozen=True):
    """An expression on one line with its tree; parts are cut out of the text, parentheses and all."""

    text: str
    tree: ast.expr

    @classmethod
    def of(cls, text: str) -> _Source:
        return cls(text, ast.parse(text, mode="eval").body)

    def is_parenthesized(self) -> bool:
        return self.tree.col_offset > 0

    def between(self, start: int, end: int) -> str:
        return self.text[start:end].strip()


def fits(text: str, indent: int) -> bool:
    """Whether a text fits into a line that begins further to the right."""
    return indent + len(text) <= WIDTH


def assignment(target: str, value: str, indent: int) -> list[str]:
    """The statements that assign a value; a choice between two becomes an ``if`` where it is too long for a line.

    Args:
        target: what comes before the equals sign.
        value: the expression.
        indent: how many columns the statements are moved to the right; the lines come without them.
    """
    line = f"{target} = {value}"
    if fits(line, indent):
        return [line]
    source = _Source.of(value)
    if isinstance(source.tree, ast.IfExp):
        return _choice(target, source, source.tree, indent, "if")
    return wrapped(f"{target} = ", value, "", indent)


def _choice(target: str, source: _Source, tree: ast.IfExp, indent: int, keyword: str) -> list[str]:
    if source.is_parenthesized():
        source = _Source.of(source.text[1:-1])
        assert isinstance(source.tree, ast.IfExp)
        tree = source.tree
    condition_start = source.text.index(" if ", _end(source.text, tree.body)) + 4
    condition_end = source.text.index(" else ", _end(source.text, tree.test))
    then, condition = source.between(0, condition_start - 4), source.between(condition_start, condition_end)
    otherwise = source.text[condition_end + 6 :]
    lines = wrapped(f"{keyword} ", condition, ":", indent)
    lines += _indented(assignment(target, then, indent + STEP))
    rest = _Source.of(otherwise)
    if isinstance(rest.tree, ast.IfExp) and not fits(f"{target} = {otherwise}", indent + STEP):
        return [*lines, *_choice(target, rest, rest.tree, indent, "elif")]
    return [*lines, "else:", *_indented(assignment(target, otherwise, indent + STEP))]


def wrapped(head: str, text: str, tail: str, indent: int) -> list[str]:
    """A statement with an expression in it, in parentheses where it has to be broken outside of brackets.

    Args:
        head: what comes before the expression.
        text: the expression.
        tail: what comes after it.
        indent: how many columns the statement is moved to the right; the lines come without them.
    """
    return _wrapped(head, text, tail, indent, in_brackets=False)


def indented(lines: Iterable[str], depth: int = 1) -> list[str]:
    """Lines further to the right; empty lines stay empty."""
    return [f"{'    ' * depth}{line}" if line else "" for line in lines]


def listed(head: str, items: Sequence[str], tail: str, *, depth: int) -> list[str]:
    """``head``, items and ``tail`` on one line, or one item to a line where that is too long.

    Args:
        head: what ends with the opening bracket.
        items: the items.
        tail: what begins with the closing bracket.
        depth: how deep the statement stands.
    """
    line = f"{head}{', '.join(items)}{tail}"
    if len(line) + 4 * depth <= WIDTH or not items:
        return [line]
    inner = ", ".join(items)
    # the magic comma is not put after what cannot be followed by one
    if len(inner) + 4 * (depth + 1) <= WIDTH:
        return [head, f"    {inner}", tail]
    return [head, *(f"    {item}," for item in items), tail]


def assigned(target: str, value: str, *, depth: int) -> list[str]:
    """The assignment of an expression, broken where it is too long."""
    return assignment(target, value, 4 * depth)


def return_statement(values: Sequence[str], *, depth: int) -> list[str]:
    """The return of one value or of a tuple, one value to a line where that is too long."""
    if len(values) == 1:
        return [f"return ({values[0]},)" if values[0].startswith("*") else f"return {values[0]}"]
    line = f"return {', '.join(values)}"
    if len(line) + 4 * depth <= WIDTH:
        return [line]
    return ["return (", *(f"    {value}," for value in values), ")"]


def unpacked(names: Sequence[str], value: str, *, depth: int) -> list[str]:
    """The assignment of a tuple to names."""
    if len(names) == 1:
        return [f"({names[0]},) = {value}"]
    line = f"{', '.join(names)} = {value}"
    if len(line) + 4 * depth <= WIDTH:
        return [line]
    return ["(", *(f"    {name}," for name in names), f") = {value}"]


def _wrapped(head: str, text: str, tail: str, indent: int, *, in_brackets: bool) -> list[str]:
    if fits(f"{head}{text}{tail}", indent):
        return [f"{head}{text}{tail}"]
    source = _Source.of(text)
    if isinstance(source.tree, ast.ListComp):
        inside = text[1:-1]
        end = inside.index(" for ", _end(text, source.tree.elt) - 1)
        lines = [inside]
        if not fits(inside, indent + STEP):
            lines = [*_wrapped("", inside[:end], "", indent + STEP, in_brackets=True), inside[end + 1 :]]
        return [f"{head}[", *_indented(lines), f"]{tail}"]
    operands = _operands(source)
    links = [] if operands else _links(source)
    # one operator alone is not broken where the brackets around it can be
    alone = len(operands) == 2 and not in_brackets and text.endswith(")")
    if alone or (not operands and len(links) < 3):
        broken = _brackets(head, text, tail, indent)
        if broken is not None:
            return broken
    parts = operands or (links if len(links) > 2 else [])
    if not in_brackets:
        return [f"{head}(", *_indented(_wrapped("", text, "", indent + STEP, in_brackets=True)), f"){tail}"]
    if not parts:
        return [f"{head}{text}{tail}"]
    return [
        line
        for index, part in enumerate(parts)
        for line in _part(part, head if index == 0 else "", tail if index == len(parts) - 1 else "", indent)
    ]


def _part(part: str, head: str, tail: str, indent: int) -> list[str]:
    """One operand with the operator before it, or one link of a chain of calls."""
    whole = f"{head}{part}{tail}"
    if fits(whole, indent):
        return [whole]
    operator, _, operand = part.partition(" ")
    if part.startswith("."):
        broken = _brackets(head, part, tail, indent)
        return broken if broken is not None else [whole]
    if operator in _OPERATORS:
        return _wrapped(f"{head}{operator} ", operand, tail, indent, in_brackets=True)
    return _wrapped(head, part, tail, indent, in_brackets=True)


def _brackets(head: str, text: str, tail: str, indent: int) -> list[str] | None:
    """An expression with what is in brackets on lines of its own, wherever a line would not reach the next bracket."""
    lines: list[str] = []
    line, done = head, 0
    brackets = [(start, end) for start, end in _outer_brackets(text) if end > start + 1]
    for index, (start, end) in enumerate(brackets):
        is_last = index + 1 == len(brackets)
        reach = text[done:] + tail if is_last else text[done : brackets[index + 1][0] + 1]
        if fits(line + reach, indent):
            line, done = line + text[done : end + 1], end + 1
            continue
        first = line + text[done : start + 1]
        if not fits(first, indent):
            return None
        kind = "[" if text[start] == "[" else "call" if _is_call(text, start + 1) else "("
        lines += [first, *_indented(_inside(text[start + 1 : end], indent + STEP, kind))]
        line, done = text[end], end + 1
    return [*lines, line + text[done:] + tail] if lines else None


def _inside(text: str, indent: int, kind: str) -> list[str]:
    """Break the content of brackets: the arguments of a call on one line if they fit, else one item to a line.

    Args:
        text: what is inside.
        indent: how many columns it is moved to the right.
        kind: ``call``, or the bracket that begins a list or a tuple, or that only groups.
    """
    items = _items(text)
    if kind == "(" and len(items) == 1:
        return _wrapped("", text, "", indent, in_brackets=True)
    if kind == "call" and fits(text, indent):
        return [text]
    return [line for item in items for line in _item(item, indent, alone=len(items) == 1)]


def _item(item: str, indent: int, *, alone: bool) -> list[str]:
    """An argument, with a comma after it where one may follow."""
    comma = "" if alone and item.startswith("*") else ","
    name, equals, value = item.partition("=")
    if equals and name.isidentifier() and not value.startswith("="):
        return _wrapped(f"{name}=", value, comma, indent, in_brackets=True)
    stars = item[: len(item) - len(item.lstrip("*"))]
    return _wrapped(stars, item[len(stars) :], comma, indent, in_brackets=True)


_SYMBOLS: dict[type[ast.operator] | type[ast.cmpop], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
}
_OPERATORS = frozenset((*_SYMBOLS.values(), "and", "or", "if", "else"))
_SUMS = (ast.Add, ast.Sub)
_PRODUCTS = (ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)


def _operands(source: _Source) -> list[str]:
    """The operands of the operators that bind least, each but the first with its operator; none without operators."""
    tree, text = source.tree, source.text
    if _is_in_brackets(text):
        return []
    cuts: list[int] = []
    if isinstance(tree, ast.IfExp):
        choice: ast.expr = tree
        while isinstance(choice, ast.IfExp):
            cuts.append(text.index(" if ", _end(text, choice.body)) + 1)
            cuts.append(text.index(" else ", _end(text, choice.test)) + 1)
            choice = choice.orelse
            if _end(text, choice) != choice.end_col_offset:
                # in parentheses
                break
    elif isinstance(tree, ast.BoolOp):
        word = " and " if isinstance(tree.op, ast.And) else " or "
        cuts = [text.index(word, _end(text, value)) + 1 for value in tree.values[:-1]]
    elif isinstance(tree, ast.Compare) and len(tree.ops) == 1:
        symbol = f" {_SYMBOLS[type(tree.ops[0])]} "
        cuts = [text.index(symbol, _end(text, tree.left)) + 1]
    elif isinstance(tree, ast.BinOp):
        cuts = _binary_cuts(text, tree)
    if not cuts:
        return []
    return [text[start:end].strip() for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _binary_cuts(text: str, tree: ast.BinOp) -> list[int]:
    level = next((level for level in (_SUMS, _PRODUCTS) if isinstance(tree.op, level)), (type(tree.op),))
    cuts: list[int] = []
    node: ast.expr = tree
    while isinstance(node, ast.BinOp) and isinstance(node.op, level):
        end = _end(text, node.left)
        cuts.insert(0, text.index(f" {_SYMBOLS[type(node.op)]} ", end) + 1)
        if end != node.left.end_col_offset:
            # in parentheses
            break
        node = node.left
    return cuts


def _links(source: _Source) -> list[str]:
    """A chain ``a.b(...).c(...)`` of at least two calls in its links, the first with what is before."""
    node: ast.expr = source.tree
    cuts: list[int] = []
    text = source.text
    if not isinstance(node, ast.Call) or _is_in_brackets(text):
        return []
    while isinstance(node, ast.Call | ast.Subscript):
        if isinstance(node, ast.Subscript):
            node = node.value
            continue
        if not isinstance(node.func, ast.Attribute):
            break
        node = node.func.value
        end = _end(text, node)
        cuts.insert(0, end)
        if end != node.end_col_offset:
            # the parentheses around it hold a chain of their own
            break
    if isinstance(node, ast.Name | ast.Attribute):
        # what is called first belongs to what it is called on
        cuts = cuts[1:]
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _end(text: str, node: ast.expr) -> int:
    """The place where a node ends in the text, with the parentheses around it."""
    end, start = node.end_col_offset or 0, node.col_offset
    while end < len(text) and text[end] == ")" and start > 0 and text[start - 1] == "(" and not _is_call(text, start):
        end, start = end + 1, start - 1
    return end


def _is_call(text: str, start: int) -> bool:
    """Whether the bracket before a place belongs to a call."""
    return start >= 2 and (text[start - 2].isalnum() or text[start - 2] in "_)]")


def _outer_brackets(text: str) -> list[tuple[int, int]]:
    """The place where brackets that are in no other are opened and closed."""
    depth, start, pairs = 0, 0, []
    for index, char in _code(text):
        if char in "([{":
            start = index if depth == 0 else start
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                pairs.append((start, index))
    return pairs


def _is_in_brackets(text: str) -> bool:
    """Whether the whole is in one pair of brackets."""
    return _outer_brackets(text)[:1] == [(0, len(text) - 1)]


def _items(text: str) -> list[str]:
    """Split a text at the commas outside of brackets."""
    depth, start, items = 0, 0, []
    for index, char in _code(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            items.append(text[start:index].strip())
            start = index + 1
    return [*items, text[start:].strip()]


def _code(text: str) -> list[tuple[int, str]]:
    """The characters outside of string literals, with their places."""
    characters, quote, previous = [], "", ""
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote and previous != "\\" else quote
        elif char in "\"'":
            quote = char
        else:
            characters.append((index, char))
        previous = char
    return characters


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"{' ' * STEP}{line}" for line in lines]
