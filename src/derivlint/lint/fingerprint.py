"""Fingerprints of findings, for baselines and code-quality reports.

A finding is identified by its file, rule, operator, dispatch key, key and marked text, not by lines or messages: the
identity survives inserted lines, reordered entries, changed folding and quotes, and reworded messages.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from derivlint.lint.diagnostic import Diagnostic
from derivlint.source import SourceFile

#: The number of hexadecimal digits of a fingerprint.
LENGTH = 32


class Identity(NamedTuple):
    """The identity of a finding, shared by equal findings in a file.

    Attributes:
        path: the path of the file, with slashes.
        rule: the rule.
        entry: the operator.
        dispatch: the dispatch key.
        key: the key of the formula.
        text: the marked text, see :func:`normalized`.
    """

    path: str
    rule: str
    entry: str
    dispatch: str
    key: str
    text: str


def identity(diagnostic: Diagnostic, source: SourceFile | None, path: str | None = None) -> Identity:
    """Return the identity of a finding.

    Args:
        diagnostic: the finding.
        source: its file, or None if it was not read.
        path: the name of the file, by default that of the diagnostic.
    """
    return Identity(
        portable_path(path if path is not None else diagnostic.path),
        diagnostic.rule,
        diagnostic.entry or "",
        diagnostic.dispatch or "",
        diagnostic.key or "",
        normalized(source.slice(diagnostic.span)) if source is not None and source.path == diagnostic.path else "",
    )


def fingerprints(
    diagnostics: Sequence[Diagnostic],
    sources: Mapping[str, SourceFile],
    *,
    shown: Callable[[str], str] = str,
) -> tuple[str, ...]:
    """Return a unique hexadecimal fingerprint for each finding.

    Equal findings are numbered, so the sequence must be sorted and complete for each file.

    Args:
        diagnostics: the findings.
        sources: the files by the paths of findings.
        shown: maps the path of a finding to the path in the fingerprint, for example relative to a repository.
    """
    # a slow import; most formats do not need it
    from hashlib import sha256

    counts: Counter[Identity] = Counter()
    fingerprints = []
    for diagnostic in diagnostics:
        key = identity(diagnostic, sources.get(diagnostic.path), shown(diagnostic.path))
        material = "\0".join((*key, str(counts[key])))
        counts[key] += 1
        fingerprints.append(sha256(material.encode("utf-8", "backslashreplace")).hexdigest()[:LENGTH])
    return tuple(fingerprints)


def normalized(text: str) -> str:
    """Remove YAML layout from a text: blanks, line ends, quotes, block headers and comments.

    ``"grad *  self"``, ``grad * self`` and the same in a block become equal.
    """
    if "\n" in text or "\r" in text:
        # in quotes, a number sign after a blank is not a comment, but dropping it on both sides is harmless
        text = re.sub(r"^[|>][-+0-9]*(?=[ \t]*(?:#.*)?[\r\n])|(?:^|(?<=[ \t\r\n]))#[^\r\n]*", "", text)
    return re.sub(r"\\(?=[\r\n])|[\s\"']", "", text)


def portable_path(path: str) -> str:
    """Normalize a path: ``a/b`` for ``./a//b``, with slashes."""
    return posixpath.normpath(path.replace("\\", "/"))
