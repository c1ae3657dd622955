"""Loading of the library of a set of operators, and of the stubs, which are shipped as JSON."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from derivlint.cpp.declarations.declaration import Declarations, declarations_from_json
from derivlint.cpp.known_names import load_names
from derivlint.cpp.library import HELPERS, Library
from derivlint.cpp.operator_signatures import OperatorSignatures
from derivlint.cpp.relations import load_relations
from derivlint.schema import NativeFunctions


@lru_cache(maxsize=8)
def library_of(natives: NativeFunctions, has_headers: bool = True) -> Library:
    """Load the library for these operators: the stubs, and the headers that come with the operators.

    Args:
        natives: the operators.
        has_headers: whether those headers count; helpers change from release to release.
    """
    written = natives.declarations if has_headers else None
    headers = declarations_from_json(written) if written is not None else None
    names = load_names()
    if headers is not None and natives.has_manual:
        # the bundled list has the helpers of one release, and those at hand may be others
        declared = (headers.functions, headers.variables, headers.opaque, headers.aliases)
        own = {name for parts in declared for name in parts.get(HELPERS, ())}
        names = names.with_names(HELPERS, {*own, *headers.classes})
    return Library(OperatorSignatures(natives), load_stubs(), headers, names, load_relations())


_DATA = Path(__file__).parent / "data"


def render_library(declarations: Declarations) -> bytes:
    """The declarations as they are shipped, one kind a line."""
    content: dict[str, Any] = declarations.to_json()
    lines = [f"{json.dumps(kind)}:{json.dumps(value, separators=(',', ':'))}" for kind, value in content.items()]
    return ("{" + ",\n".join(lines) + "}\n").encode("ascii")


@cache
def load_stubs() -> Declarations:
    """The declarations of the newest release."""
    path = max(_DATA.glob("library-*.json"), key=lambda path: tuple(map(int, path.stem.partition("-")[2].split("."))))
    return declarations_from_json(json.loads(path.read_bytes()))
