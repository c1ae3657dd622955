"""Edits that correct C++ errors in formulas, shared by several rules."""

from __future__ import annotations

import re

from derivlint.cpp.cpp_type import SCALAR
from derivlint.cpp.problem import TypeProblemKind
from derivlint.formula import Binary, Edit, Expr, Node, apply_edits
from derivlint.lint.diagnostic import Fix
from derivlint.lint.edits import Change, formula_fix
from derivlint.lint.shared.typed_edits import LOOSE
from derivlint.lint.wording import MANY_NEAR, nearest_names, quoted
from derivlint.model.generated.typing import FormulaProblem
from derivlint.model.scope import visible_names

#: The namespaces before a name.
_NAMESPACES = r"(?:(?<!\w)\w+)?(?:::\w+)*::\Z"


def written(problem: FormulaProblem) -> str | None:
    """The erroneous text of the formula, or None if it cannot be edited."""
    if not problem.is_exact or not problem.written.is_exact():
        return None
    return problem.written.parsed.text[problem.start : problem.end]


def replaced(problem: FormulaProblem, start: int, end: int, text: str, *, safe: bool) -> Fix | None:
    """A fix that replaces a part of a formula.

    Args:
        problem: the C++ error.
        start: the offset of the replaced part in the erroneous text.
        end: the offset after it.
        text: the replacement.
        safe: whether the author certainly meant the replacement.
    """
    old = problem.written.parsed.text[problem.start + start : problem.start + end]
    title = f"replace {quoted(old)} by {quoted(text)}" if old else f"add {quoted(text)}"
    return formula_fix(problem.written, title, [(problem.start + start, problem.start + end, text)], safe=safe)


def as_near_names(problem: FormulaProblem) -> tuple[Fix, ...]:
    """The fixes that write one of the nearest declared names."""
    cause = problem.problem
    if written(problem) != cause.name or cause.alternative:
        return ()
    near = nearest_names(cause.name, cause.visible_names)
    fixes = [replaced(problem, 0, len(cause.name), name, safe=False) for name in near[:MANY_NEAR]]
    return tuple(fix for fix in fixes if fix is not None) if len(near) <= MANY_NEAR else ()


def as_qualified_name(problem: FormulaProblem) -> Fix | None:
    """The fix that qualifies a name with its namespace, or None."""
    cause = problem.problem
    alternative = cause.alternative or ""
    if written(problem) != cause.name or not alternative.replace("::", "_").isidentifier():
        return None
    wrong = re.search(_NAMESPACES, problem.written.parsed.text[: problem.start])
    before = problem.start - wrong.start() if wrong is not None else 0
    return replaced(problem, -before, len(cause.name), alternative, safe=False)


#: The method that converts a ``Scalar`` to a number, by the required type.
_OF_SCALAR = {
    "int64_t": ".toLong()",
    "int": ".toInt()",
    "bool": ".toBool()",
    "SymInt": ".toSymInt()",
    "float": ".toFloat()",
}
_TO_DOUBLE = ".toDouble()"


def with_numbers_of_scalars(problem: FormulaProblem) -> tuple[str, Fix] | None:
    """The help and the fix that convert ``Scalar`` operands or arguments to numbers, or None."""
    cause = problem.problem
    if written(problem) is None or SCALAR not in cause.actual:
        return None
    if cause.parameter and cause.parameter != cause.subject and cause.parameter in visible_names(problem.written):
        # the argument with the parameter's name is meant, not another number
        return None
    number_type = cause.expected[0].text if cause.expected else "double"
    method = _OF_SCALAR.get(number_type, _TO_DOUBLE if number_type == "double" else None)
    nodes = problem.written.parsed.nodes
    node: Node | None
    if cause.kind is TypeProblemKind.OPERANDS:
        node = next(
            (candidate for candidate in nodes if isinstance(candidate, Binary) and candidate.op_start == problem.start),
            None,
        )
        sides = (node.left, node.right) if isinstance(node, Binary) and len(cause.actual) == 2 else ()
        operands = [side for side, type in zip(sides, cause.actual, strict=False) if type is SCALAR]
    else:
        node = next(
            (candidate for candidate in nodes if (candidate.start, candidate.end) == (problem.start, problem.end)), None
        )
        is_scalar = cause.actual[cause.argument or 0] is SCALAR
        operands = [node] if isinstance(node, Expr) and is_scalar else []
    if node is None or not operands or method is None:
        return None
    changes: list[Change] = []
    for operand in operands:
        opening, closing = ("(", ")") if isinstance(operand, LOOSE) else ("", "")
        changes += [(operand.start, operand.start, opening)] * bool(opening)
        changes.append((operand.end, operand.end, f"{closing}{method}"))
    text = apply_edits(problem.written.parsed.text, [Edit(*change) for change in changes])
    end = node.end + len(text) - len(problem.written.parsed.text)
    help_text = f"write {quoted(text[node.start : end])}"
    fix = formula_fix(problem.written, "convert the Scalar", changes, safe=True)
    return (help_text, fix) if fix is not None else None


def as_other_form(problem: FormulaProblem) -> Fix | None:
    """The fix that calls the form with or without symbolic sizes, or None."""
    cause, text = problem.problem, written(problem)
    at = text.find(cause.name) if text is not None and cause.alternative else -1
    # with known arguments, the other form is known to accept them
    safe = bool(cause.actual)
    return replaced(problem, at, at + len(cause.name), cause.alternative or "", safe=safe) if at >= 0 else None


def as_double(problem: FormulaProblem) -> Fix | None:
    """The fix that makes an integer a ``double``: the divisor if it is a literal, else the dividend."""
    text = written(problem)
    if text is None:
        return None
    digits = re.search(r"(?<![\w.)])[0-9]+$", text) or re.match("[0-9]+(?= */)", text)
    return replaced(problem, digits.end(), digits.end(), ".0", safe=False) if digits is not None else None
