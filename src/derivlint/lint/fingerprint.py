"""Names for findings that stay the same when text moves: what baselines and code-quality reports compare.

A finding is known by its file, rule, operator, dispatch key, key and by the text that it marks, never by lines or
messages: a new line above, another order of the entries or a formula that is folded or quoted differently leave it the
same, and better words in a new version of derivlint do, too.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from derivlint.lint.diagnostic import Diagnostic
from derivlint.source import SourceFile

#: The digits of a fingerprint.
LENGTH = 32


class Identity(NamedTuple):
    """What a finding is known by; equal findings of one file have the same identity.

    Attributes:
        path: the file, with slashes.
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
    """What a finding is known by.

    Args:
        diagnostic: the finding.
        source: its file; None where that was not read.
        path: the name of the file, by default the one that the diagnostic has.
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
    """A fingerprint for each finding, in their order: hexadecimal, and no two the same.

    Equal findings are distinguished by counting them, so the sequence should be sorted, and whole for each file.

    Args:
        diagnostics: the findings.
        sources: the files by the path that findings name.
        shown: makes the path that counts of the one that findings name, relative to a repository for example.
    """
    # only some formats and baselines need it
    from hashlib import sha256

    counts: Counter[Identity] = Counter()
    found = []
    for diagnostic in diagnostics:
        known = identity(diagnostic, sources.get(diagnostic.path), shown(diagnostic.path))
        material = "\0".join((*known, str(counts[known])))
        counts[known] += 1
        found.append(sha256(material.encode("utf-8", "backslashreplace")).hexdigest()[:LENGTH])
    return tuple(found)


def normalized(text: str) -> str:
    """A piece of YAML without what its layout is made of: blanks, line ends, quotes, the header of a block, comments.

    It is there to be compared: ``"grad *  self"``, ``grad * self`` and the same in a block are one text.
    """
    if "\n" in text or "\r" in text:
        # a number sign after a blank is not a comment inside quotes, but leaving out the same text twice does no harm
        text = re.sub(r"^[|>][-+0-9]*(?=[ \t]*(?:#.*)?[\r\n])|(?:^|(?<=[ \t\r\n]))#[^\r\n]*", "", text)
    return re.sub(r"\\(?=[\r\n])|[\s\"']", "", text)


def portable_path(path: str) -> str:
    """A path with slashes and without detours, ``a/b`` for ``./a//b``."""
    return posixpath.normpath(path.replace("\\", "/"))
