"""C++ templates with placeholders.

A placeholder is ``${name}``. A value of several lines is indented like the line of its placeholder, so that templates
and values are both written from the left margin; a placeholder alone on its line is removed with the line if its value
is empty.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path, PurePath
from typing import TypeVar

_FOLDER = Path(__file__).parent / "templates"
_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
_ALONE = re.compile(r"([ \t]*)\$\{(\w+)\}[ \t]*")


class TemplateError(Exception):
    """The placeholders of a template and the given values differ."""


@cache
def load(name: str) -> str:
    """Read a template file, without the trailing newline."""
    return (_FOLDER / name).read_text(encoding="utf-8").removesuffix("\n")


# A compiled line: literal pieces and placeholders alternating, the indentation, and whether a placeholder is alone.
_Line = tuple[tuple[str, ...], str, bool]


@cache
def _compiled(text: str) -> tuple[tuple[_Line, ...], frozenset[str]]:
    lines: list[_Line] = []
    names: set[str] = set()
    for line in text.split("\n"):
        alone = _ALONE.fullmatch(line)
        if alone is not None:
            lines.append(((alone[1], alone[2], ""), alone[1], True))
            names.add(alone[2])
            continue
        pieces = tuple(_PLACEHOLDER.split(line))
        names.update(pieces[1::2])
        lines.append((pieces, line[: len(line) - len(line.lstrip(" \t"))], False))
    return tuple(lines), frozenset(names)


def fill(text: str, **parts: str) -> str:
    """A template with its placeholders replaced.

    Args:
        text: the template.
        parts: the value of every placeholder.

    Raises:
        TemplateError: a placeholder has no value, or a value has no placeholder.
    """
    lines, names = _compiled(text)
    if names != parts.keys():
        missing, unknown = sorted(names - parts.keys()), sorted(parts.keys() - names)
        raise TemplateError(f"values without placeholder: {unknown}; placeholders without value: {missing}")
    filled: list[str] = []
    for pieces, indent, is_alone in lines:
        if len(pieces) == 1:
            filled.append(pieces[0])
        elif is_alone:
            value = parts[pieces[1]]
            if value:
                filled.append(indent + indented(value, indent))
        else:
            filled.append(
                "".join(indented(parts[piece], indent) if index % 2 else piece for index, piece in enumerate(pieces))
            )
    return "\n".join(filled)


def indented(text: str, indent: str) -> str:
    """Indent the lines after the first, except empty lines and preprocessor directives."""
    if not indent or "\n" not in text:
        return text
    first, *rest = text.split("\n")
    return "\n".join([first, *(indent + line if line and line[0] != "#" else line for line in rest)])


def quoted(text: str) -> str:
    """A text as a C++ string literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def yaml_name(path: str) -> str:
    """The name of the YAML file for comments and line directives; independent of the machine."""
    name = PurePath(path).name
    # a backslash or a line end would continue the comment
    return "".join(char if char.isprintable() and char != "\\" else "_" for char in name) or "derivatives.yaml"


_Item = TypeVar("_Item")


def split_into(items: Sequence[_Item], count: int) -> list[Sequence[_Item]]:
    """Split items into ``count`` parts of about the same size, in order; with fewer items some are empty."""
    bounds = [len(items) * index // count for index in range(count + 1)]
    return [items[start:end] for start, end in pairwise(bounds)]
