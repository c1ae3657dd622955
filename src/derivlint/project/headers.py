"""Reading the C++ headers of a derivatives file, and the source with the bodies of functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from derivlint.project.caching.cache import Row, cached
from derivlint.project.errors import read_file
from derivlint.source import SourceFile, Span

if TYPE_CHECKING:
    # reading results from the cache needs no schemas
    from derivlint.schema.natives import HelperBodies, HelperBody, NativeFunctions, UnreadablePart

_TEXTS = {"*": str}
#: A function: its return type, its parameters, and optional facts.
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
#: The form of stored declarations, that of ``Declarations.to_json``.
DECLARATIONS = {
    "functions": {"*": _OVERLOADS},
    "variables": {"*": _TEXTS},
    "classes": {"*": _CLASS},
    "opaque": {"*": [str]},
    "aliases": {"*": _TEXTS},
    "using": {"*": [str]},
}
#: The declarations of a header, and its problems: message, span, help, whether it hides others.
_READING = Row(DECLARATIONS, [Row(str, int, int, str, bool)])

#: A function: its name, its span, the span of its name, the facts of its body.
_BODIES = [Row(str, int, int, int, int, str, [str], [str], [str], [str])]


#: PyTorch's header of helpers, and their namespace.
MANUAL = "FunctionsManual.h"
HELPERS = "torch::autograd::generated::details"


class Header(Struct, frozen=True):
    """A header of C++ declarations.

    Attributes:
        source: the file.
        declarations: its declarations, as JSON.
        problems: its unreadable parts.
    """

    source: SourceFile
    declarations: Mapping[str, Any]
    problems: tuple[UnreadablePart, ...]


def read_headers(paths: Sequence[Path], use_cache: bool) -> list[Header]:
    """Read the declarations of each header.

    Raises:
        InputError: a header cannot be read.
    """
    from derivlint.schema.natives import UnreadablePart

    headers: list[Header] = []
    for path in paths:
        source = read_file(path)
        read = partial(_reading, source)
        declarations, listed = cached("header", source.text.encode(), read, shape=_READING, use_cache=use_cache)
        if not all(0 <= start <= end <= len(source.text) for _, start, end, *_ in listed):
            # the cache has been tampered with
            declarations, listed = read()
        problems = tuple(
            UnreadablePart(source, message, Span(start, end), *more) for message, start, end, *more in listed
        )
        headers.append(Header(source, declarations, problems))
    return headers


def _reading(source: SourceFile) -> tuple[Mapping[str, Any], list[list[Any]]]:
    """Return the declarations of a header and its problems, in the form of the cache."""
    # the grammar of declarations is loaded only for uncached headers
    from derivlint.cpp.declarations.header import read_declarations

    reading = read_declarations(source.text)
    problems = [[problem.message, *problem.span, problem.help, problem.hides] for problem in reading.problems]
    return reading.declarations.to_json(), problems


def read_bodies(source: SourceFile, use_cache: bool) -> HelperBodies:
    """Read the functions that a C++ source defines, with the facts of their bodies."""
    from derivlint.schema.natives import HelperBodies, HelperBody

    read = partial(_bodies, source)
    listed = cached("bodies", source.text.encode(), read, shape=_BODIES, use_cache=use_cache)
    places = [place for _, *offsets, _, _, _, _, _ in listed for place in _pairs(offsets)]
    if not all(0 <= start <= end <= len(source.text) for start, end in places):
        # the cache has been tampered with
        listed = read()
    functions: dict[str, list[HelperBody]] = {}
    for name, *offsets, derived, returns, lost, nonlinear, unguarded in listed:
        whole, name_span = (Span(start, end) for start, end in _pairs(offsets))
        body = HelperBody(whole, name_span, derived, *map(tuple, (returns, lost, nonlinear, unguarded)))
        functions.setdefault(name, []).append(body)
    return HelperBodies(source, functions)


def _pairs(offsets: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(offsets[::2], offsets[1::2], strict=True))


def _bodies(source: SourceFile) -> list[list[Any]]:
    """Return the facts of the bodies of functions, in the form of the cache."""
    # the grammar of statements is loaded only for an uncached source
    from derivlint.bodies.reading import read_helpers
    from derivlint.operators.reference.derived import write_derived

    return [
        [
            definition.name,
            *(definition.start, definition.end, definition.name_start, definition.name_end),
            "" if helper.derived is None else write_derived([(definition.name, helper.derived)]),
            *map(sorted, (helper.returns, helper.lost, helper.nonlinear, helper.unguarded)),
        ]
        for helper in read_helpers(source.text)
        for definition in (helper.definition,)
    ]


def declarations_in(source: SourceFile) -> Mapping[str, Any]:
    """Return the declarations of a header as JSON, without the cache."""
    return _reading(source)[0]


def merged(parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Merge the declarations of several headers, or return None if there are none."""
    from derivlint.cpp.declarations.declaration import Declarations, declarations_from_json

    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    return Declarations.merged(*map(declarations_from_json, parts)).to_json()


def with_headers(
    natives: NativeFunctions, manual: Header | None, own: Sequence[Header], *, in_checkout: bool = False
) -> NativeFunctions:
    """Return the operators with the declarations of headers.

    A FunctionsManual.h, PyTorch's or the user's, replaces that of the release; other headers are added.

    Args:
        natives: the operators.
        manual: PyTorch's own FunctionsManual.h, if there is one.
        own: the user's headers.
        in_checkout: whether ``manual`` is part of the checkout of the derivatives file.
    """
    headers = [*own] if manual is None else [manual, *own]
    if not headers:
        return natives
    has_manual = manual is not None or any(map(_is_manual, own))
    of_release = [natives.declarations] if not has_manual and natives.declarations is not None else []
    declared = natives.with_declarations(
        merged([*of_release, *(header.declarations for header in headers)]),
        complete=bool(own),
        has_manual=has_manual or natives.has_manual,
        in_checkout=in_checkout,
    )
    return declared.with_header_problems(problem for header in headers for problem in header.problems)


def _is_manual(header: Header) -> bool:
    """Whether a header is PyTorch's FunctionsManual.h: by its name, and by the namespace that it declares."""
    return Path(header.source.path).name == MANUAL and HELPERS in header.declarations.get("functions", {})
