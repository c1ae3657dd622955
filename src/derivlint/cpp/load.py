"""Putting the library together that belongs to a set of operators."""

from __future__ import annotations

from functools import lru_cache

from derivlint.cpp.declarations.declaration import declarations_from_json
from derivlint.cpp.known_names import load_names
from derivlint.cpp.library import HELPERS, Library
from derivlint.cpp.operator_signatures import OperatorSignatures
from derivlint.cpp.relations import load_relations
from derivlint.cpp.stubs import load_stubs
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
