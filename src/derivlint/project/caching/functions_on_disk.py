"""The cache of native functions: PyTorch's file has 2,600 entries and seldom changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from derivlint.project.caching.cache import Row, cached
from derivlint.source import SourceFile, Span

if TYPE_CHECKING:
    from derivlint.schema import NativeFunctions

#: The encoded functions of ``schema.index``, the spans of their schemas in the file, and the tags of tags.yaml.
_FORM = {"profiles": [{"*": object}], "functions": [list], "places": [Row(int, int)], "tags": ([str], None)}


def read_functions(
    sources: Sequence[SourceFile], tags: SourceFile | None, namespaces: Mapping[str, str], use_cache: bool
) -> NativeFunctions:
    """Read the native functions of files with :func:`~derivlint.schema.read_native_functions`, or from the cache.

    A single file that is a list without problems, such as PyTorch's own, is cached.

    Args:
        sources: the files.
        tags: tags.yaml.
        namespaces: as for :func:`~derivlint.schema.read_native_functions`.
        use_cache: whether to use the cache.
    """
    from derivlint.schema import read_native_functions

    read: NativeFunctions | None = None

    def table() -> dict[str, Any] | None:
        nonlocal read
        read = read_native_functions(sources, tags=tags, namespaces=namespaces)
        return _table_of(read)

    if use_cache and len(sources) == 1:
        texts = (sources[0].text, "-" if tags is None else f"+{tags.text}")
        material = "\0".join(texts).encode("utf-8", "surrogatepass")
        stored = cached("functions", material, table, shape=(_FORM, None))
        if read is None and stored is not None:
            read = _from_table(stored, sources[0])
    return read if read is not None else read_native_functions(sources, tags=tags, namespaces=namespaces)


def _table_of(natives: NativeFunctions) -> dict[str, Any] | None:
    """Encode the functions of a file, or return None if they do not fit a table or have problems."""
    from derivlint.schema.index import table_of

    places = [function.source[1] for function in natives.written if function.source is not None]
    is_plain = all(
        native.in_cpp_api and native.versions is None and not native.has_backend_kernel for native in natives.written
    )
    if natives.problems or not is_plain:
        return None
    tags = None if natives.known_tags is None else sorted(natives.known_tags)
    return {**table_of(natives.written), "places": places, "tags": tags}


def _from_table(table: Mapping[str, Any], source: SourceFile) -> NativeFunctions | None:
    """Decode the functions of a file, or return None if the table does not belong to it."""
    from derivlint.schema import IndexFormatError, NativeFunctions
    from derivlint.schema.index import functions_of
    from derivlint.schema.native_function import AUTOGRAD_KEYS

    text = source.text
    try:
        functions = functions_of(table)
        for function, (start, end) in zip(functions, table["places"], strict=True):
            # the cache has been tampered with
            if not (0 <= start <= end and text[start:end].endswith(function.func_text)):
                return None
            function.source = (source.path, Span(start, end))
    except (IndexFormatError, ValueError, TypeError):
        return None
    return NativeFunctions(functions, autograd_keys=AUTOGRAD_KEYS, known_tags=table["tags"], origin=source.path)
