"""The names of the functions that a C++ header declares."""

from __future__ import annotations

import re

_IGNORED = re.compile(
    r"""//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.)*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""",
    re.DOTALL | re.MULTILINE,
)
_PUNCTUATION = re.compile(r"[{};]")
_NAMESPACE = re.compile(r"\b(?:namespace|extern)\b[^(=]*$")
_TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")
_FUNCTION = re.compile(r"([A-Za-z_]\w*)\s*\(")

#: Words that may stand before a "(" ahead of the function's name.
_NO_NAMES = frozenset({"__attribute__", "__declspec", "alignas", "decltype", "noexcept"})


def declared_functions(text: str) -> list[str]:
    """The functions declared at namespace level, each name once, sorted.

    A tolerant scan, not a C++ parser: comments, strings, preprocessor lines and the bodies of functions and classes
    are skipped, and what stands before the first "(" of each remaining declaration is its name.
    """
    code = _IGNORED.sub(" ", text)
    names = set()
    start = 0
    skipped = 0
    for match in _PUNCTUATION.finditer(code):
        mark = match.group()
        if skipped:
            skipped += {"{": 1, "}": -1, ";": 0}[mark]
        else:
            declaration = code[start : match.start()]
            if mark == "{" and not _NAMESPACE.search(declaration):
                skipped = 1
            if mark != "}" and (name := _name(declaration)) is not None:
                names.add(name)
        start = match.end()
    return sorted(names)


def _name(declaration: str) -> str | None:
    count = 1
    while count:
        declaration, count = _TEMPLATE_ARGUMENTS.subn(" ", declaration)
    if "=" in declaration.partition("(")[0]:
        return None
    return next((name for name in _FUNCTION.findall(declaration) if name not in _NO_NAMES), None)
