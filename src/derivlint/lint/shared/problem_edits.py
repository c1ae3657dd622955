"""Edits that correct what C++ refuses in formulas, for rules that need the same ones."""

from __future__ import annotations

import re

from derivlint.lint.diagnostic import Fix
from derivlint.lint.edits import formula_fix
from derivlint.lint.wording import closest, quoted
from derivlint.model.generated.typing import FormulaProblem

#: The namespaces in front of a name.
_NAMESPACES = r"(?:(?<!\w)\w+)?(?:::\w+)*::\Z"


def written(found: FormulaProblem) -> str | None:
    """The text of the formula that is refused; None where it cannot be edited."""
    if not found.is_exact or not found.written.is_exact():
        return None
    return found.written.parsed.text[found.start : found.end]


def replaced(found: FormulaProblem, start: int, end: int, text: str, *, safe: bool) -> Fix | None:
    """A fix that replaces a part of a formula.

    Args:
        found: what is refused.
        start: where the replaced part begins, counted from the beginning of what is refused.
        end: where it ends.
        text: what replaces it.
        safe: whether the author certainly meant that.
    """
    old = found.written.parsed.text[found.start + start : found.start + end]
    title = f"replace {quoted(old)} by {quoted(text)}" if old else f"add {quoted(text)}"
    return formula_fix(found.written, title, [(found.start + start, found.start + end, text)], safe=safe)


def as_near_name(found: FormulaProblem) -> Fix | None:
    """Write the name that is nearest to the one that means nothing."""
    problem, text = found.problem, written(found)
    near = closest(problem.name, problem.known) if text == problem.name and not problem.other else None
    return replaced(found, 0, len(problem.name), near, safe=False) if near is not None else None


def as_qualified_name(found: FormulaProblem) -> Fix | None:
    """Write the name with the namespace that has it."""
    problem = found.problem
    other = problem.other or ""
    if written(found) != problem.name or not other.replace("::", "_").isidentifier():
        return None
    wrong = re.search(_NAMESPACES, found.written.parsed.text[: found.start])
    before = found.start - wrong.start() if wrong is not None else 0
    return replaced(found, -before, len(problem.name), other, safe=False)


def as_other_form(found: FormulaProblem) -> Fix | None:
    """Call the form of a function that takes symbolic sizes, or the one that takes plain integers."""
    problem, text = found.problem, written(found)
    at = text.find(problem.name) if text is not None and problem.other else -1
    # where the arguments are known, the other form was found to take them
    safe = bool(problem.given)
    return replaced(found, at, at + len(problem.name), problem.other or "", safe=safe) if at >= 0 else None


def as_double(found: FormulaProblem) -> Fix | None:
    """Write an integer as a ``double``: the divisor, where that is a literal, else what is divided."""
    text = written(found)
    if text is None:
        return None
    digits = re.search(r"(?<![\w.)])[0-9]+$", text) or re.match("[0-9]+(?= */)", text)
    return replaced(found, digits.end(), digits.end(), ".0", safe=False) if digits is not None else None
