"""Reading the C++ headers that belong to a derivatives file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from derivlint.project.cache import Row, cached
from derivlint.project.errors import InputError
from derivlint.source import SourceError, SourceFile

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


def read_headers(paths: Sequence[Path], use_cache: bool) -> list[Mapping[str, Any]]:
    """The declarations of each header, as JSON.

    Raises:
        InputError: one cannot be read.
    """
    found: list[Mapping[str, Any]] = []
    for path in paths:
        try:
            source = SourceFile.read(path)
        except SourceError as error:
            raise InputError(str(error)) from error
        found.append(
            cached(
                "header",
                source.text.encode(),
                partial(declarations_in, source),
                shape=DECLARATIONS,
                use_cache=use_cache,
            )
        )
    return found


def declarations_in(source: SourceFile) -> Mapping[str, Any]:
    """The declarations of one header, as JSON; they are read again."""
    # a grammar of declarations is loaded only for headers that are not in the cache
    from derivlint.cpp.header import read_declarations

    return read_declarations(source.text).declarations.to_json()


def merged(parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The declarations of several headers as one, None where there is none."""
    from derivlint.cpp.declaration import Declarations, declarations_from_json

    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    return Declarations.merged(*map(declarations_from_json, parts)).to_json()
