"""Explain errors of YAML parsers to authors of formulas.

Both parsers report where they stopped, which is often far from the mistake: ``{grad`` fails at the end of the text. The
functions here find the mistake in the line, with the same message for both parsers.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from derivlint.source import Span
from derivlint.yaml_reader.decode import BREAKS
from derivlint.yaml_reader.nodes import YamlProblem, YamlProblemKind
from derivlint.yaml_reader.text import line_end, line_start, quote, token_end

_QUOTE_IT: Final = "put the whole value in double quotes"
_IF_FORMULA: Final = "if it is a formula, put it in double quotes"
_QUOTE_FORMULA: Final = "put the formula in double quotes"

#: The meaning to YAML of a value that starts with one of these characters.
_LEADING: Final = {
    "{": 'a value that starts with "{" is a mapping in braces',
    "[": 'a value that starts with "[" is a list in brackets',
    "*": 'a value that starts with "*" is an alias',
    "&": 'a value that starts with "&" is an anchor',
    "!": 'a value that starts with "!" is a tag',
    "|": 'a value that starts with "|" is a block of literal text',
    ">": 'a value that starts with ">" is a block of folded text',
    "%": 'a value cannot start with "%"',
    "@": 'a value cannot start with "@"',
    "`": 'a value cannot start with "`"',
    ",": 'a value cannot start with ","',
    "]": 'a value cannot start with "]"',
    "}": 'a value cannot start with "}"',
}

#: The maximum length of a key in YAML, which libyaml and ruamel.yaml enforce.
_MAX_KEY: Final = 1024


def describe(text: str, start: int, end: int, error: Exception) -> YamlProblem:
    """Explain the error that the parser reported in ``text[start:end]``."""
    problem = str(getattr(error, "problem", "") or "")
    mark = _index(error, "problem_mark", start)
    if mark is None:
        position = getattr(error, "position", None)
        mark = start + position if isinstance(position, int) else start
    mark = min(mark, end)
    context = _index(error, "context_mark", start)
    about = str(getattr(error, "context", "") or "")
    if context is not None and about.endswith((" alias", " anchor")):
        mark = context
    if about.endswith("flow node"):
        # The parser only reports the position where the next item is missing.
        context = _open_bracket(text, start, mark)
    if "quoted scalar" in about and context is not None:
        description = _in_quotes(text, context, mark, end, problem)
    elif "mapping values are not allowed" in problem:
        description = _colon(text, start, mark)
    elif text[mark : mark + 1] == "\t" and not text[line_start(text, mark) : mark].strip(" \t-?:"):
        description = _tab(text, mark)
    elif (
        "cannot start any token" in problem
        and text[mark : mark + 1] in _LEADING
        and _open_bracket(text, start, mark) is not None
    ):
        description = _leading_problem(text, mark, mark)
    elif "flow" in about and context is not None and text[context : context + 1] in ("[", "{"):
        description = _flow(text, context, mark, end)
    else:
        description = (
            _directive(text, mark, context, problem)
            or _leading(text, start, mark)
            or _behind_quote(text, start, mark)
            or _by_message(text, mark, context, problem)
            or _layout(text, start, mark)
        )
    return description


def _index(error: Exception, name: str, start: int) -> int | None:
    mark: Any = getattr(error, name, None)
    index = getattr(mark, "index", None)
    return start + index if isinstance(index, int) else None


def _problem(
    message: str, start: int, end: int, help_: str | None = None, related: tuple[tuple[str, Span], ...] = ()
) -> YamlProblem:
    return YamlProblem(YamlProblemKind.SYNTAX, message, Span(start, max(start, end)), help_, related)


@lru_cache(maxsize=1)
def _key_pattern() -> re.Pattern[str]:
    # A key of an entry, with the "- " of a list item: ``- name:``, ``  self, other:``, ``"on":``.
    return re.compile(
        rf"[ \t]*(?:-[ \t]+)*(?:\"[^\"{BREAKS}]*\"|'[^'{BREAKS}]*'|[^\s\"'\[\]{{}}&*!|>%@`#][^:{BREAKS}]*):[ \t]+"
    )


def _value_start(text: str, start: int, offset: int) -> int:
    """The start of the value on the line of ``offset``: after its key, dashes and blanks."""
    begin = max(line_start(text, offset), start)
    match = _key_pattern().match(text, begin, line_end(text, begin))
    if match is not None and match.end() <= offset:
        return match.end()
    match = re.compile(r"[ \t]*(?:-[ \t]+)*").match(text, begin)
    assert match is not None
    return match.end()


def _in_quotes(text: str, opened: int, mark: int, end: int, problem: str) -> YamlProblem:
    char = text[opened]
    if "escape" in problem or "hexdecimal" in problem:
        # Parsers report the offset of the backslash, or one or two characters after it.
        backslash = text.rfind("\\", opened, mark + 1)
        if 0 <= backslash < end - 1:
            letter = text[backslash + 1 : backslash + 2]
            stop = backslash + 2
            if letter in ("x", "u", "U"):
                digits = re.compile("[0-9a-fA-F]{0,8}").match(text, stop)
                assert digits is not None
                stop = min(digits.end(), stop + {"x": 2, "u": 4, "U": 8}[letter], end)
            return _problem(
                f"{quote(text[backslash:stop])} is not an escape that YAML knows",
                backslash,
                stop,
                "write the backslash twice, or put the value in single quotes",
            )
    stop_at = "end of the file" if mark >= len(text) else "next list item" if mark >= end else "document marker"
    return _problem(
        f"the {quote_name(char)} that opens here is never closed",
        opened,
        opened + 1,
        f"close it with {char}",
        ((f"still open at the {stop_at}", Span(mark, min(mark + 1, len(text)))),),
    )


def quote_name(char: str) -> str:
    """The name of a quotation mark, which cannot be shown in quotes."""
    return "double quote" if char == '"' else "single quote"


def _colon(text: str, start: int, mark: int) -> YamlProblem:
    """Explain a ``: `` where no key can be."""
    value = _value_start(text, start, mark)
    begin = max(line_start(text, mark), start)
    if value <= begin + (len(text[begin:mark]) - len(text[begin:mark].lstrip(" \t-"))):
        # The colon makes the beginning of the line a key.
        key = text[value:mark]
        if len(key) > _MAX_KEY:
            return _problem(f"a key has more than {_MAX_KEY} characters", value, mark)
        return _problem(
            f"{quote(key + ':')} cannot be a key here: its indentation continues the value above",
            value,
            mark + 1,
            "indent the key like the other keys, or put the value above in double quotes",
        )
    first = text[value : value + 1]
    if first in _LEADING:
        return _leading_problem(text, value, mark)
    if first in ("'", '"') and first in text[value + 1 : mark]:
        return _behind(text, value, mark, first)
    rest = text[value : line_end(text, mark)]
    help_ = "put the value in single quotes" if '"' in rest else _QUOTE_FORMULA
    return _problem('": " inside an unquoted value starts a mapping', mark, mark + 1, help_)


def _tab(text: str, mark: int) -> YamlProblem:
    stop = mark
    while text[stop : stop + 1] == "\t":
        stop += 1
    return _problem("YAML does not allow tabs for indentation", mark, stop, "indent with spaces")


def _flow(text: str, opened: int, mark: int, end: int) -> YamlProblem:
    char = text[opened]
    closing = "]" if char == "[" else "}"
    if mark >= end or line_start(text, mark) != line_start(text, opened):
        related = () if mark >= end else (("this no longer fits into it", Span(mark, token_end(text, mark))),)
        return _problem(
            f'the "{char}" that opens here is never closed',
            opened,
            opened + 1,
            f'close it with "{closing}"; if the value is a formula, put it in double quotes',
            related,
        )
    return _leading_problem(text, opened, mark)


def _directive(text: str, mark: int, context: int | None, problem: str) -> YamlProblem | None:
    """Explain a line such as ``%YAML 2.0`` before the document."""
    begin = line_start(text, mark if context is None else context)
    if text[begin : begin + 1] != "%" or "cannot start any token" in problem:
        return None
    stop = line_end(text, begin)
    return _problem(f"{quote(text[begin:stop])} is not a directive that YAML 1.1 knows", begin, stop, "delete the line")


def _open_bracket(text: str, start: int, mark: int) -> int | None:
    """The innermost bracket or brace that is open at ``mark``; quotes are ignored."""
    depth = 0
    for offset in range(mark - 1, start - 1, -1):
        char = text[offset]
        if char in "]}":
            depth += 1
        elif char in "[{":
            if not depth:
                return offset
            depth -= 1
    return None


def _leading(text: str, start: int, mark: int) -> YamlProblem | None:
    """Explain a value whose first character is special in YAML."""
    value = _value_start(text, start, mark)
    if text[value : value + 1] in _LEADING:
        return _leading_problem(text, value, mark)
    return None


def _leading_problem(text: str, value: int, mark: int) -> YamlProblem:
    related: tuple[tuple[str, Span], ...] = ()
    if mark > value + 1 and text[mark : mark + 1].strip():
        related = (("this does not fit into it", Span(mark, token_end(text, mark))),)
    return _problem(_LEADING[text[value]], value, value + 1, _IF_FORMULA, related)


def _behind_quote(text: str, start: int, mark: int) -> YamlProblem | None:
    """Explain text after a quoted value on the same line: ``self: "a" + b``."""
    value = _value_start(text, start, mark)
    first = text[value : value + 1]
    if first in ("'", '"') and value < mark and first in text[value + 1 : mark]:
        return _behind(text, value, mark, first)
    return None


def _behind(text: str, value: int, mark: int, char: str) -> YamlProblem:
    stop = line_end(text, mark)
    shown = text[mark:stop].rstrip()
    return _problem(
        f"{quote(shown)} follows the {quote_name(char)} that closes the value",
        mark,
        mark + len(shown),
        "put the whole value in quotes, and double the quotes inside"
        if char == "'"
        else 'put the whole value in single quotes, or write \\" inside',
        (("the value begins here", Span(value, value + 1)),),
    )


def _by_message(text: str, mark: int, context: int | None, problem: str) -> YamlProblem | None:
    """Explain syntax errors that differ only in the parser's message."""
    if "could not find expected ':'" in problem and context is not None:
        stop = line_end(text, context)
        shown = text[context:stop].rstrip()
        return _problem(
            f'{quote(shown)} has no ":" to be a key, and too little indentation to continue',
            context,
            context + len(shown),
            'add ": " after the key, or indent the line further than the key above',
        )
    if "sequence entries are not allowed" in problem:
        return _problem('a value that starts with "- " is a list item', mark, mark + 1, _QUOTE_FORMULA)
    if "document start" in problem:
        return _problem("text after the end of the document", mark, token_end(text, mark))
    return None


def _layout(text: str, start: int, mark: int) -> YamlProblem:
    """Explain a token that does not fit into the surrounding list or mapping."""
    stop = token_end(text, mark)
    begin = line_start(text, mark)
    if text[mark : mark + 1] == ":":
        return _problem('": " at the start of a line begins the value of a key', mark, mark + 1, _QUOTE_FORMULA)
    if text[begin:mark].strip(" ") or begin < start:
        return _problem(f"{quote(text[mark:stop])} does not fit here", mark, stop, _QUOTE_IT)
    indent = mark - begin
    kind = (
        "list item"
        if re.match(r"-(?:\s|$)", text[mark : mark + 2])
        else "key"
        if ":" in text[mark : line_end(text, mark)]
        else "text"
    )
    return _problem(
        f"this {kind}, indented by {indent}, belongs to no list or mapping above it",
        mark,
        stop,
        "indent it like its neighbours",
    )
