"""Findings as bytes, whose types are checked when they are read: any bytes give findings or None.

Files of the cache begin with a digest, so that what was cut off is not taken for findings. What someone wrote under
the right digest has to have the right types as well, and places that lie in the files that they speak of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import DecodeError, json

from derivlint.lint import Diagnostic
from derivlint.project.caching.cache import sealed, unsealed
from derivlint.project.filtering.findings import Findings
from derivlint.source import Span


def encoded(findings: Findings) -> bytes:
    """Findings as bytes.

    Raises:
        UnicodeEncodeError: half a surrogate pair, as the name of a file can have, is not UTF-8.
    """
    return sealed(json.encode(findings, order="deterministic"))


def decoded(data: bytes, path: str, lengths: Mapping[str | None, int]) -> Findings | None:
    """Decode findings, or return None.

    Args:
        data: the bytes.
        path: the path of the file that they are about.
        lengths: how many code points there are in the files that places may be in, by path; None is the file itself.
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
    """Whether they are such as a check of the file can give, without crashes."""
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
    """The spans of a diagnostic, with the paths of their files."""
    yield None, item.span
    yield from ((part.path, part.span) for part in item.related)
    yield from ((None, edit.span) for edit in (item.fix.edits if item.fix is not None else ()))
