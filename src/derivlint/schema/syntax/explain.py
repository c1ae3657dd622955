"""Messages for schemas that the grammar rejects, without the grammar's own names."""

from __future__ import annotations

import re

from derivlint.schema.syntax.errors import SchemaError, quoted
from derivlint.schema.syntax.types import KNOWN_BASE_TYPES

SHAPE = "a schema reads: name.overload(Type argument=default, *, Type keyword) -> ReturnType"

#: The names of the terminals of grammar/schema.lark in messages, in the order of lists.
_SHOWN = {
    "OPERATOR": "an operator name",
    "TYPE": "a type",
    "NAME": "a name",
    "STAR": '"*"',
    "NUMBER": "a number",
    "STRING": "a string",
    "WORD": "a word",
    "WRITE": '"!"',
    "VBAR": '"|"',
    "EQUAL": '"="',
    "COMMA": '","',
    "LPAR": '"("',
    "LSQB": '"["',
    "QMARK": '"?"',
    "__ANON_0": '"->"',
    "RSQB": '"]"',
    "RPAR": '")"',
    "$END": "the end",
}

_FOUND = re.compile(r"[A-Za-z_]\w*|[0-9][\w.]*|->|::|.", re.DOTALL | re.ASCII)
_BRACKETS = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[][()]""", re.DOTALL)


def explain(text: str, position: int, expected: set[str]) -> SchemaError:
    """The error of a text that fails at ``position``, where one of the terminals ``expected`` was possible."""
    before = text[:position].rstrip()
    match = _FOUND.match(text, position)
    if match is None or not text[position:].strip():
        return _at_end(text, len(text.rstrip()), expected)
    token = match.group()
    start, end = match.span()
    if "OPERATOR" in expected:
        return SchemaError(f"expected an operator name, found {quoted(token)}", start, end, SHAPE)
    if "LPAR" in expected and "(" not in before:
        if token == "::":
            space = before + "::"
            return SchemaError(
                f"{quoted(space)} is a namespace, which a schema does not have", 0, len(space), "leave it out"
            )
        return SchemaError(f'expected "(" after the operator name, found {quoted(token)}', start, end, SHAPE)
    if token == "(" and "QMARK" in expected:
        hint = 'write "Tensor(a!)?" or "Tensor(a!)[]"'
        return SchemaError('an alias annotation comes before any "?" or "[]" of the type', start, end, hint)
    if "TYPE" not in expected and "NAME" in expected:
        if before.endswith(("(", "|", "->")):
            return SchemaError(f"expected an alias set, one lower-case letter, found {quoted(token)}", start, end)
        if "->" not in before:
            if token in (")", ",", "=", "*"):
                return _half_argument(before)
            expected = {"NAME"}
    if "TYPE" in expected and token in (")", ",") and before.endswith((",", "(")):
        part = "a return" if "->" in before else "an argument"
        return SchemaError(f'expected {part} after "{before[-1]}", found {quoted(token)}', start, end)
    if token in ('"', "'"):
        return SchemaError("the string is never closed", start, end)
    # The parser's states do not record the kind of open bracket, so they also offer to close the other kind.
    opened = _unclosed(before)
    if opened is None and "->" in before and "RPAR" in expected:
        expected = {"$END"}
    elif opened is not None:
        expected = expected - {"RPAR" if before[opened] == "[" else "RSQB"}
    where = " in the alias annotation" if "VBAR" in expected else ""
    return SchemaError(f"expected {_any_of(expected)}{where}, found {quoted(token)}", start, end)


def _half_argument(before: str) -> SchemaError:
    """The error of ``abs(self)``: the only word is read as a type, and the name is missing."""
    # The annotation of "Tensor(a!)" belongs to the word.
    end = before.rfind("(") if before.endswith(")") else len(before)
    start = max(before.rfind(mark, 0, end) for mark in " \t\r\n(,") + 1
    shown = before[start:]
    is_type = shown in KNOWN_BASE_TYPES or re.fullmatch(r"[a-z_]\w*", shown) is None
    hint = f'such as "{shown} self"' if is_type else f'such as "Tensor {shown}"'
    return SchemaError(f"argument {quoted(shown)} needs a type and a name", start, len(before), hint)


def _at_end(text: str, end: int, expected: set[str]) -> SchemaError:
    if not text.strip():
        return SchemaError("the schema is empty", 0, len(text), SHAPE)
    opened = _unclosed(text)
    if opened is not None:
        return SchemaError(f'"{text[opened]}" is never closed', opened, opened + 1, SHAPE)
    if "__ANON_0" in expected or text.rstrip().endswith("->"):
        return SchemaError("the schema has no returns", end, end, 'end it with "-> Tensor", or with "-> ()" for none')
    return SchemaError(f"expected {_any_of(expected)} at the end", end, end, SHAPE)


def _unclosed(text: str) -> int | None:
    """The index of the last unclosed bracket, or None."""
    stack = []
    for match in _BRACKETS.finditer(text):
        if match.group() in ("(", "["):
            stack.append(match.start())
        elif match.group() in (")", "]") and stack:
            stack.pop()
    return stack[-1] if stack else None


def _any_of(expected: set[str]) -> str:
    names = [shown for terminal, shown in _SHOWN.items() if terminal in expected]
    if not names:
        return "something else"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
