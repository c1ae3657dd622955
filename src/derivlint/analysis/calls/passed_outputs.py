"""Outputs of the operator that are passed for the wrong parameter.

Helpers take the saved outputs in their order and each once; an index or a mask is one of the discrete outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from derivlint.analysis.calls.argument_order import BACKWARD, JVP, ArgumentMismatch, MismatchKind
from derivlint.analysis.interpretation.callee import CallArgument, CallFacts
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.analysis.interpretation.operators import VIEWS
from derivlint.analysis.outputs import discrete_kind
from derivlint.formula import Call, Expr, Index, Member, Name, unparenthesized
from derivlint.model.resolve import EntryFunction, generic_output_index

#: Parameters that take indices or a mask.
INDICES = frozenset({"index", "indices", "mask"})


def output_mismatches(interpretation: Interpretation) -> Iterator[ArgumentMismatch]:
    """The outputs that seem to be meant for another parameter; at most one of each call."""
    formula = interpretation.formula
    function = formula.written.entry.function
    if function is None or len(function.outputs) < 2:
        return
    positions = {output.name: index for index, output in enumerate(function.outputs)}
    for call in interpretation.calls:
        if call.function is None:
            continue
        passed = [
            (argument, name)
            for argument in call.arguments
            if argument.parameter is not None and (name := _output(argument.node, positions)) is not None
        ]
        mismatch = _not_discrete(function, call, passed, positions)
        if mismatch is None and not call.function.operators and any(part in call.name for part in (BACKWARD, JVP)):
            mismatch = _repeated(passed) or _disordered(call, passed)
        if mismatch is not None:
            kind, arguments, names = mismatch
            yield ArgumentMismatch(kind, formula, call, arguments, names)


Mismatch = tuple[MismatchKind, tuple[CallArgument, ...], tuple[str, ...]]


def _output(node: Expr, positions: dict[str, int]) -> str | None:
    """The output that an expression is, or is a view of: ``result1`` of ``result1.flatten(-2)``."""
    while True:
        node = unparenthesized(node)
        if isinstance(node, Call) and isinstance(node.callee, Member) and node.callee.name in VIEWS:
            node = node.callee.object
        elif isinstance(node, Index):
            node = node.object
        else:
            return node.simple if isinstance(node, Name) and node.simple in positions else None


def _not_discrete(
    function: EntryFunction, call: CallFacts, passed: list[tuple[CallArgument, str]], positions: dict[str, int]
) -> Mismatch | None:
    discrete = [name for name, index in positions.items() if discrete_kind(function.canonical, index) is not None]
    for argument, name in passed:
        parameter = argument.parameter
        if discrete and name not in discrete and parameter is not None and parameter.name in INDICES:
            return MismatchKind.NOT_DISCRETE, (argument,), (name, discrete[0])
    return None


def _repeated(passed: list[tuple[CallArgument, str]]) -> Mismatch | None:
    seen: dict[str, CallArgument] = {}
    for argument, name in passed:
        if name in seen:
            return MismatchKind.REPEATED_VALUE, (argument, seen[name]), (name,)
        seen[name] = argument
    return None


def _disordered(call: CallFacts, passed: list[tuple[CallArgument, str]]) -> Mismatch | None:
    """``result2`` just before ``result1``."""
    order = {id(argument): index for index, argument in enumerate(call.arguments)}
    for (first, earlier), (second, later) in pairwise(passed):
        position, next_position = generic_output_index(earlier), generic_output_index(later)
        if position is None or next_position is None or order[id(second)] != order[id(first)] + 1:
            continue
        if position > next_position:
            return MismatchKind.OUTPUT_DISORDER, (first, second), (earlier, later)
    return None
