"""Wraps expressions as ``ruff format`` does: at the outermost brackets and operators first."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from msgspec import Struct

WIDTH = 120
STEP = 4


class _Source(Struct, frozen=True):
    """A one-line expression with its tree; parts are slices of the text, including parentheses."""

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
    """Whether a text fits on a line with an indentation."""
    return indent + len(text) <= WIDTH


def assignment(target: str, value: str, indent: int) -> list[str]:
    """The statements that assign a value; a conditional expression that is too long becomes an ``if``.

    Args:
        target: the text before the equals sign.
        value: the expression.
        indent: the indentation of the statements, which the lines do not have yet.
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
    """A statement with an expression, parenthesized if it must be broken outside of brackets.

    Args:
        head: the text before the expression.
        text: the expression.
        tail: the text after it.
        indent: the indentation of the statement, which the lines do not have yet.
    """
    return _wrapped(head, text, tail, indent, in_brackets=False)


def indented(lines: Iterable[str], depth: int = 1) -> list[str]:
    """Indent lines, except empty ones."""
    return [f"{'    ' * depth}{line}" if line else "" for line in lines]


def listed(head: str, items: Sequence[str], tail: str, *, depth: int) -> list[str]:
    """``head``, items and ``tail`` on one line, or one item a line if that is too long.

    Args:
        head: the text up to the opening bracket.
        items: the items.
        tail: the text from the closing bracket on.
        depth: the nesting depth of the statement.
    """
    line = f"{head}{', '.join(items)}{tail}"
    if len(line) + 4 * depth <= WIDTH or not items:
        return [line]
    inner = ", ".join(items)
    # no magic trailing comma where a comma is invalid
    if len(inner) + 4 * (depth + 1) <= WIDTH:
        return [head, f"    {inner}", tail]
    return [head, *(f"    {item}," for item in items), tail]


def assigned(target: str, value: str, *, depth: int) -> list[str]:
    """The assignment of an expression, wrapped if it is too long."""
    return assignment(target, value, 4 * depth)


def return_statement(values: Sequence[str], *, depth: int) -> list[str]:
    """The return of a value or tuple, one value a line if it is too long."""
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
    # a single operator is not broken if the brackets around it can be
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
    """An operand with its preceding operator, or a link of a call chain."""
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
    """Break an expression at brackets, or return None if a line would not reach the next bracket."""
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
        text: the content.
        indent: its indentation.
        kind: ``call``, or the opening bracket of a list, a tuple or a group.
    """
    items = _items(text)
    if kind == "(" and len(items) == 1:
        return _wrapped("", text, "", indent, in_brackets=True)
    if kind == "call" and fits(text, indent):
        return [text]
    return [line for item in items for line in _item(item, indent, alone=len(items) == 1)]


def _item(item: str, indent: int, *, alone: bool) -> list[str]:
    """An argument, with a trailing comma if one is valid."""
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
    """The operands of the operators with the lowest precedence, each but the first with its operator."""
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
    """The links of a chain ``a.b(...).c(...)`` of at least two calls, the first with its receiver."""
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
            # the parentheses around it contain a separate chain
            break
    if isinstance(node, ast.Name | ast.Attribute):
        # the first call stays with its receiver
        cuts = cuts[1:]
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _end(text: str, node: ast.expr) -> int:
    """The end of a node in the text, including parentheses around it."""
    end, start = node.end_col_offset or 0, node.col_offset
    while end < len(text) and text[end] == ")" and start > 0 and text[start - 1] == "(" and not _is_call(text, start):
        end, start = end + 1, start - 1
    return end


def _is_call(text: str, start: int) -> bool:
    """Whether the bracket before an offset belongs to a call."""
    return start >= 2 and (text[start - 2].isalnum() or text[start - 2] in "_)]")


def _outer_brackets(text: str) -> list[tuple[int, int]]:
    """The offsets of the outermost opening and closing brackets."""
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
    """Whether the whole text is in one pair of brackets."""
    return _outer_brackets(text)[:1] == [(0, len(text) - 1)]


def _items(text: str) -> list[str]:
    """Split a text at commas outside of brackets."""
    depth, start, items = 0, 0, []
    for index, char in _code(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            items.append(text[start:index].strip())
            start = index + 1
    return [*items, text[start:].strip()]


def _code(text: str) -> list[tuple[int, str]]:
    """The characters outside of string literals, with their offsets."""
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
