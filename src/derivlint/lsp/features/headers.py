"""Declarations and definitions of functions in C++ headers and sources."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from derivlint.cpp.declarations.declaration_tokens import Tokens
from derivlint.lsp.analysis import FileSpan
from derivlint.source import SourceError, SourceFile, Span

#: The tokens that precede a declared name, never a called one.
_BEFORE_DECLARED = frozenset({"IDENT", "BUILTIN", "CV", "GREATER", "POINTER"})
_SUFFIXES = (".cpp", ".cc", ".cxx")


def function_places(headers: tuple[Path, ...], name: str) -> tuple[FileSpan, ...]:
    """Return the declarations of a name in headers, and its definitions in the sources next to them.

    A file that cannot be read declares nothing.
    """
    paths = dict.fromkeys(path for header in headers for path in (header, *_sources_of(header)))
    return tuple(
        FileSpan(file.source, span, whole)
        for path in paths
        if (file := _read(path)) is not None
        for span, whole in file.functions.get(name, ())
    )


class _File:
    """A C++ file with the functions that it declares at the outermost level or in namespaces."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.functions: dict[str, list[tuple[Span, Span]]] = {}
        tokens = Tokens(source.text)
        items, closing = tokens.items, tokens.closing
        index = 0
        begin = 0
        while index < len(items):
            token = items[index]
            if token.type in ("SEMICOLON", "RBRACE"):
                begin = index + 1
            elif token.type == "LBRACE":
                opens_namespace = any(item.type == "NAMESPACE" for item in items[begin:index])
                if not opens_namespace:
                    index = closing.get(index, len(items) - 1)
                begin = index + 1
            elif token.type == "LPAR":
                close = closing.get(index, len(items) - 1)
                name = items[index - 1] if index else token
                if name.type == "IDENT" and index - 1 > begin and items[index - 2].type in _BEFORE_DECLARED:
                    whole = Span(items[begin].start, items[close].end)
                    self.functions.setdefault(name.text, []).append((Span(name.start, name.end), whole))
                index = close
            index += 1


def _sources_of(header: Path) -> tuple[Path, ...]:
    return tuple(path for suffix in _SUFFIXES if (path := header.with_suffix(suffix)).is_file())


def _read(path: Path) -> _File | None:
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return None
    return _read_version(path, changed)


@lru_cache(maxsize=32)
def _read_version(path: Path, changed: int) -> _File | None:
    """The file as it was at a time."""
    try:
        return _File(SourceFile.read(path))
    except SourceError:
        return None
