"""Findings about formulas that are not linear in gradients or tangents."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.linearity import NotLinear, not_linear
from derivlint.analysis.interpretation.callee import callee_name
from derivlint.analysis.interpretation.facts import Cause, Culprit
from derivlint.analysis.typed import TypedFormula
from derivlint.formula import Binary, Call, Expr, Name, walk
from derivlint.lint.diagnostic import Finding
from derivlint.lint.shared.value_wording import quantity
from derivlint.lint.wording import once_in_each_term, quoted, quoted_list
from derivlint.model import Entry, Model
from derivlint.model.generated.forward import PRIMAL, TANGENT
from derivlint.operators.reference.terms import polynomials

#: The functions that are products of their arguments.
PRODUCTS = frozenset(name for name, polynomial in polynomials().items() if polynomial.is_product)
#: Causes of nonlinearity in sums and conditionals, and in products and functions.
AFFINE = (Cause.CONSTANT_TERM, Cause.CONSTANT_BRANCH)
NONLINEAR = (Cause.PRODUCT, Cause.DIVISOR, Cause.FUNCTION)
#: The maximum length of quotations, and the length of truncated ones.
LONG, BEGINNING = 60, 40


def shown(formula: TypedFormula, node: Expr) -> str:
    """Quote a part of a formula, truncated if long."""
    text = " ".join(formula.source_of(node).split())
    return quoted(text if len(text) <= LONG else f"{text[:BEGINNING].rstrip()} ...")


def degree_findings(entry: Entry, model: Model, causes: Collection[Cause], *, backward: bool) -> Iterator[Finding]:
    """Findings about the parts that make formulas of one mode nonlinear for given causes."""
    for problem in not_linear(analyses_of(model), entry, backward=backward):
        if problem.culprit.cause in causes:
            yield _finding(problem)


def _finding(problem: NotLinear) -> Finding:
    formula, culprit = problem.interpretation.formula, problem.culprit
    written = formula.written
    # in a sum or conditional, blame the part without gradient
    place = culprit.parts[0] if culprit.cause in (Cause.CONSTANT_TERM, Cause.CONSTANT_BRANCH) else culprit.node
    message = _MESSAGES[culprit.cause](formula, culprit)
    if written.auto is not None:
        whole = shown(formula, formula.tree)
        rest = message.removeprefix(f"{whole} is not ")
        message = f", in which {message}" if rest == message else f", which is not {rest}"
        message = f"{quoted(written.auto)} stands for {whole}{message}"
    return Finding(
        formula.span_of(place),
        message,
        help=_cure(formula, culprit) if written.auto is None else "write out the forward formula",
        at=written,
        about=formula.span_of(culprit.node),
        # an automatic formula relies on the backward formula
        rests_on=(written.entry.operator or "",) if written.auto is not None else (),
    )


def _cure(formula: TypedFormula, culprit: Culprit) -> str:
    names = sorted(culprit.seeds)
    if culprit.cause not in AFFINE:
        return once_in_each_term(names)
    info = formula.written.body.info
    arguments = () if formula.is_backward or info is None else info.args_with_derivatives
    values = {node.simple for node in walk(culprit.parts[0]) if isinstance(node, Name)}
    primals = [argument.name for argument in arguments if argument.name + PRIMAL in values]
    # "self_p" is a slip for "self_t" more often than a factor is missing
    if len(primals) == 1:
        cure = f"write {quoted(primals[0] + TANGENT)} for {quoted(primals[0] + PRIMAL)}"
    else:
        cure = f"multiply it by {quoted_list(names, 'or')}"
    return f"{cure}, or remove the term" if culprit.cause is Cause.CONSTANT_TERM else cure


def _named(formula: TypedFormula, culprit: Culprit) -> str:
    names = sorted(culprit.seeds)
    return f"the {quantity(formula)}{'s' if len(names) > 1 else ''} {quoted_list(names)}"


def _product(formula: TypedFormula, culprit: Culprit) -> str:
    parts = [shown(formula, part) for part in culprit.parts]
    node = culprit.node
    if isinstance(node, Call) and not _multiplies(node):
        callee = node.callee
        name = callee.spelling if isinstance(callee, Name) else callee_name(node) or ""
        which = "two arguments" if len(parts) == 2 else f"{len(parts)} arguments"
        return f"{quoted(name)} has {_named(formula, culprit)} in {which}, {' and '.join(parts)}"
    if len(culprit.seeds) == 1:
        return f"{_named(formula, culprit)} is multiplied by itself"
    return f"{_named(formula, culprit)} are multiplied by each other"


def _multiplies(node: Expr) -> bool:
    """Whether an expression is a product of its operands as written."""
    if isinstance(node, Binary):
        return True
    name = callee_name(node) if isinstance(node, Call) else None
    return name is not None and name.rstrip("_") in PRODUCTS


def _divisor(formula: TypedFormula, culprit: Culprit) -> str:
    if isinstance(culprit.node, Call):
        # the divisors in the table of terms are all arguments in which a function is not linear
        return _function(formula, culprit)
    return f"{shown(formula, culprit.node)} divides by {_named(formula, culprit)}"


def _function(formula: TypedFormula, culprit: Culprit) -> str:
    return f"{shown(formula, culprit.node)} is not linear in {_named(formula, culprit)}"


def _constant_term(formula: TypedFormula, culprit: Culprit) -> str:
    part = shown(formula, culprit.parts[0])
    return f"the term {part} does not depend on {_named(formula, culprit)}, in which the rest of the sum is linear"


def _constant_branch(formula: TypedFormula, culprit: Culprit) -> str:
    part = shown(formula, culprit.parts[0])
    return f"the branch {part} does not depend on {_named(formula, culprit)}, in which the other is linear"


_MESSAGES = {
    Cause.PRODUCT: _product,
    Cause.DIVISOR: _divisor,
    Cause.FUNCTION: _function,
    Cause.CONSTANT_TERM: _constant_term,
    Cause.CONSTANT_BRANCH: _constant_branch,
}
