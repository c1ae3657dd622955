"""Fixes of typed formulas and of C++ errors in formulas; generated parts are never edited."""

from __future__ import annotations

import re

from derivlint.analysis.calls.argument_order import ArgumentMismatch
from derivlint.analysis.typed import TypedFormula
from derivlint.cpp.cpp_type import SCALAR
from derivlint.cpp.problem import TypeProblemKind
from derivlint.formula import (
    Binary,
    Call,
    Cast,
    Conditional,
    Edit,
    Expr,
    Lambda,
    Member,
    Name,
    Node,
    Unary,
    apply_edits,
    unparenthesized,
    walk,
)
from derivlint.lint.diagnostic import Fix
from derivlint.lint.edits import Change, formula_fix
from derivlint.lint.wording import MANY_NEAR, nearest_names, quoted
from derivlint.model.generated.forward import PRIMAL, TANGENT
from derivlint.model.generated.typing import FormulaProblem
from derivlint.model.scope import visible_names

CONJ = ".conj()"
#: Expressions that need parentheses as the object of a method call.
LOOSE = (Binary, Unary, Conditional, Cast, Lambda)


def written(formula: TypedFormula, node: Expr) -> tuple[int, int] | None:
    """The range of a node in the written formula, or None if it is generated."""
    evaluation = formula.evaluation
    return None if evaluation.place is not None else evaluation.written_range(node.start, node.end)


def with_method(formula: TypedFormula, node: Expr, method: str) -> list[Change]:
    """The changes that call a method on a part; empty if the part is generated."""
    place = written(formula, node)
    if place is None:
        return []
    start, end = place
    if isinstance(node, LOOSE):
        return [(start, start, "("), (end, end, f"){method}")]
    return [(end, end, method)]


def conjugate(formula: TypedFormula, node: Expr) -> Fix | None:
    """Make a fix that conjugates a part: ``-self.sin().conj()``, since a sign commutes with it."""
    while isinstance(node, Unary) and node.op == "-":
        node = node.operand
    return formula_fix(formula.written, 'add ".conj()"', with_method(formula, node, CONJ))


def adjoint(formula: TypedFormula, node: Expr) -> Fix | None:
    """Make a fix that conjugates and transposes a part."""
    return formula_fix(formula.written, 'add ".mH()"', with_method(formula, node, ".mH()"))


def conjugate_call(formula: TypedFormula, argument: Expr, function: str) -> Fix | None:
    """Make a fix that conjugates an argument of a function and its result."""
    for call in walk(formula.tree):
        if isinstance(call, Call) and any(
            unparenthesized(operand) is unparenthesized(argument) for operand in call.args
        ):
            name = call.callee.parts[-1].identifier if isinstance(call.callee, Name) else None
            before, after = with_method(formula, argument, CONJ), with_method(formula, call, CONJ)
            if name == function and before and after:
                return formula_fix(formula.written, "conjugate both", (*before, *after))
    return None


def without_conj(formula: TypedFormula, node: Expr) -> Fix | None:
    """Make a fix that removes the trailing ``.conj()`` of a part."""
    node = unparenthesized(node)
    if not isinstance(node, Call) or node.args or not isinstance(node.callee, Member) or node.callee.name != "conj":
        return None
    whole, receiver = written(formula, node), written(formula, node.callee.object)
    if whole is None or receiver is None:
        return None
    return formula_fix(formula.written, 'remove ".conj()"', [(receiver[1], whole[1], "")])


def swapped(problem: ArgumentMismatch) -> Fix | None:
    """Make a fix that swaps the two arguments, or None."""
    return _swap(problem.formula, problem.arguments[0].node, problem.arguments[1].node)


def as_named(problem: ArgumentMismatch) -> Fix | None:
    """Make a fix that passes the argument with the parameter's name; None if a forward formula cannot use it."""
    formula, blamed = problem.formula, problem.arguments[0].node
    return _replace(formula, blamed, problem.names[1]) if formula.is_backward else None


def with_opposite(problem: ArgumentMismatch) -> Fix | None:
    """Make a fix that passes "false" for "true" or vice versa."""
    formula, blamed = problem.formula, problem.arguments[0].node
    return _replace(formula, blamed, "false" if formula.source_of(blamed) == "true" else "true")


