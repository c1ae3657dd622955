"""Outputs without gradient that forward formulas read.

Such an output is a constant when the tangent is differentiated, so the second derivative lacks the path through it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from derivlint.analysis.formula_analyses import FormulaAnalyses
from derivlint.analysis.interpretation.callee import CallFacts
from derivlint.analysis.interpretation.derived_calls import argument_positions, has_parameters
from derivlint.analysis.interpretation.facts import Dependence
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.analysis.outputs import discrete_kind, is_piecewise_constant
from derivlint.formula import Conditional, Expr, Name, Unary, unparenthesized
from derivlint.formula.nodes import Node
from derivlint.model import DispatchBody
from derivlint.operators.reference.definitions import Definition, definitions
from derivlint.operators.reference.terms import Polynomial

_FLAGS = {"true": True, "false": False}


class ReadStatistics(Struct, frozen=True):
    """The outputs without gradient that a forward formula reads.

    Attributes:
        interpretation: the formula.
        names: the outputs.
        is_certain: whether the value certainly depends on them; an unknown function may ignore them.
    """

    interpretation: Interpretation
    names: tuple[str, ...]
    is_certain: bool


def statistics_in_tangents(analyses: FormulaAnalyses, body: DispatchBody) -> Iterator[ReadStatistics]:
    """The forward formulas that read outputs without gradient, each output once.

    Skips indices, masks and permutations, which are constant, and arguments that a function's definition recomputes
    from others.
    """
    differentiability = analyses.model.canonical_differentiability(body)
    function = body.entry.function
    if differentiability is None or differentiability.outputs is None or function is None:
        return
    differentiable = {output.name for output in differentiability.outputs}
    unread = [
        output.name
        for index, output in enumerate(function.outputs)
        if output.name not in differentiable
        and discrete_kind(function.canonical, index) is None
        and not is_piecewise_constant(function.canonical, index)
    ]
    for formula in analyses.formulas_of(body):
        if formula.is_backward or not unread:
            continue
        interpretation = analyses.interpretation(formula)
        read = {name: use for name in unread if (use := _use(analyses, interpretation, name)) > Dependence.METADATA}
        unread = [name for name in unread if name not in read]
        for certain in (True, False):
            names = tuple(name for name, use in read.items() if (use is Dependence.VALUE) is certain)
            if names:
                yield ReadStatistics(interpretation, names, certain)


def _use(analyses: FormulaAnalyses, interpretation: Interpretation, name: str) -> Dependence:
    """The dependence of a formula on an output."""
    whole = interpretation.root.dependence.get(name, Dependence.METADATA)
    uses = [
        _use_of_argument(analyses, call, position)
        for call in interpretation.calls
        for position, argument in enumerate(call.arguments)
        if isinstance(node := unparenthesized(argument.node), Name) and node.simple == name
    ]
    known_uses = [use for use in uses if use is not None]
    if whole is Dependence.METADATA or not uses or len(known_uses) < len(uses):
        return whole
    return max(known_uses)


def _use_of_argument(analyses: FormulaAnalyses, call: CallFacts, position: int) -> Dependence | None:
    """The dependence of a call on an argument by its definition, or None without one.

    In a release that declares a helper differently, it may compute the output from its other arguments.
    """
    polynomial = analyses.operators.polynomial(call.name)
    if polynomial is not None and (call.function is None or has_parameters(call, polynomial)):
        read = {name for term in polynomial.terms for name in (*term.factors, *term.divisors, *term.unclear)}
        return Dependence.VALUE if _parameter(call, position, polynomial) in read else None
    derived = analyses.operators.derived(call.name)
    definition = definitions().get(call.name)
    positions = argument_positions(call, derived, is_same=call.function is None) if derived is not None else None
    if derived is None or definition is None or positions is None:
        return Dependence.METADATA if call.is_changed else None
    parameter = next((name for name, at in positions.items() if at == position), None)
    if parameter is None:
        return None
    if parameter in derived.unused or parameter in derived.only_metadata:
        return Dependence.METADATA
    flags = {name: flag for name, at in positions.items() if (flag := _flag(call.arguments[at].node)) is not None}
    return Dependence.VALUE if parameter in _read_parameters(definition, flags) else Dependence.METADATA


def _parameter(call: CallFacts, position: int, polynomial: Polynomial) -> str | None:
    """The parameter of an argument; without headers, the helper is assumed to be that of the table."""
    declared = call.arguments[position].parameter
    if declared is not None:
        return declared.name
    return polynomial.parameters[position] if position < len(polynomial.parameters) else None


def _flag(node: Expr) -> bool | None:
    node = unparenthesized(node)
    return _FLAGS.get(node.simple or "") if isinstance(node, Name) else None


def _read_parameters(definition: Definition, flags: Mapping[str, bool]) -> set[str]:
    """The parameters that a definition reads for given flags."""
    trees = dict(definition.trees)
    read: set[str] = set()
    todo: list[Node] = [trees[""]]
    while todo:
        node = todo.pop()
        if isinstance(node, Conditional) and (flag := _decided(node.condition, flags)) is not None:
            todo.append(node.then if flag else node.otherwise)
        elif isinstance(node, Name) and node.simple is not None:
            if node.simple not in read:
                read.add(node.simple)
                todo += [trees[node.simple]] if node.simple in trees else []
        else:
            todo += node.children
    return read


def _decided(condition: Expr, flags: Mapping[str, bool]) -> bool | None:
    condition = unparenthesized(condition)
    if isinstance(condition, Unary) and condition.op == "!":
        flag = _decided(condition.operand, flags)
        return None if flag is None else not flag
    return flags.get(condition.simple or "") if isinstance(condition, Name) else None
