"""What was found in a file, whatever is shown of it; it may come from the cache."""

from __future__ import annotations

from msgspec import Struct

from derivlint.lint import Diagnostic
from derivlint.lint.engine.result import Unjudged


class Findings(Struct, frozen=True):
    """Everything that there is in a file.

    Attributes:
        diagnostics: what was found, sorted, with the severities of the rules.
        silenced: those of them that comments in the file are about.
        ran: the names of the rules that ran.
        crashes: how many checks of rules crashed; each is a diagnostic as well.
        entries: the number of entries.
        formulas: the number of formulas.
        unjudged: names of operators, and the rules that ran and did not judge their entries: finding nothing there says
            nothing. An empty name stands for what belongs to no entry. None where no baseline asks for it.
        unknown_functions: the functions that formulas call and no known header declares.
    """

    diagnostics: tuple[Diagnostic, ...]
    silenced: frozenset[Diagnostic]
    ran: frozenset[str]
    crashes: int
    entries: int
    formulas: int
    unjudged: Unjudged | None = None
    unknown_functions: frozenset[str] = frozenset()