def with_other_suffix(problem: ArgumentMismatch) -> Fix | None:
    """Make a fix that replaces a tangent by the primal or vice versa, or swaps them if both are passed."""
    formula, blamed = problem.formula, problem.arguments[0]
    name = blamed.node.simple if isinstance(blamed.node, Name) else None
    if name is None:
        return None
    suffix, opposite = (PRIMAL, TANGENT) if name.endswith(PRIMAL) else (TANGENT, PRIMAL)
    if not name.endswith(suffix):
        return None
    counterpart = name.removesuffix(suffix) + opposite
    for argument in problem.call.arguments:
        parameter = argument.parameter
        if (
            argument is not blamed
            and formula.source_of(argument.node) == counterpart
            and parameter is not None
            and parameter.name.endswith(suffix)
        ):
            return _swap(formula, blamed.node, argument.node)
    return _replace(formula, blamed.node, counterpart)


def _replace(formula: TypedFormula, node: Expr, text: str) -> Fix | None:
    place = written(formula, node) if isinstance(node, Name) else None
    return formula_fix(formula.written, f'pass "{text}"', [(*place, text)]) if place is not None else None


def _swap(formula: TypedFormula, first: Expr, second: Expr) -> Fix | None:
    first_range, second_range = written(formula, first), written(formula, second)
    if (
        first_range is None
        or second_range is None
        or not (first_range[1] <= second_range[0] or second_range[1] <= first_range[0])
    ):
        return None
    text = formula.written.parsed.text
    changes = [(*first_range, text[slice(*second_range)]), (*second_range, text[slice(*first_range)])]
    return formula_fix(formula.written, "swap the two", changes)


#: The namespaces before a name.
_NAMESPACES = r"(?:(?<!\w)\w+)?(?:::\w+)*::\Z"


def refused_text(problem: FormulaProblem) -> str | None:
    """The erroneous text of the formula, or None if it cannot be edited."""
    if not problem.is_exact or not problem.written.is_exact():
        return None
    return problem.written.parsed.text[problem.start : problem.end]


def replaced(problem: FormulaProblem, start: int, end: int, text: str, *, safe: bool) -> Fix | None:
    """Make a fix that replaces a part of a formula.

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
    """Make a fix for each of the nearest declared names."""
    cause = problem.problem
    if refused_text(problem) != cause.name or cause.alternative:
        return ()
    near = nearest_names(cause.name, cause.visible_names)
    fixes = [replaced(problem, 0, len(cause.name), name, safe=False) for name in near[:MANY_NEAR]]
    return tuple(fix for fix in fixes if fix is not None) if len(near) <= MANY_NEAR else ()


def as_qualified_name(problem: FormulaProblem) -> Fix | None:
    """Make a fix that qualifies a name with its namespace, or None."""
    cause = problem.problem
    alternative = cause.alternative or ""
    if refused_text(problem) != cause.name or not alternative.replace("::", "_").isidentifier():
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
    """Make help and fix that convert ``Scalar`` operands or arguments to numbers, or None."""
    cause = problem.problem
    if refused_text(problem) is None or SCALAR not in cause.actual or cause.name in ("&&", "||"):
        return None
    if cause.parameter and cause.parameter != cause.subject and cause.parameter in visible_names(problem.written):
        # probably the argument with the parameter's name is meant
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
    """Make a fix that calls the form with or without symbolic sizes, or None."""
    cause, text = problem.problem, refused_text(problem)
    at = text.find(cause.name) if text is not None and cause.alternative else -1
    # the other form is known to accept known arguments
    safe = bool(cause.actual)
    return replaced(problem, at, at + len(cause.name), cause.alternative or "", safe=safe) if at >= 0 else None


def as_double(problem: FormulaProblem) -> Fix | None:
    """Make a fix that turns an integer into a ``double``: a literal divisor, else the dividend."""
    text = refused_text(problem)
    if text is None:
        return None
    digits = re.search(r"(?<![\w.)])[0-9]+$", text) or re.match("[0-9]+(?= */)", text)
    return replaced(problem, digits.end(), digits.end(), ".0", safe=False) if digits is not None else None
