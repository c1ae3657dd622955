"""Fixes of typed formulas, for written parts only, never for generated ones."""

from __future__ import annotations

from derivlint.analysis.calls.argument_order import ArgumentMismatch
from derivlint.analysis.typed import TypedFormula
from derivlint.formula import (
    Binary,
    Call,
    Cast,
    Conditional,
    Expr,
    Lambda,
    Member,
    Name,
    Unary,
    unparenthesized,
    walk,
)
from derivlint.lint.diagnostic import Fix
from derivlint.lint.edits import Change, formula_fix
from derivlint.model.generated.forward import PRIMAL, TANGENT

CONJ = ".conj()"
#: Expressions that need parentheses before a method call.
LOOSE = (Binary, Unary, Conditional, Cast, Lambda)


def written(formula: TypedFormula, node: Expr) -> tuple[int, int] | None:
    """The range of a part in the written formula, or None if it is generated."""
    evaluation = formula.evaluation
    return None if evaluation.place is not None else evaluation.written_range(node.start, node.end)


def with_method(formula: TypedFormula, node: Expr, method: str) -> list[Change]:
    """The changes that call a method on a part of a formula; none if the part is generated."""
    place = written(formula, node)
    if place is None:
        return []
    start, end = place
    if isinstance(node, LOOSE):
        return [(start, start, "("), (end, end, f"){method}")]
    return [(end, end, method)]


def conjugate(formula: TypedFormula, node: Expr) -> Fix | None:
    """The fix that conjugates a part of a formula."""
    return formula_fix(formula.written, 'add ".conj()"', with_method(formula, node, CONJ))


def adjoint(formula: TypedFormula, node: Expr) -> Fix | None:
    """The fix that conjugates and transposes a part of a formula."""
    return formula_fix(formula.written, 'add ".mH()"', with_method(formula, node, ".mH()"))


def conjugate_call(formula: TypedFormula, argument: Expr, function: str) -> Fix | None:
    """The fix that conjugates an argument of a function and its result."""
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
    """The fix that removes the trailing ``.conj()`` of a part of a formula."""
    node = unparenthesized(node)
    if not isinstance(node, Call) or node.args or not isinstance(node.callee, Member) or node.callee.name != "conj":
        return None
    whole, receiver = written(formula, node), written(formula, node.callee.object)
    if whole is None or receiver is None:
        return None
    return formula_fix(formula.written, 'remove ".conj()"', [(receiver[1], whole[1], "")])


def swapped(problem: ArgumentMismatch) -> Fix | None:
    """The fix that swaps the two arguments, or None."""
    return _swap(problem.formula, problem.arguments[0].node, problem.arguments[1].node)


def as_named(problem: ArgumentMismatch) -> Fix | None:
    """The fix that passes the argument with the parameter's name; forward formulas have none under that name."""
    formula, blamed = problem.formula, problem.arguments[0].node
    return _replace(formula, blamed, problem.names[1]) if formula.is_backward else None


def with_other_suffix(problem: ArgumentMismatch) -> Fix | None:
    """The fix that replaces tangent by primal or vice versa, or swaps them if both are passed."""
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
