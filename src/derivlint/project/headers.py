"""Reading the C++ headers that belong to a derivatives file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from derivlint.project.cache import Row, cached
from derivlint.project.errors import InputError
from derivlint.schema.natives import HeaderProblem
from derivlint.source import SourceError, SourceFile, Span

_TEXTS = {"*": str}
#: A function: what it returns, its parameters, and what only some have.
_MORE = {"template": [str], "static": bool, "variadic": bool, "deprecated": str}
_FUNCTION = (Row(str, [str]), Row(str, [str], _MORE))
_OVERLOADS = {"*": [_FUNCTION]}
_CLASS = {
    "template": [str],
    "methods": _OVERLOADS,
    "fields": _TEXTS,
    "constructors": [_FUNCTION],
    "bases": [str],
}
#: The form in which declarations are kept, that of ``Declarations.to_json``.
DECLARATIONS = {
    "functions": {"*": _OVERLOADS},
    "variables": {"*": _TEXTS},
    "classes": {"*": _CLASS},
    "opaque": {"*": [str]},
    "aliases": {"*": _TEXTS},
    "using": {"*": [str]},
}
#: The declarations of a header, and what of it could not be read: message, place, help, what it hides.
_READING = Row(DECLARATIONS, [Row(str, int, int, str, bool)])


class Header(Struct, frozen=True):
    """A header of C++ declarations.

    Attributes:
        source: the file.
        declarations: what it declares, as JSON.
        problems: what of it could not be read.
    """

    source: SourceFile
    declarations: Mapping[str, Any]
    problems: tuple[HeaderProblem, ...]


def read_headers(paths: Sequence[Path], use_cache: bool) -> list[Header]:
    """What each header declares.

    Raises:
        InputError: one cannot be read.
    """
    found: list[Header] = []
    for path in paths:
        try:
            source = SourceFile.read(path)
        except SourceError as error:
            raise InputError(str(error)) from error
        read = partial(_reading, source)
        declarations, listed = cached("header", source.text.encode(), read, shape=_READING, use_cache=use_cache)
        if not all(0 <= start <= end <= len(source.text) for _, start, end, *_ in listed):
            # what someone else has put into the cache
            declarations, listed = read()
        problems = tuple(
            HeaderProblem(source, message, Span(start, end), *more) for message, start, end, *more in listed
        )
        found.append(Header(source, declarations, problems))
    return found


def _reading(source: SourceFile) -> tuple[Mapping[str, Any], list[list[Any]]]:
    """The declarations of a header, and its problems, as they are kept."""
    # a grammar of declarations is loaded only for headers that are not in the cache
    from derivlint.cpp.header import read_declarations

    reading = read_declarations(source.text)
    problems = [[problem.message, *problem.span, problem.help, problem.hides] for problem in reading.problems]
    return reading.declarations.to_json(), problems


def declarations_in(source: SourceFile) -> Mapping[str, Any]:
    """The declarations of one header, as JSON; they are read again."""
    return _reading(source)[0]


def merged(parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The declarations of several headers as one, None where there is none."""
    from derivlint.cpp.declaration import Declarations, declarations_from_json

    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    return Declarations.merged(*map(declarations_from_json, parts)).to_json()
