"""The cache of findings: a file that was checked before is not checked again.

An entry is named by a digest of everything that findings depend on: the text, the operators and headers, the rules with
their options, and derivlint itself. Settings that only select or format findings (severities, baselines, suppressions,
formats) are applied later and are not part of it.

Files begin with a digest of their contents, so that truncated ones are rejected. Decoded findings must also have the
right types, and spans inside their files.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import DecodeError, Struct, json

import derivlint.rules
from derivlint.lint import Diagnostic
from derivlint.project.caching.cache import cache_folder, read_entry, sealed, sha256, unsealed
from derivlint.project.filtering.findings import Findings
from derivlint.project.operators import Operators
from derivlint.project.settings import Settings
from derivlint.source import SourceError, SourceFile, Span, replace_file
from derivlint.source.records import KeyedEquality
from derivlint.version import __version__

if TYPE_CHECKING:
    from hashlib import _Hash


def encoded(findings: Findings) -> bytes:
    """Serialize findings.

    Raises:
        UnicodeEncodeError: a lone surrogate, as in a file name, is not UTF-8.
    """
    return sealed(json.encode(findings, order="deterministic"))


def decoded(data: bytes, path: str, lengths: Mapping[str | None, int]) -> Findings | None:
    """Decode findings, or return None.

    Args:
        data: the bytes.
        path: the path of the checked file.
        lengths: the numbers of code points in files with spans, by path; None is the checked file itself.
    """
    body = unsealed(data)
    if body is None:
        return None
    try:
        findings = json.decode(body, type=Findings)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return findings if _is_possible(findings, path, lengths) else None


def _is_possible(findings: Findings, path: str, lengths: Mapping[str | None, int]) -> bool:
    """Whether a check of the file without crashes can have these findings."""
    most = lengths[None]
    return (
        findings.crashes == 0
        and 0 <= findings.entries <= most
        and 0 <= findings.formulas <= most
        and findings.silenced.issubset(findings.diagnostics)
        and all(
            item.path == path
            and not item.elsewhere
            and all(of in lengths and 0 <= place.start <= place.end <= lengths[of] for of, place in _places(item))
            for item in (*findings.diagnostics, *findings.silenced)
        )
    )


def _places(item: Diagnostic) -> Iterator[tuple[str | None, Span]]:
    """Yield the spans of a diagnostic, with the paths of their files."""
    yield None, item.span
    yield from ((part.path, part.span) for part in item.related)
    yield from ((None, edit.span) for edit in (item.fix.edits if item.fix is not None else ()))


#: The maximum number of stored results; that of PyTorch's file takes 60 KB.
MAX_RESULTS = 256
#: The maximum size of a stored result; larger ones have thousands of findings.
MAX_BYTES = 8 * 1024 * 1024
PREFIX = "findings-"
MEMOS = "memos-"
#: The names of results; other files are never deleted, whatever the folder.
_NAME = re.compile(f"(?:{PREFIX}|{MEMOS})[0-9a-f]{{64}}")

#: The settings that are not part of the digest: they only filter findings, or determine files whose text is part of it.
_NOT_DIGESTED = frozenset(
    {
        "origin",
        "operators_from",
        "origins",
        "paths",
        "exclude",
        "force_exclude",
        "native_functions",
        "tags",
        "headers",
        "helper_bodies",
        "torch",
        "severity",
        "per_file_ignores",
        "per_operator_ignores",
        "baseline",
        "min_severity",
        "min_confidence",
        "fail_level",
    }
)
#: The parser packages, whose versions findings depend on.
_PARSERS = ("lark", "ruamel.yaml", "_ruamel_yaml")


class CacheEntry(KeyedEquality, Struct, frozen=True):
    """The location of the cached result of a file.

    Attributes:
        file: the file with the result, which may be missing.
        memos: the file with the memos, which may be missing.
        sources: the files of native functions, into which diagnostics may point.
        length: the number of code points in the file.
    """

    file: Path
    memos: Path
    sources: tuple[SourceFile, ...]
    length: int

    def identity(self) -> tuple[Any, ...]:
        """The fields that equality compares."""
        return (self.file,)


def cache_entry_of(source: SourceFile, operators: Operators, settings: Settings) -> CacheEntry | None:
    """Return the cache entry of a file, or None if it cannot be cached.

    Args:
        source: the file.
        operators: its operators.
        settings: its settings.
    """
    folder = cache_folder()
    if folder is None:
        return None
    manual, bodies = operators.functions_manual, operators.bodies
    read = (*operators.native_functions, operators.tags, manual, bodies, *operators.headers)
    try:
        texts = [SourceFile.read(path) if path is not None else None for path in (*read, *operators.generators)]
    except SourceError:
        # the error is reported when they are read again
        return None
    digest = sha256(b"")
    _add(digest, source.path)
    for text in texts:
        _add(digest, "-" if text is None else f"{text.path}\0{text.undecodable}")
        _add(digest, "" if text is None else text.text)
    counts = len(operators.native_functions), len(operators.headers), len(operators.generators)
    _add(digest, repr((counts, operators.bundled, operators.version, operators.in_checkout)))
    for name in settings.__struct_fields__:
        if name not in _NOT_DIGESTED:
            _add(digest, f"{name}={_stable(getattr(settings, name))}")
    _add(digest, program_digest())
    sources = tuple(text for text in texts[: len(operators.native_functions)] if text is not None)
    memos = folder / f"{MEMOS}{digest.hexdigest()}"
    _add(digest, f"{source.undecodable}\0{source.text}")
    return CacheEntry(folder / f"{PREFIX}{digest.hexdigest()}", memos, sources, len(source.text))


def _add(digest: _Hash, text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    # with the length, no two sequences of texts give the same bytes
    digest.update(b"%d " % len(data))
    digest.update(data)


def _stable(value: object) -> str:
    """Format a value independently of the order of mappings and sets."""
    if isinstance(value, dict):
        return repr(sorted((str(key), _stable(item)) for key, item in value.items()))
    if isinstance(value, (set, frozenset)):
        return repr(sorted(map(repr, value)))
    return repr(value)


def stored_findings(entry: CacheEntry, path: str) -> Findings | None:
    """Return the stored findings, or None if there are no readable ones.

    Args:
        entry: the cache entry.
        path: the path of the checked file.
    """
    data = read_entry(entry.file, MAX_BYTES)
    if data is None:
        return None
    lengths: dict[str | None, int] = {source.path: len(source.text) for source in entry.sources}
    findings = decoded(data, path, lengths | {None: entry.length, path: entry.length})
    if findings is not None:
        # the least recently used results are deleted first
        with suppress(OSError):
            os.utime(entry.file)
    return findings


def store_findings(entry: CacheEntry, findings: Findings) -> None:
    """Store findings if possible, except those of a crashed check, and findings in headers.

    Args:
        entry: the cache entry.
        findings: the findings.
    """
    if findings.crashes or any(item.elsewhere for item in findings.diagnostics):
        return
    try:
        data = encoded(findings)
        if len(data) <= MAX_BYTES:
            replace_file(entry.file, data, mode=0o600, durable=False)
            _sweep(entry.file.parent)
    except (OSError, UnicodeEncodeError):
        return


def _sweep(folder: Path) -> None:
    """Delete the least recently used results, if there are too many."""
    results: list[tuple[float, str]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                # another run may have deleted it
                with suppress(OSError):
                    results.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
    results.sort(reverse=True)
    for _, path in results[MAX_RESULTS:]:
        with suppress(OSError):
            os.unlink(path)


@cache
def program_digest() -> str:
    """Return a digest of derivlint and its parsers, by the times and sizes of their files."""
    digest = sha256(f"{__version__} {sys.version}".encode())
    for stamp in sorted(_stamps()):
        digest.update(stamp.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _stamps() -> Iterator[str]:
    roots = {os.path.dirname(derivlint.__file__), os.path.dirname(derivlint.rules.__file__)}
    grammar = find_spec("derivlint.grammar")
    if grammar is not None and grammar.origin is not None:
        roots.add(os.path.dirname(grammar.origin))
    todo = [os.path.realpath(root) for root in roots]
    seen = set(todo)
    while todo:
        folder = todo.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name == "__pycache__":
                    continue
                if entry.is_dir():
                    inner = os.path.realpath(entry.path)
                    if inner not in seen:
                        seen.add(inner)
                        todo.append(inner)
                else:
                    status = entry.stat()
                    yield f"{entry.path} {status.st_mtime_ns} {status.st_size}\n"
    for name in _PARSERS:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            status = os.stat(spec.origin)
            yield f"{spec.origin} {status.st_mtime_ns} {status.st_size}\n"
