"""What rules found in a file, or in a part of it."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from derivlint.lint.diagnostic import Diagnostic
from derivlint.lint.engine.crash import Crashed

#: Names of operators, and of rules that did not judge their entries.
Unjudged: TypeAlias = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


class Result(Struct, frozen=True):
    """What rules found in one file, or in one entry of it.

    Attributes:
        diagnostics: the diagnostics, sorted, each once.
        internal_errors: how many of them say that checks crashed: one for each entry and cause.
        crashed: the checks that did.
        unjudged: what was not judged, where that was asked for; see :meth:`Judged.unjudged`.
    """

    diagnostics: tuple[Diagnostic, ...]
    internal_errors: int = 0
    crashed: frozenset[Crashed] = frozenset()
    unjudged: Unjudged | None = None
