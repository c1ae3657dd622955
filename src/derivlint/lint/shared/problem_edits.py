"""Edits that correct what C++ refuses in formulas, for rules that need the same ones."""

from __future__ import annotations

import re

from derivlint.cpp.cpp_type import SCALAR
from derivlint.cpp.problem import TypeProblemKind
from derivlint.formula import Binary, Edit, Expr, Node, apply_edits
from derivlint.lint.diagnostic import Fix
from derivlint.lint.edits import Change, formula_fix
from derivlint.lint.shared.typed_edits import LOOSE
from derivlint.lint.wording import closest, quoted
from derivlint.model.generated.typing import FormulaProblem
from derivlint.model.scope import visible_names

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
    near = closest(problem.name, problem.visible_names) if text == problem.name and not problem.alternative else None
    return replaced(found, 0, len(problem.name), near, safe=False) if near is not None else None


def as_qualified_name(found: FormulaProblem) -> Fix | None:
    """Write the name with the namespace that has it."""
    problem = found.problem
    other = problem.alternative or ""
    if written(found) != problem.name or not other.replace("::", "_").isidentifier():
        return None
    wrong = re.search(_NAMESPACES, found.written.parsed.text[: found.start])
    before = found.start - wrong.start() if wrong is not None else 0
    return replaced(found, -before, len(problem.name), other, safe=False)


#: What makes a plain number of a ``Scalar``, by the type that is needed.
_OF_SCALAR = {
    "int64_t": ".toLong()",
    "int": ".toInt()",
    "bool": ".toBool()",
    "SymInt": ".toSymInt()",
    "float": ".toFloat()",
}
_TO_DOUBLE = ".toDouble()"


def with_numbers_of_scalars(found: FormulaProblem) -> tuple[str, Fix] | None:
    """What writes the numbers of ``Scalar`` operands or arguments, for which C++ has no arithmetic; and the fix."""
    problem = found.problem
    if written(found) is None or SCALAR not in problem.actual:
        return None
    if problem.parameter and problem.parameter != problem.subject and problem.parameter in visible_names(found.written):
        # the argument of the parameter's name is meant, not another number
        return None
    wanted = problem.expected[0].text if problem.expected else "double"
    method = _OF_SCALAR.get(wanted, _TO_DOUBLE if wanted == "double" else None)
    nodes = found.written.parsed.nodes
    node: Node | None
    if problem.kind is TypeProblemKind.OPERANDS:
        node = next((each for each in nodes if isinstance(each, Binary) and each.op_start == found.start), None)
        sides = (node.left, node.right) if isinstance(node, Binary) and len(problem.actual) == 2 else ()
        operands = [side for side, type in zip(sides, problem.actual, strict=False) if type is SCALAR]
    else:
        node = next((each for each in nodes if (each.start, each.end) == (found.start, found.end)), None)
        is_scalar = problem.actual[problem.argument or 0] is SCALAR
        operands = [node] if isinstance(node, Expr) and is_scalar else []
    if node is None or not operands or method is None:
        return None
    changes: list[Change] = []
    for operand in operands:
        opening, closing = ("(", ")") if isinstance(operand, LOOSE) else ("", "")
        changes += [(operand.start, operand.start, opening)] * bool(opening)
        changes.append((operand.end, operand.end, f"{closing}{method}"))
    text = apply_edits(found.written.parsed.text, [Edit(*change) for change in changes])
    end = node.end + len(text) - len(found.written.parsed.text)
    help_text = f"write {quoted(text[node.start : end])}"
    fix = formula_fix(found.written, "convert the Scalar", changes, safe=True)
    return (help_text, fix) if fix is not None else None


def as_other_form(found: FormulaProblem) -> Fix | None:
    """Call the form of a function that takes symbolic sizes, or the one that takes plain integers."""
    problem, text = found.problem, written(found)
    at = text.find(problem.name) if text is not None and problem.alternative else -1
    # where the arguments are known, the other form was found to take them
    safe = bool(problem.actual)
    return replaced(found, at, at + len(problem.name), problem.alternative or "", safe=safe) if at >= 0 else None


def as_double(found: FormulaProblem) -> Fix | None:
    """Write an integer as a ``double``: the divisor, where that is a literal, else what is divided."""
    text = written(found)
    if text is None:
        return None
    digits = re.search(r"(?<![\w.)])[0-9]+$", text) or re.match("[0-9]+(?= */)", text)
    return replaced(found, digits.end(), digits.end(), ".0", safe=False) if digits is not None else None
